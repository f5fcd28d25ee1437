//! The foreign names in one crate's public surface, read from rustdoc's JSON.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::stop::Stop;
use crate::workspace::text;

/// The form of rustdoc's JSON that this reads: that of the pinned toolchain.
const FORMAT_VERSION: u64 = 57;

/// What every Rust program has.
const STANDARD: [&str; 4] = ["std", "core", "alloc", "proc_macro"];

/// The fields whose numbers are an item's parts.
const PARTS: [&str; 6] = ["items", "fields", "tuple", "variants", "impls", "implementations"];

/// Each foreign path of a surface, by its definition, with the items that name it.
pub(super) type Mentions = BTreeMap<String, BTreeSet<String>>;

/// Reads a crate's surface; `ours` are the workspace's library names.
///
/// What rustdoc leaves out, hidden and private items, is no contract and not read.
pub(super) fn mentions(document: &Value, ours: &[String]) -> Result<Mentions, Stop> {
    let version = document.get("format_version").and_then(Value::as_u64);
    if version != Some(FORMAT_VERSION) {
        let came = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        return Err(Stop::failed(format!(
            "rustdoc's JSON has format {came}, and {FORMAT_VERSION} is the one that xtask/src/public/surface.rs reads: \
             compare the two in rustdoc-json-types, then raise FORMAT_VERSION"
        )));
    }
    let (index, paths) = (object(document, "index")?, object(document, "paths")?);
    let root = document.get("root").and_then(Value::as_u64);
    let root = root.ok_or_else(|| Stop::failed("rustdoc's JSON has no root"))?;
    let waiting = VecDeque::from([(root, String::new(), None)]);
    let mut walk = Walk { index, paths, ours, seen: BTreeSet::new(), waiting, found: Mentions::new() };
    while let Some((id, above, renamed)) = walk.waiting.pop_front() {
        walk.visit(id, &above, renamed);
    }
    Ok(walk.found)
}

fn object<'a>(document: &'a Value, field: &str) -> Result<&'a Map<String, Value>, Stop> {
    let found = document.get(field).and_then(Value::as_object);
    found.ok_or_else(|| Stop::failed(format!("rustdoc's JSON has no `{field}`")))
}

struct Walk<'a> {
    index: &'a Map<String, Value>,
    paths: &'a Map<String, Value>,
    ours: &'a [String],
    seen: BTreeSet<u64>,
    /// Items still to visit: number, the path above, and the name that a re-export gives. Breadth first, so that
    /// an item is known by its shortest path.
    waiting: VecDeque<(u64, String, Option<&'a str>)>,
    found: Mentions,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, id: u64, above: &str, renamed: Option<&'a str>) {
        // What is not in the index is private, hidden or another crate's.
        let Some(item) = self.index.get(&id.to_string()) else { return };
        if !self.seen.insert(id) {
            return;
        }
        let Some((kind, inner)) =
            item.get("inner").and_then(Value::as_object).and_then(|all| all.iter().next())
        else {
            return;
        };
        let name = renamed.unwrap_or_else(|| text(item, "name"));
        let place = if name.is_empty() || kind == "use" { above.to_owned() } else { joined(above, name) };
        match kind.as_str() {
            "use" => self.re_export(inner, &place),
            "impl" => self.implementation(inner, &place),
            _ => self.signature(inner, &place, |_| true),
        }
    }

    fn re_export(&mut self, inner: &'a Value, above: &str) {
        let (name, glob) = (text(inner, "name"), inner.get("is_glob") == Some(&Value::Bool(true)));
        match inner.get("id").and_then(Value::as_u64) {
            Some(id) if !self.index.contains_key(&id.to_string()) => {
                self.mention(id, &joined(above, name));
            }
            Some(id) if glob => self.parts_of(id, above),
            Some(id) => self.waiting.push_front((id, above.to_owned(), Some(name))),
            // Of a crate or a primitive: the source is all there is to go by.
            None => self.foreign(text(inner, "source"), &joined(above, name)),
        }
    }

    /// The parts of a module or enum as if they stood in `above`.
    fn parts_of(&mut self, id: u64, above: &str) {
        let mut parts = Vec::new();
        if let Some(inner) = self.index.get(&id.to_string()).and_then(|item| item.get("inner")) {
            scan(inner, &mut |_| {}, &mut |part| parts.push(part));
        }
        self.waiting.extend(parts.into_iter().map(|part| (part, above.to_owned(), None)));
    }

    /// An impl that somebody wrote. Auto traits and blanket impls follow from other lines; the functions of a trait
    /// have the trait's signature, whoever implements it.
    fn implementation(&mut self, inner: &'a Value, place: &str) {
        let derived = inner.get("is_synthetic") == Some(&Value::Bool(true))
            || inner.get("blanket_impl").is_some_and(|blanket| !blanket.is_null());
        if !derived {
            let own = inner.get("trait").is_none_or(Value::is_null);
            self.signature(inner, place, |kind| own || kind != "function");
        }
    }

    fn signature(&mut self, inner: &'a Value, place: &str, follows: impl Fn(&str) -> bool) {
        let (mut named, mut parts) = (Vec::new(), Vec::new());
        scan(inner, &mut |id| named.push(id), &mut |part| parts.push(part));
        for id in named {
            self.mention(id, place);
        }
        for part in parts {
            let inner = self.index.get(&part.to_string()).and_then(|item| item.get("inner"));
            let kind = inner.and_then(Value::as_object).and_then(|all| all.keys().next());
            if kind.is_some_and(|kind| follows(kind)) {
                self.waiting.push_back((part, place.to_owned(), None));
            }
        }
    }

    fn mention(&mut self, id: u64, place: &str) {
        // Every foreign item that rustdoc met has its path here; one without is this crate's own, private or hidden.
        let Some(summary) = self.paths.get(&id.to_string()) else { return };
        let path = summary.get("path").and_then(Value::as_array).into_iter().flatten();
        let path: Vec<&str> = path.filter_map(Value::as_str).collect();
        if summary.get("crate_id").and_then(Value::as_u64) != Some(0) {
            self.foreign(&path.join("::"), place);
        }
    }

    fn foreign(&mut self, path: &str, place: &str) {
        let first = path.split("::").next().unwrap_or_default();
        if !STANDARD.contains(&first) && !self.ours.iter().any(|name| name == first) {
            self.found.entry(path.to_owned()).or_default().insert(place.to_owned());
        }
    }
}

