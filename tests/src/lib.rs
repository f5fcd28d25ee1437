//! Scenarios that cross the crates of the workspace, and its benchmarks. Nobody depends on this crate.
//!
//! What the README and the guides show is compiled and run here.

/// Each document as the tests of its own code.
macro_rules! documents {
    ($($name:ident => $path:literal;)+) => {
        $(
            #[doc = include_str!($path)]
            #[cfg(doctest)]
            struct $name;
        )+
    };
}

documents! {
    Readme => "../../README.md";
    WritingAGuard => "../../docs/guides/writing-a-guard.md";
    WritingAMiddleware => "../../docs/guides/writing-a-middleware.md";
    WritingAnEffect => "../../docs/guides/writing-an-effect.md";
    Testing => "../../docs/guides/testing.md";
}
