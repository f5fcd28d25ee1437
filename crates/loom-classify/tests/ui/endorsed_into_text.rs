use loom_classify::endorse::{Endorser, Rejected};
use loom_classify::{TaintOrigin, Tainted};

struct Anything;

impl Endorser<str> for Anything {
    type Out = String;

    fn name(&self) -> &'static str {
        "anything"
    }

    fn endorse(&self, untrusted: &str) -> Result<String, Rejected> {
        Ok(untrusted.to_owned())
    }
}

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    let _ = answer.endorse(&Anything);
}
