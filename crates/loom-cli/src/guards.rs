//! The guards of a command: who they are, and what they are asked before anything is kept.

use std::fs::File;

use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime, ErrorName, Identity};
use loom_llm::ChatRequest;
use loom_safety::{DenyPatterns, PiiValidator, SafetyMiddleware, SafetyValidator};

use crate::args::{ModelArgs, Rule};
use crate::bounded::{Unreadable, read_text};
use crate::exit::Failure;
use crate::model::{Grant, principal};

/// The most bytes of a deny file.
const DENY_FILE_BYTES_MAX: u64 = 4 << 20;

/// The validators that the command line asks for, if any.
pub(crate) struct Guards(Option<SafetyMiddleware>);

impl Guards {
    pub(crate) fn read(args: &ModelArgs) -> Result<Self, Failure> {
        let validators = validators(args)?;
        Ok(Self((!validators.is_empty()).then(|| SafetyMiddleware::new(validators))))
    }

    /// The guards for both of their roles.
    pub(crate) fn middleware(&self) -> Option<SafetyMiddleware> {
        self.0.clone()
    }

    /// Judges a request as the call to `tool` will, guards and bounds alike, and asks nobody: what is refused here
    /// can be kept out of the journal.
    pub(crate) async fn judge(&self, tool: &'static str, request: ChatRequest) -> Result<(), Failure> {
        let mut builder = EffectRuntime::builder().authorizer(Grant { tool, flow: None });
        if let Some(safety) = self.middleware() {
            builder = builder.middleware(safety);
        }
        let runtime = builder.effect(Unasked(tool)).build();
        let runtime = runtime.map_err(|error| Failure::named(ErrorName::EffectFailed, error))?;
        let caller = runtime.caller(Identity::new(principal()));
        caller.invoke_transient(tool, request).await?;
        Ok(())
    }
}

/// Stands where the model will: a request that reaches it was not refused.
struct Unasked(&'static str);

impl Effect for Unasked {
    type Input = ChatRequest;
    type Output = ();

    fn id(&self) -> &str {
        self.0
    }

    async fn execute(&self, _request: &ChatRequest, _cx: &EffectContext<'_>) -> Result<(), CallError> {
        Ok(())
    }
}

fn validators(args: &ModelArgs) -> Result<Vec<Box<dyn SafetyValidator>>, Failure> {
    let asked = |rule| args.rules.contains(&rule);
    if asked(Rule::None) && args.rules.iter().any(|rule| *rule != Rule::None) {
        return Err(Failure::usage(
            "`none` stands beside other rules",
            "say `--rules none` alone, or the rules",
        ));
    }
    let by_default = args.rules.is_empty();
    let (pii, deny) =
        (by_default || asked(Rule::Pii), asked(Rule::Deny) || (by_default && args.deny.is_some()));
    let mut validators: Vec<Box<dyn SafetyValidator>> = Vec::new();
    if pii {
        validators.push(PiiValidator::default().into());
    }
    match (&args.deny, deny) {
        (Some(path), true) => validators.push(deny_patterns(path)?.into()),
        (None, true) => {
            return Err(Failure::usage(
                "the rule `deny` has no patterns",
                "name a file of them with --deny FILE",
            ));
        }
        (Some(_), false) => {
            let message = "--deny names patterns that --rules leaves out";
            return Err(Failure::usage(message, "add `deny` to --rules, or drop --deny"));
        }
        (None, false) => {}
    }
    Ok(validators)
}

fn deny_patterns(path: &std::path::Path) -> Result<DenyPatterns, Failure> {
    let hint = "--deny FILE is text with one pattern a line: a literal, or /regex/ with flags i and w";
    let text =
        File::open(path).map_err(Unreadable::from).and_then(|file| read_text(file, DENY_FILE_BYTES_MAX));
    let text = text.map_err(|unreadable| Failure::usage(format!("the deny file {unreadable}"), hint))?;
    DenyPatterns::from_lines(&text).map_err(|error| Failure::usage(error, hint))
}
