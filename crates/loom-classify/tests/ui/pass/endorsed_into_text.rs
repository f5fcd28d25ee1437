use loom_classify::endorse::{Endorser, Matched, Rejected};
use loom_classify::{TaintOrigin, Tainted};

struct Anything;

impl Endorser<str> for Anything {
    type Out = Matched;

    fn name(&self) -> &'static str {
        "anything"
    }

    fn endorse(&self, untrusted: &str) -> Result<Matched, Rejected> {
        Matched::new(untrusted)
    }
}

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    let _ = answer.endorse(&Anything);
}
