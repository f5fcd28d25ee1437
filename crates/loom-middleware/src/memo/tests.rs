//! The leaves: what an age is good for, and the table against a plain model.

use std::time::Duration;

use proptest::prelude::*;

use super::policy::Age;
use super::state::Table;
use super::{MEMO_CAPACITY_MAX, Memo, Ttl};

proptest! {
    /// T14: fresh before its time, stale for no longer than the window, and then over for good, however long both are.
    #[test]
    fn an_output_is_fresh_then_stale_then_over(fresh_ms in 0_u64..100, stale_ms in 0_u64..100, age_ms in 0_u64..300) {
        let ms = Duration::from_millis;
        let expected = match age_ms {
            age if age < fresh_ms => Age::Fresh,
            age if age < fresh_ms + stale_ms => Age::Stale,
            _ => Age::Over,
        };
        prop_assert_eq!(Ttl::new(ms(fresh_ms)).stale(ms(stale_ms)).judge(ms(age_ms)), expected);
        prop_assert_eq!(Ttl::new(ms(fresh_ms)).stale(Duration::MAX).judge(Duration::MAX - ms(1)) , Age::Stale);
    }
}

#[test]
fn an_output_at_its_very_end_is_no_longer_served() {
    let ttl = Ttl::new(Duration::from_secs(2)).stale(Duration::from_secs(3));
    let just = Duration::from_nanos(1);
    assert_eq!(ttl.judge(Duration::from_secs(2) - just), Age::Fresh);
    assert_eq!(ttl.judge(Duration::from_secs(2)), Age::Stale);
    assert_eq!(ttl.judge(Duration::from_secs(5) - just), Age::Stale);
    assert_eq!(ttl.judge(Duration::from_secs(5)), Age::Over);
    assert_eq!(Ttl::from(Duration::ZERO).judge(Duration::ZERO), Age::Over);
}

#[derive(Clone, Debug)]
enum Step {
    Find(u8),
    Put(u8, u32),
    TakeAll(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..8).prop_map(Step::Find),
        4 => (0_u8..8, 0_u32..6).prop_map(|(key, value)| Step::Put(key, value)),
        1 => (0_u32..6).prop_map(Step::TakeAll),
    ]
}

/// Entries from the least to the most recently used.
struct Model(Vec<(u8, u32)>);

impl Model {
    fn take(&mut self, key: u8) -> Option<(u8, u32)> {
        let at = self.0.iter().position(|(found, _)| *found == key)?;
        Some(self.0.remove(at))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// T14: at most so many are kept, the least recently used makes room, and all that leaves is handed back.
    #[test]
    fn the_table_agrees_with_a_plain_model(
        capacity in 1_usize..5,
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut table = Table::new(capacity);
        let mut model = Model(Vec::new());
        for step in steps {
            match step {
                Step::Find(key) => {
                    let expected = model.take(key);
                    model.0.extend(expected);
                    prop_assert_eq!(table.find(u64::from(key), &key).copied(), expected.map(|(_, value)| value));
                }
                Step::Put(key, value) => {
                    let full = model.0.len() == capacity;
                    let gone = model.take(key).or_else(|| full.then(|| model.0.remove(0)));
                    model.0.push((key, value));
                    prop_assert_eq!(table.put(u64::from(key), key, value), gone);
                }
                Step::TakeAll(value) => {
                    let mut gone = table.take_all(|kept| *kept == value);
                    let mut expected: Vec<_> = model.0.extract_if(.., |(_, kept)| *kept == value).collect();
                    gone.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(gone, expected);
                }
            }
            prop_assert_eq!(table.len(), model.0.len());
            prop_assert!(table.len() <= capacity);
        }
    }
}

/// T14: keys whose hashes are equal are two keys all the same.
#[test]
fn a_hash_is_no_key() {
    let mut table = Table::new(4);
    assert_eq!(table.put(7, "a", 1), None);
    assert_eq!(table.find(7, &"b"), None);
    assert_eq!(table.put(7, "b", 2), Some(("a", 1)));
    assert_eq!(table.find(7, &"a"), None);
    assert_eq!(table.find(7, &"b"), Some(&2));
    assert_eq!(table.len(), 1);
}

#[test]
fn the_later_time_of_a_tool_stands_and_capacity_is_brought_into_its_range() {
    let memo = Memo::new(0).tool("b", Duration::from_secs(1)).tool("a", Duration::ZERO);
    let memo = memo.tool("b", Duration::from_secs(2));
    let told: Vec<_> = memo.tools.iter().map(|(tool, ttl)| (&**tool, *ttl)).collect();
    assert_eq!(told, [("a", Ttl::new(Duration::ZERO)), ("b", Ttl::new(Duration::from_secs(2)))]);
    let huge = Memo::new(usize::MAX);
    assert_eq!([memo, huge].map(|memo| memo.store.capacity()), [1, MEMO_CAPACITY_MAX]);
}
