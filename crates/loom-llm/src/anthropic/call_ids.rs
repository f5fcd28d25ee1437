//! The ids that calls and their results have in one request.
//!
//! The API wants each call to have an id of letters, digits, `_` and `-` that no other call of the request has, and
//! each result to name one. Calls of other providers have none, or others, or the same in every turn.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::chunk::ToolCall;
use crate::dialect::Unsendable;

/// The ids given out so far. An id that can stand is kept.
#[derive(Default)]
pub(super) struct CallIds<'a> {
    used: HashSet<Cow<'a, str>>,
    made: usize,
    /// The calls of the latest turn that are not answered yet, in their order.
    open: Vec<OpenCall<'a>>,
}

struct OpenCall<'a> {
    /// The call's own id; empty where it has none.
    own: &'a str,
    sent: Cow<'a, str>,
}

impl<'a> CallIds<'a> {
    /// Begins a turn of the model: what was not answered before can no longer be.
    pub(super) fn begin_turn(&mut self) {
        self.open.clear();
    }

    /// The id under which a call is sent.
    pub(super) fn of_call(&mut self, call: &'a ToolCall) -> Cow<'a, str> {
        let own = call.id.as_deref().unwrap_or_default();
        let mut sent = Cow::Borrowed(own);
        while !can_stand(&sent) || !self.used.insert(sent.clone()) {
            sent = Cow::Owned(format!("loom-call-{}", self.made));
            self.made += 1;
        }
        self.open.push(OpenCall { own, sent: sent.clone() });
        sent
    }

    /// Notes a call that is sent as it came, under its own id.
    pub(super) fn keep(&mut self, own: &'a str) {
        self.used.insert(Cow::Borrowed(own));
        self.open.push(OpenCall { own, sent: Cow::Borrowed(own) });
    }

    /// The id under which a result is sent: that of the call with the same own id. A result without an id answers the
    /// first unanswered call that has none, else the first; one with the id of no such call answers none.
    pub(super) fn of_result(&mut self, own: &'a str) -> Result<Cow<'a, str>, Unsendable> {
        let place = self.open.iter().position(|call| call.own == own);
        let place = place.or_else(|| (own.is_empty() && !self.open.is_empty()).then_some(0));
        Ok(self.open.remove(place.ok_or(Unsendable)?).sent)
    }
}

fn can_stand(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
