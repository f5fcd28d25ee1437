//! Careless output middleware is reported.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loom_effect_runtime::{
    Call, DeltaForm, Output, OutputMiddleware, Refusal, Step, Verdict, Violation, Waiting, inspect,
};
use loom_testing::kit::{self, Check};

use crate::subjects::{Push, Redactor, TEXT, WORD, form, found, reports, rewrite};

/// D11, D13: the inspection rewrites, the form does nothing.
#[test]
fn a_rewriting_inspector_with_a_form_that_does_nothing_is_reported() {
    let no_op = || {
        let form = form(|| Box::new(|_, _| Verdict::Pass));
        inspect("no-op", form, |_, output| rewrite(output, &|text| text.replace(WORD, "*")))
    };
    reports(&kit::output_middleware(no_op).texts([TEXT]).report(), &[Check::FormsAgree, Check::LiveText]);
}

/// D10: the inspection refuses what the form has delivered.
#[test]
fn a_refusing_inspector_with_a_form_that_does_nothing_is_reported() {
    let no_op = || {
        let form = form(|| Box::new(|_, _| Verdict::Pass));
        inspect("no-op", form, |_, output| match output.json() {
            Ok(json) if !json.to_string().contains(WORD) => Step::Go,
            _ => Step::Deny(Refusal::safety("word")),
        })
    };
    reports(&kit::output_middleware(no_op).texts([TEXT]).report(), &[Check::FormsAgree]);
}

/// D10: the form severs what the inspection lets be.
#[test]
fn a_form_that_refuses_more_than_its_inspection_is_reported() {
    let one_sided = || {
        let form = form(|| {
            let mut so_far = String::new();
            Box::new(move |text, _| {
                so_far.push_str(text);
                found("word", &so_far).map_or(Verdict::Pass, Verdict::Sever)
            })
        });
        inspect("one-sided", form, |_, _| Step::Go)
    };
    reports(&kit::output_middleware(one_sided).texts([TEXT]).report(), &[Check::FormsAgree]);
}

/// D21: texts are redacted where they are the whole output, and not where they stand in one.
#[test]
fn an_inspector_that_redacts_only_bare_texts_is_reported() {
    struct BareOnly(Redactor);
    impl OutputMiddleware for BareOnly {
        fn name(&self) -> &str {
            "bare-only"
        }

        fn inspect(&self, _call: &Call, output: &mut Output) -> Step {
            if let Some(text) = output.get_mut::<String>() {
                *text = text.replace(WORD, "*");
            }
            Step::Go
        }

        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            Some(&self.0)
        }
    }
    let bare_only = || BareOnly(Redactor::new("*"));
    reports(&kit::output_middleware(bare_only).texts([TEXT]).report(), &[Check::FormsAgree, Check::LiveText]);
}

/// D11: the form delivers each piece twice.
#[test]
fn an_inspector_whose_form_delivers_twice_is_reported() {
    let doubles = || {
        let form = form(|| {
            Box::new(|text, out| {
                out.pass(text);
                Verdict::Pass
            })
        });
        inspect("doubles", form, |_, _| Step::Go)
    };
    let report = kit::output_middleware(doubles).report();
    let found = [Check::LiveText, Check::FormsAgree, Check::OneVerdict, Check::NothingSwallowed];
    reports(&report, &found);
}

/// D19: what was held at the end is lost.
#[test]
fn a_redactor_that_drops_its_tail_is_reported() {
    let drops = || Redactor { flushes: false, ..Redactor::new("*") };
    let report = kit::output_middleware(drops).texts(["a swordfish and a sword"]).report();
    reports(&report, &[Check::LiveText, Check::FormsAgree]);
}

/// D21: the live mask is another than the output's.
#[test]
fn two_masks_are_reported() {
    struct TwoMasks(Redactor, Redactor);
    impl OutputMiddleware for TwoMasks {
        fn name(&self) -> &str {
            "two-masks"
        }

        fn inspect(&self, call: &Call, output: &mut Output) -> Step {
            self.0.inspect(call, output)
        }

        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            Some(&self.1)
        }
    }
    let two_masks = || TwoMasks(Redactor::new("*"), Redactor::new("+"));
    reports(&kit::output_middleware(two_masks).texts([TEXT]).report(), &[Check::LiveText, Check::FormsAgree]);
}

/// Nothing can be compared where everything is refused.
#[test]
fn an_inspector_that_refuses_everything_is_reported() {
    let wall = || inspect("wall", None, |_, _| Step::Deny(Refusal::safety("wall")));
    reports(&kit::output_middleware(wall).texts([TEXT]).report(), &[Check::FormsAgree]);
}

