//! What a kit found.

use std::fmt;

macro_rules! checks {
    ($($(#[$doc:meta])* $variant:ident => $text:literal;)+) => {
        /// One thing that a kit checks: what a careful crate keeps to.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Check {
            $($(#[$doc])* $variant,)+
        }

        impl Check {
            /// Every check there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The check's name in reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

checks! {
    /// However a text is cut into deltas, the verdict over it is one (spec row D17).
    OneVerdict => "one-verdict";
    /// A new attempt, and another lane, is judged by a guard that has seen nothing (spec rows D10, D11).
    FreshGuard => "fresh-guard";
    /// A refusal, a sever or a failure comes out as what it is (spec row D15).
    NothingSwallowed => "nothing-swallowed";
    /// A call that is dropped at any await leaves the next one whole.
    CancelSafe => "cancel-safe";
    /// No input makes it panic.
    NoPanic => "no-panic";
    /// Output and live text get one verdict and are rewritten alike (spec rows D10, D13, D21).
    FormsAgree => "forms-agree";
    /// What a sink saw folds to what was returned (spec row D11).
    LiveText => "live-text";
    /// Nobody is served what is another's (spec row T14).
    KeyComplete => "key-complete";
    /// It allocates no more than it claims to.
    Allocations => "allocations";
    /// A refusal is final (spec row T11).
    RefusalFinal => "refusal-final";
    /// No error quotes the text that it is about.
    NoEcho => "no-echo";
    /// It gives its thread back: no call of it blocks.
    NeverBlocks => "never-blocks";
    /// It comes to an end, in virtual time.
    Ends => "ends";
    /// An abort ends the call with the caller's own reason, and no task is left behind (spec row D8).
    AbortObeyed => "abort-obeyed";
    /// Asked the same, it answers the same.
    Repeatable => "repeatable";
    /// Its name or id is fit for reports, and stays.
    Named => "named";
    /// What goes into a journal comes back equal.
    RoundTrip => "round-trip";
    /// A success stays one.
    SuccessKept => "success-kept";
    /// The author's own texts are refused or rewritten: a text that is left alone shows nothing.
    Judged => "judged";
    /// What it cannot judge, and who comes by another way, gets no milder answer (spec row T6).
    FailClosed => "fail-closed";
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A check that did not hold, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    check: Check,
    told: String,
}

impl Fault {
    pub(crate) fn new(check: Check, told: impl Into<String>) -> Self {
        Self { check, told: told.into() }
    }

    /// The check that did not hold.
    #[must_use]
    pub fn check(&self) -> Check {
        self.check
    }

    /// What was seen. It may quote the kit's own sample texts.
    #[must_use]
    pub fn told(&self) -> &str {
        &self.told
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.told)
    }
}

/// What became of a kit's run: the checks that were made and the faults that were found.
#[must_use = "a report says nothing until it is asserted or read"]
#[derive(Clone, Debug)]
pub struct Report {
    subject: String,
    checks: Vec<Check>,
    faults: Vec<Fault>,
}

impl Report {
    pub(crate) fn new(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), checks: Vec::new(), faults: Vec::new() }
    }

    /// Notes that a check is made.
    pub(crate) fn checked(&mut self, check: Check) {
        if !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }

    /// Notes a check and, where it does not hold, the fault. Of one check only the first few faults are kept.
    pub(crate) fn must(&mut self, check: Check, holds: bool, told: impl FnOnce() -> String) {
        self.checked(check);
        if !holds {
            self.fault(check, told());
        }
    }

    pub(crate) fn fault(&mut self, check: Check, told: impl Into<String>) {
        const FAULTS_PER_CHECK: usize = 3;
        self.checked(check);
        if self.faults.iter().filter(|fault| fault.check == check).count() < FAULTS_PER_CHECK {
            self.faults.push(Fault::new(check, told));
        }
    }

    /// The checks that were made.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What was found.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Whether the check was found not to hold.
    #[must_use]
    pub fn found(&self, check: Check) -> bool {
        self.faults.iter().any(|fault| fault.check == check)
    }

    /// Passes where no fault was found.
    ///
    /// # Panics
    /// With the whole report, where there is a fault: a test that calls this fails.
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.faults.is_empty(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (made, found) = (self.checks.len(), self.faults.len());
        writeln!(f, "kit of {}: {made} checks made, {found} faults found", self.subject)?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "  {fault}"))
    }
}
