//! Delta forms: severing, holding back, replacing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom_effect_runtime::{
    CallInfo, DeltaForm, DeltaGuard, DeltaKind, DeltaKinds, Lane, Outlet, Verdict, Violation,
};

type Make = dyn Fn(&CallInfo, DeltaKind) -> Box<dyn DeltaGuard> + Send + Sync;

struct FormFn {
    kinds: DeltaKinds,
    make: Box<Make>,
}

impl DeltaForm for FormFn {
    fn kinds(&self) -> DeltaKinds {
        self.kinds
    }

    fn guard(&self, call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
        (self.make)(call, lane.kind())
    }
}

/// A form made of a factory.
pub(crate) fn form<G: DeltaGuard + 'static>(
    kinds: DeltaKinds,
    make: impl Fn() -> G + Send + Sync + 'static,
) -> Option<Arc<dyn DeltaForm>> {
    Some(Arc::new(FormFn { kinds, make: Box::new(move |_, _| Box::new(make())) }))
}

/// Lets everything pass.
pub(crate) fn pass() -> Option<Arc<dyn DeltaForm>> {
    form(DeltaKinds::ALL, || Pass)
}

struct Pass;

impl DeltaGuard for Pass {
    fn push(&mut self, _text: &str, _out: &mut Outlet<'_>) -> Verdict {
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// Severs when the lane's text contains `word`, under the rule `word`.
pub(crate) fn sever_on(word: &'static str) -> Option<Arc<dyn DeltaForm>> {
    form(DeltaKinds::ALL, move || SeverOn { word, seen: String::new() })
}

struct SeverOn {
    word: &'static str,
    seen: String,
}

impl DeltaGuard for SeverOn {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.seen.push_str(text);
        match self.seen.find(self.word) {
            None => Verdict::Pass,
            Some(at) => {
                let offset = self.seen[..at].chars().count() as u64;
                Verdict::Sever(Violation::safety("word").at(offset, self.word.chars().count() as u64))
            }
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// Holds the last `chars` characters back until the end.
pub(crate) fn hold_back(chars: usize) -> Option<Arc<dyn DeltaForm>> {
    form(DeltaKinds::ALL, move || HoldBack { chars, held: String::new() })
}

/// Holds everything until the end.
pub(crate) fn hold_all() -> Option<Arc<dyn DeltaForm>> {
    hold_back(usize::MAX)
}

struct HoldBack {
    chars: usize,
    held: String,
}

impl DeltaGuard for HoldBack {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        self.held.push_str(text);
        let free = self.held.chars().count().saturating_sub(self.chars);
        let at = self.held.char_indices().nth(free).map_or(self.held.len(), |(at, _)| at);
        let rest = self.held.split_off(at);
        out.pass(&std::mem::replace(&mut self.held, rest));
        Verdict::Done
    }

    fn finish(&mut self, out: &mut Outlet<'_>) -> Result<(), Violation> {
        out.pass(&std::mem::take(&mut self.held));
        Ok(())
    }
}

/// Replaces one character by another, in the live text.
pub(crate) fn replace(from: char, to: char) -> Option<Arc<dyn DeltaForm>> {
    form(DeltaKinds::ALL, move || Replace(from, to))
}

struct Replace(char, char);

impl DeltaGuard for Replace {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        out.pass(&text.replace(self.0, self.1.encode_utf8(&mut [0; 4])));
        Verdict::Done
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// Counts guards made, pieces pushed, and guards finished, over all lanes and attempts.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    pub(crate) made: Arc<AtomicUsize>,
    pub(crate) pushed: Arc<AtomicUsize>,
    pub(crate) finished: Arc<AtomicUsize>,
}

impl Counted {
    pub(crate) fn form(&self, kinds: DeltaKinds) -> Option<Arc<dyn DeltaForm>> {
        let counted = self.clone();
        form(kinds, move || {
            counted.made.fetch_add(1, Ordering::SeqCst);
            Count(counted.clone())
        })
    }

    pub(crate) fn figures(&self) -> [usize; 3] {
        [&self.made, &self.pushed, &self.finished].map(|figure| figure.load(Ordering::SeqCst))
    }
}

struct Count(Counted);

impl DeltaGuard for Count {
    fn push(&mut self, _text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.0.pushed.fetch_add(1, Ordering::SeqCst);
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        self.0.finished.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
