//! The table of layers: which crate of the workspace may depend on which.

/// What a crate may depend on within the workspace.
#[derive(Clone, Copy, Debug)]
pub(super) enum Allowed {
    Anything,
    Only(&'static [&'static str]),
}

const SPI: &[&str] = &["loom-effect-runtime", "loom-classify"];

/// The row of a crate; a crate without one may not exist.
pub(super) fn allowed(name: &str) -> Option<Allowed> {
    let only: &'static [&'static str] = match name {
        "loom-classify" | "xtask" => &[],
        "loom-effect-runtime" => &["loom-classify"],
        "loom-safety" | "loom-workflow" | "loom-llm" | "loom-middleware" | "loom-authz" | "loom-mcp"
        | "loom-sandbox" | "loom-a2a" => SPI,
        "loom-agent" => &["loom-workflow", "loom-llm", "loom-effect-runtime", "loom-classify"],
        "loom-session" => &["loom-workflow", "loom-llm", "loom-effect-runtime", "loom-classify"],
        "loom-interpreter" => &["loom-workflow", "loom-effect-runtime", "loom-classify"],
        "loom-acp" => &["loom-session", "loom-workflow", "loom-llm", "loom-effect-runtime", "loom-classify"],
        "loom-testing" => {
            &["loom-workflow", "loom-llm", "loom-safety", "loom-effect-runtime", "loom-classify"]
        }
        "loom-cli" | "loom-scenarios" => return Some(Allowed::Anything),
        _ if name.starts_with("loom-store-") => &["loom-workflow"],
        _ if name.starts_with("loom-example-") => return Some(Allowed::Anything),
        _ => return None,
    };
    Some(Allowed::Only(only))
}
