//! A bounded table: the oldest entry makes room.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The most outputs a cacher keeps.
pub const ENTRIES_MAX: usize = 100_000;

pub(crate) struct Entries<K, V> {
    capacity: usize,
    kept: HashMap<K, V>,
    /// Keys from the oldest to the newest; exactly those of `kept`.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> Entries<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(1, ENTRIES_MAX);
        Self { capacity, kept: HashMap::new(), order: VecDeque::new() }
    }

    pub(crate) fn find(&self, key: &K) -> Option<V> {
        self.kept.get(key).cloned()
    }

    pub(crate) fn keep(&mut self, key: K, value: V) {
        if self.kept.insert(key.clone(), value).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > self.capacity
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room_and_a_kept_key_is_replaced_in_its_place() {
        let mut entries = Entries::new(2);
        entries.keep("a", 1);
        entries.keep("b", 2);
        entries.keep("a", 3);
        assert_eq!((entries.find(&"a"), entries.find(&"b")), (Some(3), Some(2)));
        entries.keep("c", 4);
        assert_eq!((entries.find(&"a"), entries.find(&"b"), entries.find(&"c")), (None, Some(2), Some(4)));
        assert_eq!((entries.kept.len(), entries.order.len()), (2, 2));
    }

    #[test]
    fn capacity_is_brought_into_its_range() {
        assert_eq!(Entries::<u8, u8>::new(0).capacity, 1);
        assert_eq!(Entries::<u8, u8>::new(usize::MAX).capacity, ENTRIES_MAX);
    }
}
