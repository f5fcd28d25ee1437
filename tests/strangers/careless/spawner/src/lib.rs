//! An effect that goes on when its call is over.

use std::time::Duration;

use loom_effect_runtime::{CallError, Effect, EffectContext};

/// Hands its work to a task and never looks at the call's signal.
#[derive(Debug)]
pub struct Spawner;

impl Effect for Spawner {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "spawner"
    }

    async fn execute(&self, text: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let (deltas, text) = (cx.deltas(), text.clone());
        let work = tokio::spawn(async move {
            for word in text.split_inclusive(' ') {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let _ = deltas.text(word);
            }
            text
        });
        work.await.map_err(CallError::failed)
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }
}
