//! A call's life as text.

mod hooks;
mod line;
mod record;

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta, RuntimeBuilder};

use hooks::{Attempts, Bounds};
use record::Record;
pub use record::TRANSCRIPT_LINES_MAX;

/// Writes down what calls pass, line by line, for a snapshot.
///
/// Each line begins with the step that it is about. What hangs on time or on chance (numbers of calls, ids of executions,
/// clocks) is left out, so equal runs give equal transcripts. Calls that overlap mix their lines: record them apart.
/// Inputs and live text are quoted as they are, escaped; it is for tests, not for logs.
///
/// ```
/// use loom_effect_runtime::{EffectRuntime, ErrorName};
/// use loom_testing::{Act, Recorder, Scripted};
/// use serde_json::{Value, json};
///
/// # futures::executor::block_on(async {
/// let recorder = Recorder::new();
/// let effect = Scripted::<String>::new([Act::text("hel"), Act::Fail(ErrorName::Provider)]);
/// let runtime = recorder.attach(EffectRuntime::builder().allow_all_calls()).effect(effect).build()?;
/// let tool = runtime.tool::<Value, String>("scripted")?;
/// let failed = runtime.invoke_transient(tool, json!({"n": 1})).on_delta_sink(recorder.sink()).await;
/// assert!(failed.is_err());
/// assert_eq!(recorder.transcript(), r#"scripted: admitted {"n":1}
/// scripted: attempt
/// scripted: text "hel"
/// scripted: attempt failed: ProviderError
/// scripted: over: ProviderError, 1 attempt
/// "#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recorder(Record);

impl Recorder {
    /// An empty transcript. Clones write to the same one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens to the calls of the runtime that will be built: admissions, attempts, outcomes, drops and warnings.
    ///
    /// It stands where it is attached: an around that is registered before it lies outside, so attached last it sees
    /// each attempt, and attached first each call. It takes the place of an `on_warn` given before.
    pub fn attach<S>(&self, builder: RuntimeBuilder<S>) -> RuntimeBuilder<S> {
        let warnings = self.0.clone();
        builder
            .middleware(Bounds(self.0.clone()))
            .around(Attempts(self.0.clone()))
            .on_warn(move |warning| warnings.line(&format!("warning: {warning}")))
    }

    /// A sink that writes down every delta of its call, of all kinds.
    #[must_use]
    pub fn sink(&self) -> impl DeltaSink + use<> {
        View(self.0.clone())
    }

    /// All lines so far, each with its end.
    #[must_use]
    pub fn transcript(&self) -> String {
        self.0.to_string()
    }
}

struct View(Record);

impl DeltaSink for View {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let step = line::step(call.step_id(), call.call_key());
        self.0.line(&format!("{step}: {}", line::delta(delta)));
    }

    fn wants(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }
}
