//! A bounded table: the least recently used entry makes room.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::hash::Hashed;

/// No slot: the end of the list.
const NONE: usize = usize::MAX;

/// Values under keys and the keys' hashes. Two keys with one hash share a place: the later takes it, and neither is ever
/// found by the other.
///
/// Whatever leaves the table is handed back, to be dropped where no lock is held.
pub(super) struct Table<K, V> {
    capacity: usize,
    places: HashMap<u64, usize, BuildHasherDefault<Hashed>>,
    /// A list from the newest to the oldest.
    slots: Vec<Slot<K, V>>,
    /// Slots without an entry, in no list.
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
}

struct Slot<K, V> {
    hash: u64,
    entry: Option<(K, V)>,
    newer: usize,
    older: usize,
}

impl<K: Eq, V> Table<K, V> {
    /// A table of at most `capacity` entries, and at least one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            places: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Finds an entry, which then is the most recently used.
    pub(super) fn find(&mut self, hash: u64, key: &K) -> Option<&V> {
        let at = *self.places.get(&hash)?;
        if at != self.newest {
            self.unlink(at);
            self.link(at);
        }
        match &self.slots.get(at)?.entry {
            Some((found, value)) if found == key => Some(value),
            _ => None,
        }
    }

    /// Puts an entry in, as the most recently used, and gives back the one that made room.
    pub(super) fn put(&mut self, hash: u64, key: K, value: V) -> Option<(K, V)> {
        let full = self.len() >= self.capacity;
        let reused = self.places.get(&hash).copied().or_else(|| full.then_some(self.oldest));
        let gone = reused.and_then(|at| self.vacate(at));
        let slot = Slot { hash, entry: Some((key, value)), newer: NONE, older: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                if let Some(place) = self.slots.get_mut(at) {
                    *place = slot;
                }
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.places.insert(hash, at);
        self.link(at);
        gone
    }

    /// Takes out every entry that `is` says so of.
    pub(super) fn take_all(&mut self, is: impl Fn(&V) -> bool) -> Vec<(K, V)> {
        let says = |slot: &Slot<K, V>| slot.entry.as_ref().is_some_and(|(_, value)| is(value));
        let chosen: Vec<usize> =
            self.slots.iter().enumerate().filter(|(_, slot)| says(slot)).map(|(at, _)| at).collect();
        chosen.into_iter().filter_map(|at| self.vacate(at)).collect()
    }

    fn vacate(&mut self, at: usize) -> Option<(K, V)> {
        let slot = self.slots.get_mut(at)?;
        let entry = slot.entry.take()?;
        let hash = slot.hash;
        self.places.remove(&hash);
        self.unlink(at);
        self.free.push(at);
        Some(entry)
    }

    fn unlink(&mut self, at: usize) {
        let Some(&Slot { newer, older, .. }) = self.slots.get(at) else { return };
        match self.slots.get_mut(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Makes a slot that is in no list the newest.
    fn link(&mut self, at: usize) {
        let second = self.newest;
        if let Some(slot) = self.slots.get_mut(at) {
            (slot.newer, slot.older) = (NONE, second);
        }
        match self.slots.get_mut(second) {
            Some(slot) => slot.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }
}
