use loom_classify::{TaintOrigin, Tainted};

fn prompt(_: impl AsRef<str>) {}

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    prompt(answer.unwrap_tainted());
}
