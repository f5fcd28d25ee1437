use loom_effect_runtime::{Step, rewrite};

fn main() {
    let _ = rewrite("mine", |_, input| {
        let _ = input.edit(|json| *json = serde_json::Value::Null);
        Step::Go
    });
}
