use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};

struct Echo;

impl Effect for Echo {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "echo"
    }

    async fn execute(&self, text: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
        Ok(text.clone())
    }
}

fn main() {
    let _ = EffectRuntime::builder().effect(Echo).build();
}
