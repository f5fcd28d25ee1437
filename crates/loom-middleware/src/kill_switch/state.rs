//! What is engaged, readable from every call at the price of one atomic load.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use tokio::sync::Notify;

/// How many tools can be stopped one by one; one more stops all.
pub const TOOLS_ENGAGED_MAX: usize = 1024;

/// The rule of whatever is engaged, behind a word that answers most calls.
#[derive(Debug, Default)]
pub(super) struct State {
    /// One bit a tool, by its hash: a clear bit is a sure no, a set one sends the call to the table.
    suspects: AtomicU64,
    engaged: RwLock<Engaged>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Engaged {
    all: Option<String>,
    tools: BTreeMap<Box<str>, String>,
}

impl State {
    /// The rule that stops `tool`, if one does.
    #[inline]
    pub(super) fn rule_for(&self, tool: &str) -> Option<String> {
        let suspects = self.suspects.load(Ordering::Acquire);
        if suspects == 0 || suspects & bit(tool) == 0 { None } else { self.look_up(tool) }
    }

    /// Waits until `tool` is stopped and gives the rule. Cancel safe.
    pub(super) async fn engaged(&self, tool: &str) -> String {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(rule) = self.rule_for(tool) {
                return rule;
            }
            changed.await;
        }
    }

    pub(super) fn engage(&self, rule: String) {
        self.change(|engaged| engaged.all = Some(rule));
        self.changed.notify_waiters();
    }

    pub(super) fn engage_tool(&self, tool: &str, rule: String) {
        self.change(|engaged| {
            if engaged.tools.len() >= TOOLS_ENGAGED_MAX && !engaged.tools.contains_key(tool) {
                engaged.all = Some(rule);
            } else {
                engaged.tools.insert(tool.into(), rule);
            }
        });
        self.changed.notify_waiters();
    }

    pub(super) fn release(&self) {
        self.change(|engaged| engaged.all = None);
    }

    pub(super) fn release_tool(&self, tool: &str) {
        self.change(|engaged| {
            engaged.tools.remove(tool);
        });
    }

    /// Changes the table and then the word, under one lock, so that neither outruns the other.
    fn change(&self, change: impl FnOnce(&mut Engaged)) {
        let mut engaged = self.engaged.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut engaged);
        let suspects = match engaged.all {
            Some(_) => u64::MAX,
            None => engaged.tools.keys().fold(0, |suspects, tool| suspects | bit(tool)),
        };
        self.suspects.store(suspects, Ordering::Release);
    }

    /// Runs `during` while nobody else can reach the table.
    #[cfg(test)]
    pub(super) fn hold_table(&self, during: impl FnOnce()) {
        let _held = self.engaged.write().unwrap_or_else(PoisonError::into_inner);
        during();
    }

    #[cold]
    fn look_up(&self, tool: &str) -> Option<String> {
        let engaged = self.engaged.read().unwrap_or_else(PoisonError::into_inner);
        engaged.tools.get(tool).or(engaged.all.as_ref()).cloned()
    }
}

/// The bit of a tool: FNV-1a, its low half mixed into the high one, of which six bits are taken.
fn bit(tool: &str) -> u64 {
    let hash = tool.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    1 << ((hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Change {
        All,
        NotAll,
        Tool(u8),
        NotTool(u8),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            Just(Change::All),
            Just(Change::NotAll),
            (0_u8..40).prop_map(Change::Tool),
            (0_u8..40).prop_map(Change::NotTool),
        ]
    }

    proptest! {
        /// Whatever was engaged and released, exactly the stopped tools are stopped.
        #[test]
        fn the_word_and_the_table_agree_with_a_plain_model(
            changes in proptest::collection::vec(change(), 0..60),
        ) {
            let state = State::default();
            let (mut all, mut tools) = (false, BTreeSet::new());
            for change in changes {
                match change {
                    Change::All => { all = true; state.engage("all".to_owned()); }
                    Change::NotAll => { all = false; state.release(); }
                    Change::Tool(tool) => {
                        tools.insert(tool);
                        state.engage_tool(&format!("tool-{tool}"), format!("rule-{tool}"));
                    }
                    Change::NotTool(tool) => {
                        tools.remove(&tool);
                        state.release_tool(&format!("tool-{tool}"));
                    }
                }
                for tool in 0..40 {
                    let expected = match (tools.contains(&tool), all) {
                        (true, _) => Some(format!("rule-{tool}")),
                        (false, true) => Some("all".to_owned()),
                        (false, false) => None,
                    };
                    prop_assert_eq!(state.rule_for(&format!("tool-{tool}")), expected);
                }
            }
        }
    }

    #[test]
    fn one_tool_too_many_stops_all() {
        let state = State::default();
        for tool in 0..TOOLS_ENGAGED_MAX {
            state.engage_tool(&tool.to_string(), "rule".to_owned());
        }
        assert_eq!(state.rule_for("other"), None);
        state.engage_tool("0", "again".to_owned());
        assert_eq!(state.rule_for("other"), None);
        state.engage_tool("one-more", "full".to_owned());
        assert_eq!(state.rule_for("other").as_deref(), Some("full"));
    }

    #[test]
    fn the_bits_of_tools_are_spread() {
        let mut used = BTreeMap::new();
        for tool in 0..6400 {
            *used.entry(bit(&format!("tool-{tool}"))).or_insert(0) += 1;
        }
        assert_eq!(used.len(), 64);
        assert!(used.values().all(|count| *count < 200), "{used:?}");
    }
}
