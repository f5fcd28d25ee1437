use loom_classify::{Fenced, TaintOrigin, Tainted};

struct Message {
    system: String,
    content: Fenced<String>,
}

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    let _ = Message { system: String::new(), content: answer.into() };
}
