//! The edges between crates, checked from cargo metadata: what the table does not list fails.

mod manifest;
mod table;

use serde_json::{Value, json};

use crate::finding::{Finding, Report};
use crate::stop::Stop;
use crate::workspace::{Workspace, is_published, text};
use table::{Allowed, allowed};

/// The runtime is what every third party links; its direct dependencies stay few.
const RUNTIME_DEPENDENCIES_MAX: usize = 12;
const RUNTIME: &str = "loom-effect-runtime";
/// Only this crate may know the command-line parser.
const CLI: (&str, &str) = ("loom-cli", "clap");
/// Conformance kits: nothing that ships may bring them along.
const TESTING: &str = "loom-testing";
/// The name that another project's concurrency checker owns.
const TAKEN_NAME: &str = "loom";
/// The kits as more than a dependency of tests, or as one that the registry would have to know first.
const KITS: &str = "kits-shipped";

pub(crate) fn sabotages() -> Vec<&'static str> {
    vec!["edge", "command-line", "runtime-width", "taken-name", KITS, manifest::RULE]
}

/// Judges the workspace's manifests as cargo reads them.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let mut metadata = workspace.metadata.clone();
    match sabotage {
        None => {}
        Some("edge") => plant(&mut metadata, "loom-classify", &[RUNTIME]),
        Some("command-line") => plant(&mut metadata, "loom-llm", &["clap"]),
        Some("runtime-width") => plant(&mut metadata, RUNTIME, &["sabotage"; RUNTIME_DEPENDENCIES_MAX + 1]),
        Some("taken-name") => plant_package(&mut metadata, TAKEN_NAME),
        Some(KITS) => plant(&mut metadata, "loom-cli", &[TESTING]),
        Some(manifest::RULE) => manifest::plant(&mut metadata),
        Some(other) => return Err(Stop::Usage(format!("layers knows no sabotage `{other}`"))),
    }
    Ok(check(&metadata))
}

/// One declared dependency, as far as layering cares.
struct Edge<'a> {
    to: &'a str,
    dev: bool,
    /// Whether it asks for a version, which cargo then keeps in what it publishes.
    versioned: bool,
}

fn check(metadata: &Value) -> Report {
    let packages: Vec<&Value> =
        metadata.get("packages").and_then(Value::as_array).into_iter().flatten().collect();
    let ours: Vec<&str> = packages.iter().map(|package| text(package, "name")).collect();
    let mut report = Report::default();
    for package in packages {
        let name = text(package, "name");
        let edges = edges(package);
        let inner: Vec<&Edge<'_>> = edges.iter().filter(|edge| ours.contains(&edge.to)).collect();
        let mut direct: Vec<&str> = inner.iter().filter(|edge| !edge.dev).map(|edge| edge.to).collect();
        direct.sort_unstable();
        report
            .lines
            .push(format!("{name} → {}", if direct.is_empty() { "–".into() } else { direct.join(", ") }));
        report.findings.extend(check_edges(name, &inner));
        report.findings.extend(check_outside(name, &edges));
        report.findings.extend(check_kits(package, &edges));
        report.findings.extend(manifest::check(package));
    }
    report
}

fn edges(package: &Value) -> Vec<Edge<'_>> {
    let declared = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    let read = |edge| Edge {
        to: text(edge, "name"),
        dev: text(edge, "kind") == "dev",
        versioned: !matches!(text(edge, "req"), "" | "*"),
    };
    declared.map(read).collect()
}

