//! An object whose entries are brought into order as they come.

use serde::ser::{Serialize, SerializeMap, SerializeStruct, SerializeStructVariant};

use super::writer::{Unusual, Writer};

/// How many entries of one object are brought into order in place; more are written where they come in order.
const UNSORTED_MAX: usize = 16;
/// How many bytes are moved to bring one entry into its place.
const MOVED_BYTES_MAX: usize = 4096;

/// An open object, its entries in order so far.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    /// Where the entry that is being written begins, and its value.
    start: usize,
    value: usize,
    entries: Entries,
    ends: &'static [u8],
}

/// Where each entry begins, and its value. Beyond the first [`UNSORTED_MAX`] only the last one is known.
#[derive(Default)]
struct Entries {
    count: usize,
    first: [(usize, usize); UNSORTED_MAX],
    last: (usize, usize),
}

impl<'o> Object<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>, ends: &'static [u8]) -> Self {
        out.push(b'{');
        Self { out, start: 0, value: 0, entries: Entries::default(), ends }
    }

    /// The text of the key that stands there.
    fn key(&self, (start, value): (usize, usize)) -> &[u8] {
        let entry = self.out.get(start..value).unwrap_or_default();
        let head = if entry.get(1) == Some(&0xff) { 10 } else { 2 };
        entry.get(head..).unwrap_or_default()
    }

    /// Brings the entry that was just written into its place.
    fn settle(&mut self) -> Result<(), Unusual> {
        let new = (self.start, self.value);
        let follows = self.entries.count == 0 || self.key(self.entries.last) < self.key(new);
        if follows {
            if let Some(place) = self.entries.first.get_mut(self.entries.count) {
                *place = new;
            }
            self.entries.last = new;
        } else {
            self.insert(new)?;
        }
        self.entries.count += 1;
        Ok(())
    }

    fn insert(&mut self, new: (usize, usize)) -> Result<(), Unusual> {
        let count = self.entries.count;
        let known = self.entries.first.get(..count).filter(|_| count < UNSORTED_MAX).ok_or(Unusual)?;
        let at = match known.binary_search_by(|entry| self.key(*entry).cmp(self.key(new))) {
            // JSON keeps the last of two; which of them came last is not known here.
            Ok(_) => return Err(Unusual),
            Err(at) => at,
        };
        let before = known.get(at).ok_or(Unusual)?.0;
        let length = self.out.len() - new.0;
        let moved = self.out.get_mut(before..).filter(|moved| moved.len() <= MOVED_BYTES_MAX);
        moved.ok_or(Unusual)?.rotate_right(length);
        let places = self.entries.first.get_mut(at..=count).ok_or(Unusual)?;
        for (start, value) in places.iter_mut() {
            *start += length;
            *value += length;
        }
        places.rotate_right(1);
        if let Some(place) = places.first_mut() {
            *place = (before, before + new.1 - new.0);
        }
        self.entries.last = places.last().copied().unwrap_or_default();
        Ok(())
    }
}

impl SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Unusual;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unusual> {
        self.start = self.out.len();
        Writer::key(key, self.out)?;
        self.value = self.out.len();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unusual> {
        value.serialize(Writer::new(self.out))?;
        self.settle()
    }

    fn end(self) -> Result<(), Unusual> {
        self.out.extend_from_slice(self.ends);
        Ok(())
    }
}

macro_rules! records {
    ($($trait:ident),+) => {$(
        impl $trait for Object<'_> {
            type Ok = ();
            type Error = Unusual;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Unusual> {
                self.serialize_entry(name, value)
            }

            fn end(self) -> Result<(), Unusual> {
                SerializeMap::end(self)
            }
        }
    )+};
}

records!(SerializeStruct, SerializeStructVariant);
