//! The kit of sinks.

mod runs;
mod tee;
mod writer;

use std::sync::Arc;

use loom_effect_runtime::DeltaSink;

use super::bounded::bounded;
use super::report::Report;

/// What a sink shows for the call of that [number](loom_effect_runtime::CallRef::number).
pub(super) type Shows<S> = dyn Fn(&S, u64) -> Option<String> + Send + Sync;

/// Checks a [`DeltaSink`]. `make` gives a fresh one each time.
///
/// One sink serves 64 interleaved calls: text, reasoning, arguments of tools, resets and `done`; first as the sink of each
/// call, then as the one that is configured with the effect and never hears of `done`.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta};
/// use loom_testing::kit;
///
/// #[derive(Default)]
/// struct Screen(Mutex<HashMap<u64, String>>);
///
/// impl DeltaSink for Screen {
///     fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
///         let mut shown = self.0.lock().unwrap();
///         let text = shown.entry(call.number()).or_default();
///         match delta {
///             EffectDelta::Text { text: piece, .. } => text.push_str(piece.unwrap_tainted()),
///             EffectDelta::Reset { .. } => text.clear(),
///             _ => {}
///         }
///     }
/// }
///
/// kit::sink(Screen::default).shows(|screen, call| screen.0.lock().unwrap().get(&call).cloned()).check();
/// ```
///
/// | check | what holds |
/// | --- | --- |
/// | no-panic | no delta and no question makes it panic |
/// | never-blocks | no delivery keeps the thread |
/// | repeatable | it asks for the same kinds each time |
/// | live-text | what it [shows](SinkKit::shows) for a call is that call's text since the last reset |
/// | allocations | a delta of text costs no more than it claims |
pub fn sink<S: DeltaSink>(make: impl Fn() -> S + Send + Sync + 'static) -> SinkKit<S> {
    SinkKit {
        make: Arc::new(make),
        shows: None,
        #[cfg(feature = "allocations")]
        allocations: None,
    }
}

/// The kit of one sink: [`sink`].
#[must_use = "a kit checks nothing until `check` or `report`"]
pub struct SinkKit<S> {
    make: Arc<dyn Fn() -> S + Send + Sync>,
    shows: Option<Arc<Shows<S>>>,
    #[cfg(feature = "allocations")]
    allocations: Option<u64>,
}

impl<S: DeltaSink> SinkKit<S> {
    /// How to read the text that the sink shows for a call, named by its number; `None` where it shows none.
    pub fn shows(mut self, shows: impl Fn(&S, u64) -> Option<String> + Send + Sync + 'static) -> Self {
        self.shows = Some(Arc::new(shows));
        self
    }

    /// A delta of text makes at most so many allocations: the mean over 256 deltas after as many, rounded down, so that a
    /// buffer that doubles now and then counts nothing.
    #[cfg(feature = "allocations")]
    pub fn allocations_per_delta(mut self, most: u64) -> Self {
        self.allocations = Some(most);
        self
    }

    /// Runs the checks.
    pub fn report(self) -> Report {
        bounded(std::any::type_name::<S>(), move |mut report| async move {
            let Self { make, shows, .. } = &self;
            if !runs::asks_alike(&mut report, &**make) || !runs::yields(&mut report, &**make).await {
                return report;
            }
            runs::serves_many(&mut report, &**make, shows.as_deref()).await;
            #[cfg(feature = "allocations")]
            if let Some(most) = self.allocations {
                runs::costs(&mut report, &**make, most).await;
            }
            report
        })
    }

    /// Runs the checks; passes where no fault was found.
    ///
    /// # Panics
    /// With the whole report, where there is a fault.
    #[track_caller]
    pub fn check(self) {
        self.report().assert();
    }
}

impl<S> std::fmt::Debug for SinkKit<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SinkKit").field("shows", &self.shows.is_some()).finish_non_exhaustive()
    }
}
