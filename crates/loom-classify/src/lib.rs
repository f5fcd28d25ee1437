//! Taint for text that a model, a tool or a sandbox produced, and the explicit, audited ways out of it.
//!
//! Every crate that hands such text on depends on this one; it depends on nothing of ours. It promises provenance,
//! not secrecy and not memory hygiene: a [`Tainted`] value says where it came from, joins its origins with those of
//! what it is joined with, and has no `Display`, `Deref` or `AsRef` by which it could slip into a prompt.
//!
//! - [`Tainted`], [`TaintedStr`]: untrusted content with its [`Origins`]. The one serde form is a marked wrapper.
//! - [`guard_request`]: refuses that wrapper anywhere inside a request (spec row D9).
//! - [`Fenced`]: the one declared place where a request may carry taint.
//! - [`endorse`](endorse::Endorser): the way to a trusted value, through a validator with a small output type.
//! - [`audit`]: hears of every unwrap, with its call site. `_tainted(` is what to search for in a code base.
//! - [`walk`](walk::walk): shows a visitor the text of any `Serialize` value without building anything.
//!
//! ```
//! use loom_classify::endorse::BoundedText;
//! use loom_classify::guard::{RequestLimits, guard_request};
//! use loom_classify::{TaintOrigin, Tainted};
//!
//! let answer = Tainted::new("water the plants\u{202e}".to_owned(), TaintOrigin::llm("plan"));
//! assert_eq!(format!("{answer:?}"), "Tainted(llm:plan)");
//!
//! // Inside a request it is refused, however deep it stands.
//! let request = serde_json::json!({"messages": [{"content": answer.clone()}]});
//! assert!(guard_request(&request, &RequestLimits::default()).is_err());
//!
//! // A validator with a small output type is the way out; this one refuses bidi overrides.
//! let step = BoundedText::chars(1, 60);
//! assert!(answer.endorse(&step).is_err());
//! let mended = answer.map(|text| text.replace('\u{202e}', ""));
//! assert_eq!(mended.endorse(&step)?.as_str(), "water the plants");
//! # Ok::<(), loom_classify::endorse::Rejected>(())
//! ```

pub mod audit;
pub mod endorse;
pub mod fenced;
pub mod guard;
mod marker;
pub mod origin;
pub mod tainted;
pub mod walk;

pub use fenced::Fenced;
pub use guard::guard_request;
pub use origin::{Origins, TaintOrigin};
pub use tainted::{Tainted, TaintedStr};

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
