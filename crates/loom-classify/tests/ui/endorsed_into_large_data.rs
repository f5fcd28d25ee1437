use loom_classify::endorse::{Endorser, Rejected};
use loom_classify::{TaintOrigin, Tainted};

struct Anything;

impl Endorser<str> for Anything {
    type Out = [u8; 17];

    fn name(&self) -> &'static str {
        "anything"
    }

    fn endorse(&self, _untrusted: &str) -> Result<[u8; 17], Rejected> {
        Ok([0; 17])
    }
}

fn main() {
    let answer = Tainted::new("text".to_owned(), TaintOrigin::llm("plan"));
    let _ = answer.endorse(&Anything);
}
