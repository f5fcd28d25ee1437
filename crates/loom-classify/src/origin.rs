//! Where untrusted content came from: one origin, and the set of them that a value carries.

use std::fmt;
use std::sync::Arc;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest text of one origin, in bytes; what [`TaintOrigin::new`] is given beyond it is cut off.
pub const ORIGIN_BYTES_MAX: usize = 256;

/// The longest kind of an origin, in bytes; what is given beyond it is cut off, so that there is room for the id.
pub const ORIGIN_KIND_BYTES_MAX: usize = 64;

/// The most origins one set holds; a larger union collapses (see [`Origins::join`]).
pub const ORIGINS_MAX: usize = 32;

/// The one origin of a collapsed set: more than [`ORIGINS_MAX`] of them.
const COLLAPSED: &str = "many:origins";

/// The origin of what is marked as tainted but does not say by whom.
const UNLABELLED: &str = "unknown:unlabelled";

/// One producer of untrusted content, as `kind:id`; its text form is `llm:plan` (spec row D9).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaintOrigin(Arc<str>);

impl TaintOrigin {
    /// The origin `kind:id`. An empty kind becomes `unknown`; what is neither an ASCII sign nor alphanumeric (a
    /// space, a control character) becomes `_`; text beyond [`ORIGIN_BYTES_MAX`] is cut off. So an origin is always
    /// one word and safe to print.
    #[must_use]
    pub fn new(kind: &str, id: &str) -> Self {
        let kind = if kind.is_empty() { "unknown" } else { kind };
        let mut text = String::with_capacity((kind.len() + 1 + id.len()).min(ORIGIN_BYTES_MAX));
        push_word(&mut text, kind, ORIGIN_KIND_BYTES_MAX);
        text.push(':');
        push_word(&mut text, id, ORIGIN_BYTES_MAX);
        Self(text.into())
    }

    /// What the language model behind `tool_id` produced: `llm:<tool_id>`.
    #[must_use]
    pub fn llm(tool_id: &str) -> Self {
        Self::new("llm", tool_id)
    }

    /// The origin's text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands for an origin that nobody named.
    pub(crate) fn unlabelled() -> Self {
        Self(UNLABELLED.into())
    }

    /// An origin as the wire states it; what is not one becomes the unlabelled origin, so that taint is not lost.
    fn from_wire(text: &str) -> Self {
        if is_well_formed(text) { Self(text.into()) } else { Self::unlabelled() }
    }
}

impl fmt::Display for TaintOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TaintOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The origins of one value: sorted, each once, at most [`ORIGINS_MAX`]. A clone counts up and allocates nothing.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Origins(Option<Arc<[TaintOrigin]>>);

impl Origins {
    /// No origin: what is trusted.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// The union. It allocates only when neither set contains the other.
    ///
    /// A union of more than [`ORIGINS_MAX`] collapses to the single origin `many:origins`, which absorbs all that it
    /// is joined with later: the list is lost, the taint is not.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        if self.covers(other) {
            return self.clone();
        }
        if other.covers(self) {
            return other.clone();
        }
        self.iter().chain(other.iter()).cloned().collect()
    }

    /// The origins in sorted order.
    pub fn iter(&self) -> std::slice::Iter<'_, TaintOrigin> {
        self.as_slice().iter()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many origins the set lists.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether `origin` is among them. A collapsed set answers yes to every origin, since it may hold it.
    #[must_use]
    pub fn contains(&self, origin: &TaintOrigin) -> bool {
        self.is_collapsed() || self.as_slice().binary_search(origin).is_ok()
    }

    /// Whether the list was given up because it grew beyond [`ORIGINS_MAX`].
    #[must_use]
    pub fn is_collapsed(&self) -> bool {
        matches!(self.as_slice(), [only] if only.as_str() == COLLAPSED)
    }

    fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => {
                Arc::ptr_eq(mine, theirs) || theirs.iter().all(|origin| self.contains(origin))
            }
        }
    }

    fn as_slice(&self) -> &[TaintOrigin] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'a> IntoIterator for &'a Origins {
    type Item = &'a TaintOrigin;
    type IntoIter = std::slice::Iter<'a, TaintOrigin>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<TaintOrigin> for Origins {
    fn from(origin: TaintOrigin) -> Self {
        Self(Some(Arc::new([origin])))
    }
}

impl From<&Origins> for Origins {
    fn from(origins: &Origins) -> Self {
        origins.clone()
    }
}

impl FromIterator<TaintOrigin> for Origins {
    fn from_iter<I: IntoIterator<Item = TaintOrigin>>(origins: I) -> Self {
        let mut gathered = GatheredOrigins::default();
        for origin in origins {
            gathered.insert(origin);
        }
        gathered.into_origins()
    }
}

impl fmt::Display for Origins {
    /// The origins with a comma between, `llm:plan, mcp:search`; nothing when there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, origin) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(origin.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Origins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(TaintOrigin::as_str))
    }
}

impl<'de> Deserialize<'de> for Origins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(OriginsVisitor)
    }
}

struct OriginsVisitor;

impl<'de> Visitor<'de> for OriginsVisitor {
    type Value = Origins;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of origins, each a text of the form `kind:id`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Origins, A::Error> {
        let mut gathered = GatheredOrigins::default();
        while let Some(text) = seq.next_element::<std::borrow::Cow<'de, str>>()? {
            if !is_well_formed(&text) {
                return Err(A::Error::custom("expected an origin of the form `kind:id`"));
            }
            gathered.insert_wire(&text);
        }
        Ok(gathered.into_origins())
    }
}

