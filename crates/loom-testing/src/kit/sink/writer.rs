//! The effect whose live view the sink gets.

use std::sync::Arc;

use loom_effect_runtime::{
    CallError, DeltaSink, Effect, EffectContext, EffectRuntime, Lane, Ready, RuntimeBuilder, Usage, around,
};

use crate::kit::call::probe::passing;

pub(super) const TOOL: &str = "kit.writer";
/// How many pieces an attempt writes.
const PIECES: usize = 6;

/// What a call is to write.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) enum Writes {
    /// Pieces of all kinds with pauses between; the call `number` fails once if it is odd, and each time if every eighth.
    Turns { number: usize },
    /// So many short pieces of text at once.
    Pieces { count: usize },
}

/// Writes in turns with the other calls.
pub(super) struct Writer {
    pub(super) configured: Option<Arc<dyn DeltaSink>>,
}

impl Effect for Writer {
    type Input = Writes;
    type Output = String;

    fn id(&self) -> &str {
        TOOL
    }

    async fn execute(&self, input: &Writes, cx: &EffectContext<'_>) -> Result<String, CallError> {
        match *input {
            Writes::Turns { number } => turns(number, cx).await,
            Writes::Pieces { count } => {
                for _ in 0..count {
                    cx.deltas().text("piece ")?;
                }
                Ok("piece ".repeat(count))
            }
        }
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.configured.clone()
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

async fn turns(number: usize, cx: &EffectContext<'_>) -> Result<String, CallError> {
    let deltas = cx.deltas();
    let mut text = String::new();
    for piece in 0..PIECES {
        let words = format!("call {number} attempt {} piece {piece} \u{e9}\u{65e5}\n", cx.attempt());
        deltas.text(&words)?;
        text.push_str(&words);
        deltas.write(Lane::REASONING, "because ")?;
        deltas.write(Lane::tool_arguments(u32::from(piece % 2 == 0)), "{\"a\": 1} ")?;
        tokio::task::yield_now().await;
    }
    let fails = number.is_multiple_of(8) || (number % 2 == 1 && cx.attempt() == 1);
    if fails {
        return Err(passing());
    }
    deltas.end(Some(Usage::new(1, 2)));
    Ok(text)
}

/// A runtime whose calls are tried twice.
pub(super) fn tried_twice(builder: RuntimeBuilder<Ready>, writer: Writer) -> Option<EffectRuntime> {
    let again = around("kit.again", |_call, mut next| {
        Box::pin(async move {
            match next.run().await {
                Err(error) if !error.is_refusal() => next.run().await,
                ended => ended,
            }
        })
    });
    builder.around(again).effect(writer).build().ok()
}
