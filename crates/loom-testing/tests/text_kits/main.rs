//! The kits of whoever sees text: careful subjects pass, and each kind of carelessness is reported under its check.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

#[cfg(feature = "allocations")]
mod allocations;
mod careful;
mod careless_forms;
mod careless_inspectors;
mod careless_validators;
mod subjects;
