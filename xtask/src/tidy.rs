//! House rules that no compiler checks, each with a fault that proves it can fail.

mod documents;
mod place;
mod platform;
mod readmes;
mod shape;
mod words;

use crate::finding::Report;
use crate::stop::Stop;
use crate::workspace::{Tree, Workspace};

/// One rule: its name, what it reads, and how to break it.
struct Rule {
    name: &'static str,
    check: fn(&Tree, &mut Report),
    /// Puts an offending file into the tree.
    plant: fn(&mut Tree),
}

const RULES: [Rule; 13] = [
    Rule { name: "size", check: shape::size, plant: shape::plant_long_file },
    Rule { name: "spread", check: shape::spread, plant: shape::plant_many_long_files },
    Rule { name: "module-doc", check: shape::module_doc, plant: shape::plant_undocumented },
    Rule { name: "bare-allow", check: words::bare_allow, plant: words::plant_bare_allow },
    Rule { name: "leftover", check: words::leftovers, plant: words::plant_leftover },
    Rule { name: "panic", check: words::panics, plant: words::plant_panic },
    Rule { name: "machine-path", check: words::machine_paths, plant: words::plant_machine_path },
    Rule { name: "top-level", check: documents::top_level, plant: documents::plant_top_level },
    Rule { name: "adr", check: documents::decisions, plant: documents::plant_unlisted_decision },
    Rule { name: "error-page", check: documents::error_pages, plant: documents::plant_orphan_page },
    Rule { name: "readme", check: readmes::check, plant: readmes::plant },
    Rule { name: "platform", check: platform::check, plant: platform::plant },
    Rule { name: "case", check: documents::cases, plant: documents::plant_unknown_case },
];

pub(crate) fn sabotages() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.name).collect()
}

/// Judges the committed text, with one offending file planted in memory if a rule is named.
pub(crate) fn judge(workspace: &Workspace, sabotage: Option<&str>) -> Result<Report, Stop> {
    let mut tree = workspace.tree()?;
    if let Some(name) = sabotage {
        let rule = RULES.iter().find(|rule| rule.name == name);
        let rule = rule.ok_or_else(|| Stop::Usage(format!("tidy knows no rule `{name}`")))?;
        (rule.plant)(&mut tree);
    }
    Ok(check(&tree))
}

fn check(tree: &Tree) -> Report {
    let mut report = Report::default();
    for rule in &RULES {
        (rule.check)(tree, &mut report);
    }
    report
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_rule_reports_what_is_planted_for_it_and_nothing_else_of_its_own_in_an_empty_tree() {
        for rule in &RULES {
            let clean = {
                let mut report = Report::default();
                (rule.check)(&Tree::new(BTreeMap::new()), &mut report);
                report.findings
            };
            let mut tree = Tree::new(BTreeMap::new());
            (rule.plant)(&mut tree);
            let planted = check(&tree).findings;
            let new = planted.iter().any(|finding| finding.rule == rule.name && !clean.contains(finding));
            assert!(new, "{}: {planted:?}", rule.name);
        }
    }

    #[test]
    fn the_workspace_is_tidy() {
        let findings = judge(&Workspace::find().unwrap(), None).unwrap().findings;
        let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    }
}
