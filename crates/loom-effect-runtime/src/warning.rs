//! What the runtime reports beside a call's result.

use std::fmt;

/// Something an operator should hear of. Given to the builder's `on_warn`; by default `tracing::warn!`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning<'a> {
    /// A sink panicked; the call went on. Once a call (spec row D6).
    #[non_exhaustive]
    SinkPanicked {
        /// The tool of the call.
        tool: &'a str,
    },
    /// An inspecting middleware covers nothing that the sinks want: they get nothing. Once a call (spec row D10).
    #[non_exhaustive]
    StreamingDisabled {
        /// The middleware that inspects output without a delta form.
        middleware: &'a str,
        /// The tool of the call.
        tool: &'a str,
    },
    /// An inspecting middleware covers some of the kinds that the sinks want and not others: those reach nobody.
    /// Once a call.
    #[non_exhaustive]
    KindsWithheld {
        /// The middleware that does not cover them.
        middleware: &'a str,
        /// The tool of the call.
        tool: &'a str,
    },
    /// A hook that cannot refuse panicked; the call's result stands.
    #[non_exhaustive]
    AfterPanicked {
        /// The middleware.
        middleware: &'a str,
        /// The tool of the call.
        tool: &'a str,
    },
    /// An `around` gave an error of its own for an attempt that had succeeded.
    #[non_exhaustive]
    SuccessDropped {
        /// The tool of the call.
        tool: &'a str,
    },
}

impl fmt::Display for Warning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SinkPanicked { tool } => write!(f, "a delta sink of `{tool}` panicked"),
            Self::StreamingDisabled { middleware, tool } => write!(
                f,
                "streaming disabled: inspects output without a delta form (middleware `{middleware}`, effect `{tool}`)"
            ),
            Self::KindsWithheld { middleware, tool } => write!(
                f,
                "some kinds of delta withheld: not covered by a delta form (middleware `{middleware}`, effect `{tool}`)"
            ),
            Self::AfterPanicked { middleware, tool } => {
                write!(f, "the `after` hook of `{middleware}` panicked on `{tool}`")
            }
            Self::SuccessDropped { tool } => {
                write!(f, "an `around` turned a success of `{tool}` into an error of its own")
            }
        }
    }
}
