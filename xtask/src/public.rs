//! The foreign names in public signatures: each is on the list of permissions, and each permission is used.

mod allowed;
mod documents;
mod surface;
mod wrapper;

use serde_json::{Value, json};

use crate::finding::{Finding, Report};
use crate::stop::Stop;
use crate::workspace::Workspace;
use allowed::{ALLOWED, Allowed, allows};
use documents::Document;
use surface::Mentions;
pub(crate) use wrapper::stand_in;

const TYPE: &str = "foreign-type";
const STALE: &str = "stale-permission";

pub(crate) fn sabotages() -> Vec<&'static str> {
    vec![TYPE, STALE]
}

/// Judges the public surface of every library crate, all features on.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let mut documents = documents::of(workspace)?;
    let mut permissions = ALLOWED.to_vec();
    match sabotage {
        None => {}
        Some(TYPE) => documents.iter_mut().take(1).for_each(|document| plant(&mut document.json)),
        Some(STALE) => {
            let path = "sabotage::Unused";
            permissions.push(Allowed { within: "loom-*", path, because: "nothing" });
        }
        Some(other) => return Err(Stop::Usage(format!("public knows no sabotage `{other}`"))),
    }
    let ours: Vec<String> = documents::libraries(workspace).map(|(_, name)| name.to_owned()).collect();
    let read = documents.into_iter().map(|Document { package, json }| {
        let mentions = surface::mentions(&json, &ours)?;
        Ok((package, mentions))
    });
    Ok(check(&read.collect::<Result<Vec<_>, Stop>>()?, &permissions))
}

fn check(surfaces: &[(String, Mentions)], permissions: &[Allowed]) -> Report {
    let mut report = Report::default();
    for (package, mentions) in surfaces {
        for (path, items) in mentions {
            report.lines.push(format!("{package}: {path}, items: {}", items.len()));
            if permissions.iter().any(|allowed| allows(allowed, package, path)) {
                continue;
            }
            let message =
                format!("{path} stands in its signature; xtask/src/public/allowed.rs does not allow that");
            report.findings.extend(items.iter().map(|item| Finding::new(TYPE, item, message.clone())));
        }
    }
    for allowed in permissions {
        let used = surfaces
            .iter()
            .any(|(package, mentions)| mentions.keys().any(|path| allows(allowed, package, path)));
        if !used {
            let message = format!(
                "no signature of {} says {} any more, allowed because: {}",
                allowed.within, allowed.path, allowed.because
            );
            report.findings.push(Finding::new(STALE, "xtask/src/public/allowed.rs", message));
        }
    }
    report
}

/// Puts a function into the surface that hands out what no crate here may.
fn plant(document: &mut Value) {
    const FREE: u64 = u64::MAX;
    let root = document.get("root").and_then(Value::as_u64).unwrap_or_default();
    let returned = json!({ "resolved_path": { "path": "Foreign", "id": FREE, "args": null } });
    let function = json!({ "name": "planted", "inner": { "function": { "sig": { "output": returned } } } });
    let summary = json!({ "crate_id": 1, "path": ["sabotage", "Foreign"], "kind": "struct" });
    let items = format!("/index/{root}/inner/module/items");
    if let Some(items) = document.pointer_mut(&items).and_then(Value::as_array_mut) {
        items.push(json!(FREE - 1));
    }
    for (field, id, value) in [("index", FREE - 1, function), ("paths", FREE, summary)] {
        if let Some(all) = document.get_mut(field).and_then(Value::as_object_mut) {
            all.insert(id.to_string(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(package: &str, path: &str) -> (String, Mentions) {
        let items = ["a::Item".to_owned()].into();
        (package.to_owned(), Mentions::from([(path.to_owned(), items)]))
    }

    fn findings(surfaces: &[(String, Mentions)], permissions: &[Allowed]) -> Vec<String> {
        check(surfaces, permissions).findings.iter().map(ToString::to_string).collect()
    }

    const SERIALIZE: Allowed = Allowed { within: "loom-*", path: "serde::Serialize", because: "told" };
    const CLIENT: Allowed = Allowed { within: "loom-llm", path: "http::Client", because: "told" };

    #[test]
    fn a_permission_holds_for_its_crates_and_its_path_alone() {
        let serialize = surface("loom-llm", "serde::Serialize");
        assert_eq!(findings(&[serialize], &[SERIALIZE]), [""; 0]);
        let client = surface("loom-agent", "http::Client");
        let found = findings(&[client, surface("loom-llm", "http::Client")], &[CLIENT]);
        let allowed = "xtask/src/public/allowed.rs does not allow that";
        assert_eq!(
            found,
            [format!("a::Item: http::Client stands in its signature; {allowed} [foreign-type]")]
        );
        assert_eq!(findings(&[surface("loom-llm", "http::Clients")], &[CLIENT]).len(), 2);
    }

    #[test]
    fn a_permission_that_no_signature_needs_is_reported() {
        let found = findings(&[surface("loom-llm", "serde::Serialize")], &[SERIALIZE, CLIENT]);
        assert_eq!(
            found,
            [
                "xtask/src/public/allowed.rs: no signature of loom-llm says http::Client any more, allowed because: told [stale-permission]"
            ]
        );
    }

    #[test]
    fn each_permission_has_a_reason_and_none_is_a_catch_all_error() {
        for allowed in ALLOWED {
            assert!(!allowed.because.is_empty() && !allowed.path.starts_with("anyhow"), "{}", allowed.path);
        }
    }

    #[test]
    fn the_planted_item_stands_in_the_surface() {
        let mut document = json!({
            "format_version": 57, "root": 0, "paths": {},
            "index": { "0": { "name": "a", "inner": { "module": { "items": [] } } } },
        });
        assert!(surface::mentions(&document, &[]).unwrap().is_empty());
        plant(&mut document);
        let mentions = surface::mentions(&document, &[]).unwrap();
        assert_eq!(
            mentions,
            surface("", "sabotage::Foreign")
                .1
                .into_keys()
                .map(|path| (path, ["a::planted".to_owned()].into()))
                .collect()
        );
    }
}
