//! Each crate built alone, bare and with each of its features by itself.
//!
//! Built with the others, a crate gets the features that they ask of a shared dependency; alone it shows what its
//! own manifest forgot.

use serde_json::Value;

use super::{Job, Verdict, cargo};
use crate::stop::Stop;
use crate::workspace::text;

pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    let mut verdict = Verdict { ok: true, ..Verdict::default() };
    for build in job.workspace.packages().flat_map(builds) {
        let mut cargo = cargo::command(job);
        cargo.args(["check", "--quiet", "--package", &build.package]);
        match &build.features {
            Features::Default => {}
            Features::None => drop(cargo.arg("--no-default-features")),
            Features::One(feature) => drop(cargo.args(["--no-default-features", "--features", feature])),
        }
        let one = cargo::run(job, &mut cargo)?;
        if !one.ok {
            verdict.ok = false;
            verdict.told.push_str(&format!("{} with {:?}:\n{}\n", build.package, build.features, one.told));
        }
    }
    Ok(verdict)
}

/// One crate with one choice of features.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Build {
    package: String,
    features: Features,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Features {
    Default,
    None,
    One(String),
}

fn builds(package: &Value) -> Vec<Build> {
    let name = text(package, "name");
    let features = package.get("features").and_then(Value::as_object);
    let names: Vec<&String> = features.into_iter().flat_map(|features| features.keys()).collect();
    let build = |features| Build { package: name.to_owned(), features };
    let mut all = vec![build(Features::None)];
    // Without a `default` the bare build is the default build.
    if names.iter().any(|feature| *feature == "default") {
        all.push(build(Features::Default));
    }
    let alone = names.iter().filter(|feature| **feature != "default");
    all.extend(alone.map(|feature| build(Features::One((*feature).clone()))));
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_feature_is_built_alone_and_the_bare_crate_always() {
        let bare = builds(&json!({ "name": "a", "features": {} }));
        assert_eq!(bare, [Build { package: "a".into(), features: Features::None }]);
        let some = builds(&json!({ "name": "a", "features": { "default": ["x"], "x": [], "y": [] } }));
        let features: Vec<Features> = some.into_iter().map(|build| build.features).collect();
        assert_eq!(
            features,
            [Features::None, Features::Default, Features::One("x".into()), Features::One("y".into())]
        );
    }
}
