//! References in the place of values, and who may have the values back.

mod memory;
mod mint;
mod reference;
mod reveal;
mod vault;

pub use memory::MemoryVault;
pub(super) use mint::Mint;
pub use reference::SecretRef;
pub use reveal::Revealing;
pub use vault::{Secret, SecretVault, VaultError};