/// A set of origins under construction; bounded like the set it becomes.
#[derive(Default)]
pub(crate) struct GatheredOrigins {
    sorted: Vec<TaintOrigin>,
    collapsed: bool,
}

impl GatheredOrigins {
    pub(crate) fn insert(&mut self, origin: TaintOrigin) {
        if self.collapsed {
            return;
        }
        let Err(place) = self.sorted.binary_search(&origin) else { return };
        if self.sorted.len() == ORIGINS_MAX || origin.as_str() == COLLAPSED {
            self.collapsed = true;
            self.sorted = Vec::new();
        } else {
            self.sorted.insert(place, origin);
        }
    }

    /// Takes an origin as the wire states it, without allocating for one that is already there.
    pub(crate) fn insert_wire(&mut self, text: &str) {
        let known = self.sorted.binary_search_by(|origin| origin.as_str().cmp(text)).is_ok();
        if !self.collapsed && !known {
            self.insert(TaintOrigin::from_wire(text));
        }
    }

    /// The set. Inlined so that the usual case, none, costs a clean request no call.
    #[inline]
    pub(crate) fn into_origins(self) -> Origins {
        if self.sorted.is_empty() && !self.collapsed { Origins::none() } else { self.into_some() }
    }

    #[cold]
    fn into_some(self) -> Origins {
        let list = if self.collapsed { vec![TaintOrigin(COLLAPSED.into())] } else { self.sorted };
        Origins(Some(list.into()))
    }
}

/// Appends `word` with its odd characters replaced, while `text` is at most `bytes_max` long.
fn push_word(text: &mut String, word: &str, bytes_max: usize) {
    for c in word.chars() {
        let c = if is_origin_char(c) { c } else { '_' };
        if text.len() + c.len_utf8() > bytes_max {
            return;
        }
        text.push(c);
    }
}

fn is_well_formed(text: &str) -> bool {
    let kind_and_id = text.split_once(':').is_some_and(|(kind, _)| !kind.is_empty());
    kind_and_id && text.len() <= ORIGIN_BYTES_MAX && text.chars().all(is_origin_char)
}

fn is_origin_char(c: char) -> bool {
    c.is_ascii_graphic() || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> Origins {
        (0..count).map(|n| TaintOrigin::new("mcp", &format!("{n:04}"))).collect()
    }

    /// D9: an origin reads `llm:<tool_id>`, and a set lists its origins sorted, each once.
    #[test]
    fn a_set_is_sorted_and_lists_each_origin_once() {
        let set: Origins =
            [TaintOrigin::new("mcp", "search"), TaintOrigin::llm("plan"), TaintOrigin::llm("plan")]
                .into_iter()
                .collect();
        assert_eq!(set.to_string(), "llm:plan, mcp:search");
        assert_eq!(TaintOrigin::llm("plan").to_string(), "llm:plan");
        assert!(set.contains(&TaintOrigin::llm("plan")) && !set.contains(&TaintOrigin::llm("other")));
        assert_eq!(Origins::none().to_string(), "");
    }

    #[test]
    fn an_origin_is_bounded_and_safe_to_print_whatever_it_is_made_of() {
        for (kind, id) in
            [("", "x"), ("llm", "a\u{1b}[31m\nb"), ("k", &"ü".repeat(400)), (&"k".repeat(999), "id")]
        {
            let origin = TaintOrigin::new(kind, id);
            assert!(origin.as_str().len() <= ORIGIN_BYTES_MAX);
            assert!(!origin.as_str().chars().any(|c| c.is_control() || c.is_whitespace()));
            assert!(is_well_formed(origin.as_str()), "{origin}");
        }
        assert_eq!(TaintOrigin::new("mcp", "my tool\u{202e}").as_str(), "mcp:my_tool_");
        assert_eq!(TaintOrigin::new("", "x").as_str(), "unknown:x");
    }

    #[test]
    fn a_union_beyond_the_bound_collapses_and_stays_tainted() {
        let full = numbered(ORIGINS_MAX);
        assert_eq!((full.len(), full.is_collapsed()), (ORIGINS_MAX, false));
        let over = full.join(&TaintOrigin::llm("one-more").into());
        assert!(over.is_collapsed() && !over.is_empty());
        assert_eq!(over.to_string(), "many:origins");
        assert!(over.contains(&TaintOrigin::llm("anything")));
        assert_eq!(over.join(&full), over);
        assert_eq!(full.join(&over), over);
        assert_eq!(serde_json::from_str::<Origins>(r#"["llm:a","many:origins","mcp:b"]"#).unwrap(), over);
    }

    #[test]
    fn the_wire_form_is_a_list_of_text_and_what_is_no_origin_is_refused_without_being_quoted() {
        let set = numbered(2);
        assert_eq!(serde_json::to_string(&set).unwrap(), r#"["mcp:0000","mcp:0001"]"#);
        assert_eq!(serde_json::from_str::<Origins>(r#"["mcp:0001","mcp:0000","mcp:0001"]"#).unwrap(), set);
        for bad in [r#"["canary"]"#, r#"[":canary"]"#, r#"["canary:\n"]"#, r#"["x:two canaries"]"#] {
            let error = serde_json::from_str::<Origins>(bad).unwrap_err().to_string();
            assert!(error.contains("kind:id") && !error.contains("canary"), "{error}");
        }
    }
}
