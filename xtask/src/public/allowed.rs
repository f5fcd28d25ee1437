//! The foreign types and traits that may stand in public signatures, each with the reason.

/// A permission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// The crate whose signatures may say it; `*` at the end stands for any rest.
    pub(super) within: &'static str,
    /// The path by which rustdoc knows the definition, which may lie deeper than the one that is imported.
    pub(super) path: &'static str,
    /// Why it may be part of the contract.
    pub(super) because: &'static str,
}

/// What any crate may say is the ecosystem's vocabulary, which a stranger's crate has of its own anyway; what one crate
/// may say stands there under its name.
pub(super) const ALLOWED: &[Allowed] = &[
    Allowed {
        within: "loom-*",
        path: "serde_core::ser::Serialize",
        because: "what crosses the governed path, the journal or a wire is the caller's own type, written by serde",
    },
    Allowed {
        within: "loom-*",
        path: "serde_core::de::Deserialize",
        because: "the other half: what is read back is the type that was written",
    },
    Allowed {
        within: "loom-*",
        path: "serde_core::de::DeserializeOwned",
        because: "the bound on data that outlives the text it was read from",
    },
    Allowed {
        within: "loom-*",
        path: "serde_json::value::Value",
        because: "schemas, arguments, payloads and the view of hooks are JSON whose type is known to the caller alone",
    },
    Allowed {
        within: "loom-*",
        path: "futures_core::future::BoxFuture",
        because: "an alias of standard types, for what object-safe traits return; naming it binds nobody to a runtime",
    },
    Allowed {
        within: "loom-*",
        path: "futures_core::stream::Stream",
        because: "the standard library has no stable stream; this trait is the one that all runtimes share",
    },
    Allowed {
        within: "loom-classify",
        path: "serde_core::ser::Error",
        because: "the walk is a serializer, and a serializer's error has to be one",
    },
    Allowed {
        within: "loom-effect-runtime",
        path: "pin_project::__private::PinnedFieldsOf",
        because: "a bound that the generated `Unpin` carries; nobody can write it, so nobody depends on it",
    },
    Allowed {
        within: "loom-workflow",
        path: "pin_project::__private::PinnedFieldsOf",
        because: "a bound that the generated `Unpin` carries; nobody can write it, so nobody depends on it",
    },
    Allowed {
        within: "loom-llm",
        path: "serde_json::map::Map",
        because: "a request's `extra` is a JSON object, in the order in which it goes out; a `Value` would allow a list",
    },
];

/// Whether a permission covers a path in a crate's signatures.
pub(super) fn allows(allowed: &Allowed, package: &str, path: &str) -> bool {
    let within = match allowed.within.strip_suffix('*') {
        Some(start) => package.starts_with(start),
        None => package == allowed.within,
    };
    within && path == allowed.path
}
