use loom_classify::{Origins, TaintedStr};
use loom_effect_runtime::EffectDelta;

fn forged(origins: &Origins) -> EffectDelta<'_> {
    EffectDelta::Done { usage: None, text: TaintedStr::new("", origins) }
}

fn main() {
    let _ = forged;
}
