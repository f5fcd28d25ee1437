//! Makes the mark of success that only the runtime sends.

use loom_effect_runtime::EffectDelta;

fn cheat<'a>(delta: &EffectDelta<'a>) -> EffectDelta<'a> {
    match *delta {
        EffectDelta::Text { text, .. } => EffectDelta::Done { usage: None, text },
        other => other,
    }
}

fn main() {
    let _ = cheat;
}
