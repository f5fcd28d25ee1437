//! Those who see text: guards, inspectors, validators, sinks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallInfo, CallRef, DeltaForm, DeltaGuard, DeltaKinds, DeltaSink, EffectDelta, Lane, Outlet, Refusal,
    Step, Verdict, Violation, inspect,
};
use loom_safety::{Finding, Phase, RuleId, SafetyValidator};
use loom_testing::kit;

use crate::planted;

const WORD: &str = "swordfish";
const TEXT: &str = "the word is swordfish, keep it";

/// Severs at the word: once it has all of it, or only where one delta has, or never.
#[derive(Clone, Copy)]
enum Sees {
    All,
    OneDelta,
    Nothing,
}

struct Guard(Sees, String);

impl DeltaForm for Sees {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Guard(*self, String::new()))
    }
}

impl DeltaGuard for Guard {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        if !matches!(self.0, Sees::All) {
            self.1.clear();
        }
        self.1.push_str(text);
        match self.1.find(WORD) {
            Some(at) if !matches!(self.0, Sees::Nothing) => {
                let at = self.1[..at].chars().count() as u64;
                Verdict::Sever(Violation::safety("word").at(at, WORD.len() as u64))
            }
            _ => Verdict::Pass,
        }
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

#[test]
fn guard() {
    let sees = if planted("split-dependent") { Sees::OneDelta } else { Sees::All };
    kit::guard(move || sees).texts([TEXT]).check();
}

#[test]
fn output_middleware() {
    let sees = if planted("no-op-form") { Sees::Nothing } else { Sees::All };
    kit::output_middleware(move || {
        inspect("word", Some(Arc::new(sees)), |_call, output| match output.json() {
            Ok(json) if json.to_string().contains(WORD) => Step::Deny(Refusal::safety("word")),
            Ok(_) => Step::Go,
            Err(_) => Step::Deny(Refusal::safety("unreadable")),
        })
    })
    .eager()
    .texts([TEXT])
    .check();
}

/// Refuses the word; kept state makes it weary of it.
#[derive(Default)]
struct NoWord {
    wearies: bool,
    weary: AtomicBool,
}

impl SafetyValidator for NoWord {
    fn name(&self) -> &str {
        "no-word"
    }

    fn check(&self, _phase: Phase, text: &str) -> Result<(), Finding> {
        match text.find(WORD) {
            Some(at) if !(self.wearies && self.weary.swap(true, Ordering::SeqCst)) => {
                Err(Finding::new(RuleId::new("word"), at..at + WORD.len()))
            }
            _ => Ok(()),
        }
    }
}

#[test]
fn validator() {
    let wearies = planted("kept-state");
    kit::validator(move || NoWord { wearies, ..NoWord::default() }).texts([TEXT]).check();
}

#[derive(Default)]
struct Screen(Mutex<HashMap<u64, String>>);

impl DeltaSink for Screen {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let mut shown = self.0.lock().unwrap();
        let text = shown.entry(call.number()).or_default();
        match delta {
            EffectDelta::Text { text: piece, .. } => text.push_str(piece.unwrap_tainted()),
            EffectDelta::Reset { .. } if !planted("keeps-resets") => text.clear(),
            _ => {}
        }
    }
}

#[test]
fn sink() {
    kit::sink(Screen::default).shows(|screen, call| screen.0.lock().unwrap().get(&call).cloned()).check();
}