/// Its verdict depends on how often it was asked.
#[test]
fn an_inspector_that_counts_is_reported() {
    let counts = || {
        let asked = AtomicUsize::new(0);
        inspect("counts", None, move |_, output| {
            let refused = output.json().is_ok_and(|json| json.to_string().contains(WORD));
            match refused && asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                true => Step::Deny(Refusal::safety("counts.odd")),
                false => Step::Go,
            }
        })
    };
    let report = kit::output_middleware(counts).texts([TEXT]).report();
    assert!(report.found(Check::Repeatable), "{report}");
}

/// It cuts an output where no character ends.
#[test]
fn an_inspector_that_panics_on_text_that_is_not_ascii_is_reported() {
    let cuts = || {
        inspect("cuts", None, |_, output| {
            let _ = output.get::<String>().map(|text| text[..text.len().min(1)].len());
            Step::Go
        })
    };
    reports(&kit::output_middleware(cuts).report(), &[Check::NoPanic]);
}

/// It panics when it is registered.
#[test]
fn an_inspector_whose_form_panics_when_asked_for_is_reported() {
    struct Panics;
    impl OutputMiddleware for Panics {
        fn name(&self) -> &str {
            "panics"
        }

        fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
            Step::Go
        }

        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            panic!("no form")
        }
    }
    reports(&kit::output_middleware(|| Panics).report(), &[Check::NoPanic]);
}

/// Its refusal quotes the output.
#[test]
fn an_inspector_that_quotes_the_output_is_reported() {
    let quotes = || {
        inspect("quotes", None, |_, output| match output.json() {
            Ok(json) if json.to_string().contains(WORD) => {
                Step::Deny(Refusal::safety(format!("quotes.{json}")))
            }
            _ => Step::Go,
        })
    };
    reports(&kit::output_middleware(quotes).texts([TEXT]).report(), &[Check::NoEcho]);
}

/// An inspector that waits.
struct Waits {
    name: &'static str,
    deadline: Duration,
    wait: fn() -> Waiting<'static>,
}

impl OutputMiddleware for Waits {
    fn name(&self) -> &str {
        self.name
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Wait
    }

    fn inspect_wait<'a>(&'a self, _call: &'a Call, _output: &'a mut Output) -> Waiting<'a> {
        (self.wait)()
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        None
    }

    fn deadline(&self) -> Duration {
        self.deadline
    }
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// It waits for ever, under a deadline that is no better.
#[test]
fn an_inspector_that_waits_for_ever_is_reported() {
    let waits = || Waits { name: "waits", deadline: YEAR, wait: || Box::pin(std::future::pending()) };
    reports(&kit::output_middleware(waits).report(), &[Check::Ends]);
}

/// It waits for ever, and its deadline refuses the call.
#[test]
fn an_inspector_whose_wait_runs_into_its_deadline_is_reported() {
    let waits = || Waits {
        name: "waits",
        deadline: Duration::from_secs(5),
        wait: || Box::pin(std::future::pending()),
    };
    reports(&kit::output_middleware(waits).report(), &[Check::Ends]);
}

/// It blocks in its waiting step.
#[test]
fn an_inspector_that_blocks_where_it_should_wait_is_reported() {
    let blocks = || Waits {
        name: "blocks",
        deadline: YEAR,
        wait: || {
            Box::pin(async {
                std::thread::sleep(Duration::from_millis(250));
                Ok(())
            })
        },
    };
    reports(&kit::output_middleware(blocks).report(), &[Check::NeverBlocks]);
}

/// One that waits a while, on the clock, is as good as any.
#[test]
fn an_inspector_that_waits_a_while_passes() {
    let waits = || Waits {
        name: "waits",
        deadline: YEAR,
        wait: || {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                Ok(())
            })
        },
    };
    kit::output_middleware(waits).check();
}

/// No report can tell it apart.
#[test]
fn an_inspector_without_a_fit_name_is_reported() {
    let unnamed = || Waits { name: "", deadline: YEAR, wait: || Box::pin(async { Ok(()) }) };
    reports(&kit::output_middleware(unnamed).report(), &[Check::Named]);
    let lines = move || Waits { name: "two\nlines", ..unnamed() };
    reports(&kit::output_middleware(lines).report(), &[Check::Named]);
}

/// A form whose guard severs whatever comes is refused by its own inspection's silence.
#[test]
fn a_form_that_severs_plain_prose_is_reported() {
    let wall = || {
        let form = form(|| -> Push { Box::new(|_, _| Verdict::Sever(Violation::safety("wall"))) });
        inspect("wall", form, |_, _| Step::Go)
    };
    let report = kit::output_middleware(wall).report();
    reports(&report, &[Check::FormsAgree]);
}
