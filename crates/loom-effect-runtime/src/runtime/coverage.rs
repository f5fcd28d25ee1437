//! Which kinds of live text every inspector can judge: folded once, at registration.

use crate::caught::{Panicked, caught};
use crate::delta::{DeltaKind, DeltaKinds};
use crate::hook::OutputMiddleware;

/// The kinds that sinks may see.
pub(crate) struct Coverage {
    kinds: DeltaKinds,
    forms: Vec<(String, DeltaKinds)>,
}

impl Coverage {
    /// Asks every inspector for its form.
    ///
    /// # Errors
    /// When one panics.
    pub(super) fn of(inspectors: &[Box<dyn OutputMiddleware>], names: &[String]) -> Result<Self, Panicked> {
        let asked = inspectors.iter().zip(names).map(|(inspector, name)| {
            let kinds = caught(|| inspector.delta_form().map(|form| form.kinds()))?;
            Ok((name.clone(), kinds.unwrap_or(DeltaKinds::NONE)))
        });
        let forms = asked.collect::<Result<Vec<_>, _>>()?;
        let kinds = forms.iter().fold(DeltaKinds::ALL, |all, (_, kinds)| all & *kinds);
        Ok(Self { kinds, forms })
    }

    #[inline]
    pub(crate) fn kinds(&self) -> DeltaKinds {
        self.kinds
    }

    /// Whether the form that inspector `at` registered covers `kind`.
    pub(crate) fn covers(&self, at: usize, kind: DeltaKind) -> bool {
        self.forms.get(at).is_some_and(|(_, kinds)| kinds.has(kind))
    }

    /// The first inspector that blinds some of `wanted`.
    pub(crate) fn blinded(&self, wanted: DeltaKinds) -> Option<&str> {
        self.forms.iter().find(|(_, kinds)| wanted & *kinds != wanted).map(|(name, _)| name.as_str())
    }
}
