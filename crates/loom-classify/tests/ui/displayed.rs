use loom_classify::{TaintOrigin, Tainted};

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    let _ = format!("{}", answer);
}
