use loom_classify::{TaintOrigin, Tainted};

fn prompt(_: &str) {}

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    prompt(answer.expose_tainted());
}