fn joined(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}::{name}") }
}

/// Finds every name and every part, at any depth: a form of type that is not known here hides nothing.
fn scan(value: &Value, named: &mut dyn FnMut(u64), part: &mut dyn FnMut(u64)) {
    match value {
        Value::Array(all) => all.iter().for_each(|each| scan(each, named, part)),
        Value::Object(fields) => {
            if let (Some(Value::String(_)), Some(id)) =
                (fields.get("path"), fields.get("id").and_then(Value::as_u64))
            {
                named(id);
            }
            for (field, inside) in fields {
                if PARTS.contains(&field.as_str()) {
                    inside.as_array().into_iter().flatten().filter_map(Value::as_u64).for_each(&mut *part);
                }
                scan(inside, named, part);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A crate `a` with the given items in its root, and the paths of two foreign types and one of its own.
    fn read(root: &[u64], index: Value) -> Vec<String> {
        let mut index = index;
        index["0"] = json!({ "name": "a", "inner": { "module": { "items": root } } });
        let document = json!({
            "format_version": FORMAT_VERSION, "root": 0, "index": index,
            "paths": {
                "90": { "crate_id": 7, "path": ["http", "Client"] },
                "91": { "crate_id": 8, "path": ["http", "Body"] },
                "92": { "crate_id": 0, "path": ["a", "Own"] },
                "93": { "crate_id": 2, "path": ["core", "fmt", "Debug"] },
                "94": { "crate_id": 9, "path": ["ours", "Call"] },
            },
        });
        let mentions = mentions(&document, &["ours".to_owned()]).unwrap();
        let said = |(path, items): (String, BTreeSet<String>)| {
            items.into_iter().map(move |item| format!("{item}: {path}")).collect::<Vec<_>>()
        };
        mentions.into_iter().flat_map(said).collect()
    }

    fn named(id: u64) -> Value {
        json!({ "resolved_path": { "path": "written", "id": id, "args": null } })
    }

    #[test]
    fn arguments_results_bounds_and_what_stands_inside_other_types_are_read() {
        let inside = json!({ "resolved_path": { "path": "Vec", "id": 93, "args": {
            "angle_bracketed": { "args": [{ "type": named(90) }], "constraints": [] } } } });
        let bound = json!([{ "trait_bound": { "trait": { "path": "B", "id": 91, "args": null } } }]);
        let index = json!({
            "1": { "name": "f", "inner": { "function": { "sig": { "inputs": [["x", inside]], "output": null } } } },
            "2": { "name": "g", "inner": { "function": {
                "sig": { "inputs": [], "output": { "impl_trait": bound } } } } },
            "3": { "name": "T", "inner": { "type_alias": { "type": { "borrowed_ref": { "type": named(90) } } } } },
        });
        assert_eq!(read(&[1, 2, 3], index), ["a::g: http::Body", "a::T: http::Client", "a::f: http::Client"]);
    }

    #[test]
    fn std_the_crate_itself_and_the_workspace_are_not_foreign() {
        let index = json!({
            "1": { "name": "T", "inner": { "type_alias": { "type": { "tuple": [named(92), named(93), named(94)] } } } },
        });
        assert_eq!(read(&[1], index), [""; 0]);
    }

    #[test]
    fn fields_and_variants_count_where_they_are_public() {
        let index = json!({
            "1": { "name": "S", "inner": { "struct": { "kind": { "tuple": [2, null] }, "impls": [] } } },
            "2": { "name": "0", "inner": { "struct_field": named(90) } },
            "3": { "name": "E", "inner": { "enum": { "variants": [4], "impls": [] } } },
            "4": { "name": "V", "inner": { "variant": { "kind": { "struct": { "fields": [5] } } } } },
            "5": { "name": "body", "inner": { "struct_field": named(91) } },
            "6": { "name": "private", "inner": { "struct_field": named(91) } },
        });
        assert_eq!(read(&[1, 3], index), ["a::E::V::body: http::Body", "a::S::0: http::Client"]);
    }

    #[test]
    fn a_written_impl_counts_with_its_trait_and_associated_types_and_a_derived_one_does_not() {
        let implementation = |trait_id: Value, rest: Value| {
            let mut inner = json!({ "trait": trait_id, "for": named(92), "items": [3, 4], "is_synthetic": false,
                "blanket_impl": null });
            inner.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            json!({ "2": { "name": null, "inner": { "impl": inner } },
                "1": { "name": "S", "inner": { "struct": { "kind": "unit", "impls": [2] } } },
                "3": { "name": "f", "inner": { "function": { "sig": { "inputs": [["x", named(91)]] } } } },
                "4": { "name": "Out", "inner": { "assoc_type": { "type": named(91) } } } })
        };
        let foreign = json!({ "path": "Send", "id": 90, "args": null });
        let found = read(&[1], implementation(foreign.clone(), json!({})));
        assert_eq!(found, ["a::S::Out: http::Body", "a::S: http::Client"]);
        assert_eq!(
            read(&[1], implementation(Value::Null, json!({}))),
            ["a::S::Out: http::Body", "a::S::f: http::Body"]
        );
        for derived in [json!({ "is_synthetic": true }), json!({ "blanket_impl": { "generic": "T" } })] {
            assert_eq!(read(&[1], implementation(foreign.clone(), derived)), [""; 0]);
        }
    }

    #[test]
    fn a_re_export_counts_where_it_stands_and_names_what_it_brings() {
        let export = |id: Value, name: &str, glob: bool| json!({ "name": null, "inner": { "use": { "source": "http::prelude", "name": name, "id": id, "is_glob": glob } } });
        let alias = json!({ "type_alias": { "type": named(90) } });
        let index = json!({
            "1": export(json!(90), "Client", false),
            "2": export(json!(5), "Renamed", false),
            "3": export(json!(6), "inner", true),
            "4": export(Value::Null, "http", false),
            "5": { "name": "Hidden", "inner": alias },
            "6": { "name": "inner", "inner": { "module": { "items": [7] } } },
            "7": { "name": "Deep", "inner": alias },
        });
        let found = read(&[1, 2, 3, 4], index);
        assert_eq!(
            found,
            [
                "a::Client: http::Client",
                "a::Deep: http::Client",
                "a::Renamed: http::Client",
                "a::http: http::prelude"
            ]
        );
    }

    #[test]
    fn another_format_is_refused_by_both_numbers() {
        let refused = mentions(&json!({ "format_version": 58 }), &[]).unwrap_err().to_string();
        assert!(refused.contains("has format 58, and 57 is the one"), "{refused}");
        assert!(mentions(&json!({}), &[]).is_err());
    }
}