fn check_edges(name: &str, inner: &[&Edge<'_>]) -> Vec<Finding> {
    let Some(allowed) = allowed(name) else {
        return vec![Finding::new("edge", name, "no row in the table of layers (xtask/src/layers/table.rs)")];
    };
    let mut findings = Vec::new();
    for edge in inner {
        let fits = match allowed {
            Allowed::Anything => true,
            Allowed::Only(list) => list.contains(&edge.to) || (edge.dev && edge.to == TESTING),
        };
        if !fits {
            findings.push(Finding::new("edge", name, format!("may not depend on {}", edge.to)));
        }
    }
    findings
}

/// No crate at all may depend on the kits but for its tests. Published crates name no version of them there either: the
/// kits are published after what they test, and cargo leaves a dev-dependency without a version out.
fn check_kits(package: &Value, edges: &[Edge<'_>]) -> Vec<Finding> {
    let name = text(package, "name");
    let mut findings = Vec::new();
    for edge in edges.iter().filter(|edge| edge.to == TESTING) {
        if !edge.dev {
            findings.push(Finding::new(KITS, name, format!("may have {TESTING} as a dev-dependency only")));
        } else if edge.versioned && is_published(package) {
            let message = format!("its dev-dependency {TESTING} is to have a path and no version");
            findings.push(Finding::new(KITS, name, message));
        }
    }
    findings
}

fn check_outside(name: &str, edges: &[Edge<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if name == TAKEN_NAME {
        findings.push(Finding::new("taken-name", name, "the bare name belongs to another project"));
    }
    let (cli, parser) = CLI;
    if name != cli && edges.iter().any(|edge| edge.to == parser) {
        findings.push(Finding::new("command-line", name, format!("only {cli} may depend on {parser}")));
    }
    let direct = edges.iter().filter(|edge| !edge.dev).count();
    if name == RUNTIME && direct > RUNTIME_DEPENDENCIES_MAX {
        let message = format!("{direct} direct dependencies, at most {RUNTIME_DEPENDENCIES_MAX} expected");
        findings.push(Finding::new("runtime-width", name, message));
    }
    findings
}

fn plant(metadata: &mut Value, package: &str, dependencies: &[&str]) {
    let packages = metadata.get_mut("packages").and_then(Value::as_array_mut);
    let found = packages.into_iter().flatten().find(|found| text(found, "name") == package);
    let declared = found.and_then(|found| found.get_mut("dependencies")).and_then(Value::as_array_mut);
    if let Some(declared) = declared {
        declared.extend(dependencies.iter().map(|name| json!({ "name": name, "kind": null })));
    }
}

fn plant_package(metadata: &mut Value, name: &str) {
    if let Some(packages) = metadata.get_mut("packages").and_then(Value::as_array_mut) {
        packages.push(json!({ "name": name, "dependencies": [] }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(packages: Value) -> Vec<String> {
        check(&json!({ "packages": packages })).findings.iter().map(ToString::to_string).collect()
    }

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let edges: Vec<Value> =
            dependencies.iter().map(|(to, kind)| json!({ "name": to, "kind": kind })).collect();
        json!({ "name": name, "dependencies": edges })
    }

    #[test]
    fn a_listed_edge_passes_and_an_unlisted_one_is_reported_even_for_tests() {
        let classify = package("loom-classify", &[]);
        let runtime = package(RUNTIME, &[("loom-classify", None), ("serde", None)]);
        assert_eq!(findings(json!([classify, runtime])), [] as [&str; 0]);
        let upward = package("loom-classify", &[(RUNTIME, Some("dev"))]);
        let found = findings(json!([upward, package(RUNTIME, &[])]));
        assert_eq!(found, ["loom-classify: may not depend on loom-effect-runtime [edge]"]);
    }

    #[test]
    fn a_crate_without_a_row_is_reported() {
        let found = findings(json!([package("loom-surprise", &[])]));
        assert_eq!(
            found,
            ["loom-surprise: no row in the table of layers (xtask/src/layers/table.rs) [edge]"]
        );
    }

    #[test]
    fn every_store_may_know_the_workflow_and_only_tests_the_kits() {
        let workflow = package("loom-workflow", &[("loom-testing", Some("dev"))]);
        let kit = package("loom-testing", &[]);
        let store = package("loom-store-anything", &[("loom-workflow", None), ("loom-testing", Some("dev"))]);
        assert_eq!(findings(json!([workflow, kit, store])), [] as [&str; 0]);
    }

    #[test]
    fn the_kits_are_a_dependency_of_tests_alone_whoever_asks() {
        for name in ["loom-cli", "loom-middleware", "loom-scenarios", "loom-store-anything", "xtask"] {
            for kind in [None, Some("build")] {
                let found = findings(json!([package(name, &[(TESTING, kind)])]));
                let told = format!("{name}: may have {TESTING} as a dev-dependency only [{KITS}]");
                assert_eq!(found, [told], "{kind:?}");
            }
            assert_eq!(findings(json!([package(name, &[(TESTING, Some("dev"))])])), [] as [&str; 0]);
        }
    }

    #[test]
    fn a_published_crate_names_no_version_of_the_kits() {
        let edge = |req: &str, manifest: &str| {
            let kits = json!({ "name": TESTING, "kind": "dev", "req": req });
            let package = json!({ "name": "loom-x", "manifest_path": manifest, "dependencies": [kits] });
            check_kits(&package, &edges(&package)).len()
        };
        assert_eq!(edge("*", "/a/crates/loom-x/Cargo.toml"), 0);
        assert_eq!(edge("^0.1.0", "/a/crates/loom-x/Cargo.toml"), 1);
        assert_eq!(edge("^0.1.0", "/a/tests/Cargo.toml"), 0);
    }

    #[test]
    fn the_parser_the_width_and_the_bare_name_are_watched() {
        assert_eq!(findings(json!([package("loom-cli", &[("clap", None)])])), [] as [&str; 0]);
        assert_eq!(findings(json!([package("loom-llm", &[("clap", Some("build"))])])).len(), 1);
        let wide: Vec<(&str, Option<&str>)> = vec![("d", None); RUNTIME_DEPENDENCIES_MAX];
        assert_eq!(findings(json!([package(RUNTIME, &wide)])), [] as [&str; 0]);
        let wider: Vec<(&str, Option<&str>)> = vec![("d", Some("build")); RUNTIME_DEPENDENCIES_MAX + 1];
        assert_eq!(findings(json!([package(RUNTIME, &wider)])).len(), 1);
        assert!(findings(json!([package("loom", &[])])).iter().any(|found| found.contains("taken-name")));
    }
}
