use loom_effect_runtime::{EffectDelta, Usage};

fn read(delta: &EffectDelta<'_>) -> Option<Usage> {
    match delta {
        EffectDelta::Done { usage, .. } => *usage,
        _ => None,
    }
}

fn main() {
    let _ = read;
}
