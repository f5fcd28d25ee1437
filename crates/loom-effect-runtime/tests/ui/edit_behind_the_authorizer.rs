use loom_effect_runtime::{Step, before};

fn main() {
    let _ = before("mine", |_, input| {
        let _ = input.edit(|json| *json = serde_json::Value::Null);
        Step::Go
    });
}
