use loom_classify::{Origins, TaintOrigin, TaintedStr};

fn prompt(_: &str) {}

fn main() {
    let origins = Origins::from(TaintOrigin::llm("plan"));
    prompt(TaintedStr::new("text", &origins));
}
