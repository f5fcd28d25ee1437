//! Every text of an output, wherever it stands.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use loom_classify::walk::{Scalar, Visit};
use loom_effect_runtime::{CallInfo, Output};
use serde_json::{Map, Value};

use super::engine::Engine;
use super::fault::Fault;
use crate::decimal::Decimal;
use crate::delta::GUARD_TEXT_BYTES_MAX;

/// Replaces what matches in `output`, or says why it cannot; a bare text is changed in place, all else by its JSON
/// view.
pub(super) fn redact(engine: &Engine, call: &CallInfo, output: &mut Output) -> Result<(), Fault> {
    if let Some(text) = output.get::<String>() {
        if let Some(redacted) = engine.redact(call, text)?
            && let Some(text) = output.get_mut::<String>()
        {
            *text = redacted;
        }
        return Ok(());
    }
    let survey = Survey::of(engine, output)?;
    if !survey.matches {
        return Ok(());
    }
    let mut edit = Edit { engine, call, names: &survey.names, fault: None };
    let edited = output.edit(|json| edit.value(json));
    if let Some(fault) = edit.fault {
        return Err(fault);
    }
    edited.map_err(|_| Fault::DoesNotFit)?;
    // A type may serialize another text than the one it was given: what is seen is what counts.
    if Survey::of(engine, output)?.matches { Err(Fault::Remains) } else { Ok(()) }
}

/// What a walk of the output finds.
struct Survey<'a> {
    engine: &'a Engine,
    /// A key or text matches.
    matches: bool,
    /// Names of fields and variants that match: the program's own, which stay.
    names: BTreeSet<&'static str>,
    fault: Option<Fault>,
}

impl<'a> Survey<'a> {
    fn of(engine: &'a Engine, output: &Output) -> Result<Self, Fault> {
        let mut survey = Self { engine, matches: false, names: BTreeSet::new(), fault: None };
        let walked = output.walk(&mut survey);
        match (survey.fault, walked) {
            (Some(fault), _) => Err(fault),
            (None, Err(_)) => Err(Fault::Unreadable),
            (None, Ok(())) => Ok(survey),
        }
    }

    fn judge(&mut self, text: &str) -> ControlFlow<()> {
        if text.len() > GUARD_TEXT_BYTES_MAX {
            return self.fail(Fault::TextLimit);
        }
        // One match is enough to go on to the edit, which looks at every text.
        self.matches = self.matches || self.engine.matches(text);
        ControlFlow::Continue(())
    }

    fn fail(&mut self, fault: Fault) -> ControlFlow<()> {
        self.fault = Some(fault);
        ControlFlow::Break(())
    }
}

impl Visit for Survey<'_> {
    fn key(&mut self, key: &str) -> ControlFlow<()> {
        self.judge(key)
    }

    fn field(&mut self, name: &'static str) -> ControlFlow<()> {
        if self.engine.matches(name) {
            self.names.insert(name);
        }
        ControlFlow::Continue(())
    }

    fn text(&mut self, text: &str) -> ControlFlow<()> {
        self.judge(text)
    }

    fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        if bytes.len() > GUARD_TEXT_BYTES_MAX {
            return self.fail(Fault::TextLimit);
        }
        if self.engine.matches(&String::from_utf8_lossy(bytes)) {
            return self.fail(Fault::Bytes);
        }
        ControlFlow::Continue(())
    }

    fn scalar(&mut self, scalar: Scalar) -> ControlFlow<()> {
        let number = !matches!(scalar, Scalar::Null | Scalar::Bool(_));
        if number && self.engine.matches(Decimal::of(scalar).as_str()) {
            return self.fail(Fault::Number);
        }
        ControlFlow::Continue(())
    }
}

/// Changes a JSON view. Its depth is that of the output, which was walked within the walk's bound.
struct Edit<'a> {
    engine: &'a Engine,
    call: &'a CallInfo,
    names: &'a BTreeSet<&'static str>,
    fault: Option<Fault>,
}

impl Edit<'_> {
    fn value(&mut self, json: &mut Value) {
        match json {
            Value::String(text) => {
                if let Some(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(entries) => self.object(entries),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, entries: &mut Map<String, Value>) {
        for (key, mut value) in std::mem::take(entries) {
            self.value(&mut value);
            let key = self.text(&key).unwrap_or(key);
            if entries.insert(key, value).is_some() {
                self.fault.get_or_insert(Fault::KeysCollide);
            }
        }
    }

    fn text(&mut self, text: &str) -> Option<String> {
        if self.fault.is_some() || self.names.contains(text) {
            return None;
        }
        match self.engine.redact(self.call, text) {
            Ok(redacted) => redacted,
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }
}
