//! What a registry shows of a crate: a manifest that leaves one of these out would be published without it.

use serde_json::{Value, json};

use crate::finding::Finding;
use crate::workspace::{is_published, text};

pub(super) const RULE: &str = "manifest";

/// The registry's own bounds on keywords and categories.
const KEYWORDS_MAX: usize = 5;
const KEYWORD_CHARS_MAX: usize = 20;
const CATEGORIES_MAX: usize = 5;
/// The registry's categories that fit a crate of ours. It drops one that it does not know without a word.
const CATEGORIES: [&str; 15] = [
    "api-bindings",
    "asynchronous",
    "authentication",
    "caching",
    "command-line-utilities",
    "concurrency",
    "data-structures",
    "database",
    "database-implementations",
    "development-tools",
    "development-tools::testing",
    "network-programming",
    "rust-patterns",
    "text-processing",
    "web-programming::http-client",
];
/// Where the documentation of libraries is built.
const DOCS: &str = "https://docs.rs/";

/// What the manifest of a crate that is published lacks.
pub(super) fn check(package: &Value) -> Vec<Finding> {
    if !is_published(package) {
        return Vec::new();
    }
    let name = text(package, "name");
    let missing = ["description", "license", "readme", "repository"]
        .into_iter()
        .filter(|field| text(package, field).is_empty())
        .map(|field| format!("its manifest has no `{field}`"));
    let wrong = [documentation(package), keywords(package), categories(package), docs_build(package)];
    missing.chain(wrong.into_iter().flatten()).map(|message| Finding::new(RULE, name, message)).collect()
}

/// A library's documentation is what docs.rs builds of it. A command has none there, and the page under its name may
/// be another crate's.
fn documentation(package: &Value) -> Option<String> {
    let (name, stated) = (text(package, "name"), text(package, "documentation"));
    if !is_library(package) {
        let elsewhere = stated.starts_with("https://") && !stated.starts_with(DOCS);
        return (!elsewhere).then(|| "its `documentation` is to be a page that is not on docs.rs".to_owned());
    }
    let expected = format!("{DOCS}{name}");
    (stated != expected).then(|| format!("its `documentation` is to be {expected}"))
}

fn keywords(package: &Value) -> Option<String> {
    let keywords = list(package, "keywords");
    if keywords.is_empty() || keywords.len() > KEYWORDS_MAX {
        return Some(format!("it has {} `keywords`, 1 to {KEYWORDS_MAX} expected", keywords.len()));
    }
    let odd = keywords.into_iter().find(|keyword| !is_keyword(keyword))?;
    Some(format!("`{odd}` is no keyword that the registry takes"))
}

fn is_keyword(word: &str) -> bool {
    word.len() <= KEYWORD_CHARS_MAX
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'))
}

fn categories(package: &Value) -> Option<String> {
    let categories = list(package, "categories");
    if categories.is_empty() || categories.len() > CATEGORIES_MAX {
        return Some(format!("it has {} `categories`, 1 to {CATEGORIES_MAX} expected", categories.len()));
    }
    let odd = categories.into_iter().find(|category| !CATEGORIES.contains(category))?;
    Some(format!("`{odd}` is no category of the list in xtask/src/layers/manifest.rs"))
}

fn docs_build(package: &Value) -> Option<String> {
    let all = package.pointer("/metadata/docs/rs/all-features") == Some(&json!(true));
    (!all).then(|| "its `package.metadata.docs.rs` lacks `all-features = true`".to_owned())
}

fn is_library(package: &Value) -> bool {
    let targets = package.get("targets").and_then(Value::as_array).into_iter().flatten();
    targets.into_iter().any(|target| list(target, "kind").contains(&"lib"))
}

fn list<'a>(value: &'a Value, field: &str) -> Vec<&'a str> {
    value.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Takes the keywords out of the first crate that is published.
pub(super) fn plant(metadata: &mut Value) {
    let packages = metadata.get_mut("packages").and_then(Value::as_array_mut).into_iter().flatten();
    let published = packages.into_iter().find(|package| is_published(package));
    if let Some(keywords) = published.and_then(|package| package.get_mut("keywords")) {
        *keywords = json!([]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        json!({
            "name": "loom-x", "manifest_path": "/a/crates/loom-x/Cargo.toml", "license": "Apache-2.0",
            "description": "what it is for", "readme": "README.md", "repository": "https://example.org",
            "documentation": "https://docs.rs/loom-x", "keywords": ["agent"], "categories": ["caching"],
            "metadata": { "docs": { "rs": { "all-features": true } } }, "targets": [{ "kind": ["lib"] }],
        })
    }

    fn found(field: &str, value: Value) -> usize {
        let mut package = whole();
        package[field] = value;
        check(&package).len()
    }

    #[test]
    fn a_published_crate_that_lacks_any_of_the_fields_is_reported_once_for_it() {
        assert_eq!(check(&whole()), []);
        for field in ["description", "license", "readme", "repository", "documentation", "metadata"] {
            assert_eq!(found(field, Value::Null), 1, "{field}");
        }
        assert_eq!(found("description", json!("")), 1);
        assert_eq!(found("metadata", json!({ "docs": { "rs": { "all-features": false } } })), 1);
    }

    #[test]
    fn keywords_and_categories_are_what_the_registry_takes_and_no_more_of_them() {
        for keywords in
            [json!([]), json!(["a", "b", "c", "d", "e", "f"]), json!(["two words"]), json!(["-a"])]
        {
            assert_eq!(found("keywords", keywords), 1);
        }
        assert_eq!(found("keywords", json!(["a".repeat(KEYWORD_CHARS_MAX + 1)])), 1);
        assert_eq!(found("keywords", json!(["a".repeat(KEYWORD_CHARS_MAX), "b+c"])), 0);
        for categories in [json!([]), json!(["agents"]), json!(["caching", "a", "b", "c", "d", "e"])] {
            assert_eq!(found("categories", categories), 1);
        }
    }

    #[test]
    fn a_library_is_documented_on_docs_rs_and_a_command_elsewhere() {
        assert_eq!(found("documentation", json!("https://docs.rs/loom-y")), 1);
        let command = |stated: &str| {
            let mut package = whole();
            package["targets"] = json!([{ "kind": ["bin"] }]);
            package["documentation"] = json!(stated);
            check(&package).len()
        };
        assert_eq!(command("https://example.org/cli.md"), 0);
        assert_eq!(command("https://docs.rs/loom-x"), 1);
    }

    #[test]
    fn what_is_not_published_may_lack_them() {
        assert_eq!(check(&json!({ "name": "xtask", "manifest_path": "/a/xtask/Cargo.toml" })), []);
    }

    #[test]
    fn the_planted_fault_is_a_crate_without_keywords() {
        let mut metadata = json!({ "packages": [{ "name": "xtask" }, whole()] });
        plant(&mut metadata);
        assert_eq!(check(&metadata["packages"][1]).len(), 1);
    }
}
