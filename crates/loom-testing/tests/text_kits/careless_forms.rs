//! Careless delta forms are reported.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation};
use loom_testing::kit::{self, Check, Report};

use crate::subjects::{Form, Push, Redactor, TEXT, WORD, found, reports};

fn judge(make: impl Fn() -> Push + Send + Sync + Clone + 'static) -> Report {
    kit::guard(move || Form(make.clone())).texts([TEXT]).report()
}

/// D17: it judges each delta by itself.
#[test]
fn a_guard_that_judges_each_delta_alone_is_reported() {
    let alone = || -> Push { Box::new(|text, _| found("word", text).map_or(Verdict::Pass, Verdict::Sever)) };
    reports(&judge(alone), &[Check::OneVerdict]);
}

/// D17: it severs where it should, under a rule that depends on the split.
#[test]
fn a_guard_whose_rule_depends_on_the_split_is_reported() {
    let two_rules = || -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far.push_str(text);
            let rule = if text.contains(WORD) { "at_once" } else { "in_pieces" };
            found(rule, &so_far).map_or(Verdict::Pass, Verdict::Sever)
        })
    };
    reports(&judge(two_rules), &[Check::OneVerdict]);
}

/// D17: it rewrites what one delta holds; nothing is severed, and the bytes differ.
#[test]
fn a_guard_whose_bytes_depend_on_the_split_is_reported() {
    let masks = || -> Push {
        Box::new(|text, out| {
            out.pass(&text.replace(WORD, "*"));
            Verdict::Done
        })
    };
    reports(&judge(masks), &[Check::OneVerdict]);
}

/// D17: an eager guard, without having said that it is one.
#[test]
fn an_eager_guard_is_reported_unless_it_says_so() {
    let undone_by_a_letter = || -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far.push_str(text);
            let at_its_end = so_far.ends_with(WORD) || so_far.contains("swordfish,");
            if at_its_end { Verdict::Sever(Violation::safety("word")) } else { Verdict::Pass }
        })
    };
    let texts = [TEXT, "a swordfish"];
    let kit = || kit::guard(move || Form(undone_by_a_letter)).texts(texts);
    kit().eager().check();
    // Amid prose the word is followed by a letter, so that the whole is fine and a split is not.
    reports(&kit().report(), &[Check::OneVerdict]);
}

/// D19: the head of the word is out before its tail severs: even, but not exact.
#[test]
fn a_guard_that_lets_a_head_out_is_reported_by_the_exact_kit() {
    let kit = || kit::guard(crate::subjects::word_guard).texts([TEXT]);
    kit().check();
    reports(&kit().exact().report(), &[Check::OneVerdict]);
}

/// D10, D11: what an attempt, a lane or a call left behind is in the verdict over the next.
#[test]
fn a_guard_that_remembers_the_attempt_before_is_reported() {
    let remembers = || {
        let shared = Arc::new(Mutex::new(String::new()));
        Form(move || -> Push {
            let shared = Arc::clone(&shared);
            Box::new(move |text, _| {
                let mut so_far = shared.lock().unwrap();
                so_far.push_str(text);
                found("word", &so_far).map_or(Verdict::Pass, Verdict::Sever)
            })
        })
    };
    reports(&kit::guard(remembers).texts([TEXT]).report(), &[Check::FreshGuard]);
}

/// Shares its state over the guards that are alive: what one attempt leaves is dropped with it, what two lanes of one
/// attempt see is not kept apart.
struct SharesWhileAlive(Mutex<std::sync::Weak<Mutex<String>>>);

struct Sharing(Arc<Mutex<String>>);

impl DeltaForm for SharesWhileAlive {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        let mut alive = self.0.lock().unwrap();
        let shared = alive.upgrade().unwrap_or_default();
        *alive = Arc::downgrade(&shared);
        Box::new(Sharing(shared))
    }
}

impl DeltaGuard for Sharing {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        let mut so_far = self.0.lock().unwrap();
        so_far.push_str(text);
        found("word", &so_far).map_or(Verdict::Pass, Verdict::Sever)
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// D10: two lanes of one attempt share one state.
#[test]
fn guards_that_share_their_state_between_lanes_are_reported() {
    let shares = || SharesWhileAlive(Mutex::default());
    reports(&kit::guard(shares).texts([TEXT]).report(), &[Check::FreshGuard]);
}

/// D15: it loses pieces of one letter, so that what a guard behind it would sever never gets there.
#[test]
fn a_guard_that_loses_short_pieces_is_reported() {
    let loses =
        || -> Push { Box::new(|text, _| if text.len() == 1 { Verdict::Done } else { Verdict::Pass }) };
    let report = kit::guard(move || Form(loses)).report();
    reports(&report, &[Check::NothingSwallowed, Check::OneVerdict, Check::LiveText]);
}

/// D11: it passes each piece on and says `Pass` too.
#[test]
fn a_guard_that_delivers_twice_is_reported() {
    let doubles = || -> Push {
        Box::new(|text, out| {
            out.pass(text);
            Verdict::Pass
        })
    };
    let report = kit::guard(move || Form(doubles)).report();
    reports(&report, &[Check::LiveText, Check::OneVerdict, Check::NothingSwallowed]);
}

/// It cuts texts where no character ends.
#[test]
fn a_guard_that_panics_on_text_that_is_not_ascii_is_reported() {
    let cuts = || -> Push {
        Box::new(|text, _| {
            let _ = &text[..text.len().min(1)];
            Verdict::Pass
        })
    };
    reports(&judge(cuts), &[Check::NoPanic]);
}

/// The factory itself panics, at the second lane.
#[test]
fn a_form_that_panics_on_many_lanes_is_reported() {
    struct FewLanes;
    impl DeltaForm for FewLanes {
        fn kinds(&self) -> DeltaKinds {
            DeltaKinds::ALL
        }

        fn guard(&self, _call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
            assert!(lane.choice() < 8, "too many");
            Redactor::new("*").guard(_call, lane)
        }
    }
    reports(&kit::guard(|| FewLanes).texts([TEXT]).report(), &[Check::NoPanic]);
}

/// Its rule tells what stands before the word, or the word itself.
#[test]
fn a_guard_that_quotes_the_text_in_its_rule_is_reported() {
    let quotes = || -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far.push_str(text);
            match so_far.contains(WORD) {
                true => Verdict::Sever(Violation::safety(format!("found in {}", so_far.len())).at(0, 1)),
                false => Verdict::Pass,
            }
        })
    };
    // A number is no quotation, but it depends on the split.
    reports(&judge(quotes), &[Check::OneVerdict]);
    let quotes = || -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far.push_str(text);
            let head = so_far.split(WORD).next().unwrap_or_default();
            match so_far.contains(WORD) {
                true => Verdict::Sever(Violation::safety(format!("found behind {head}"))),
                false => Verdict::Pass,
            }
        })
    };
    reports(&judge(quotes), &[Check::NoEcho]);
    let names_the_match = || -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far.push_str(text);
            found("no_swordfish", &so_far).map_or(Verdict::Pass, Verdict::Sever)
        })
    };
    reports(&judge(names_the_match), &[Check::NoEcho]);
}

/// It blocks its thread, as a call to a slow service would.
#[test]
fn a_guard_that_blocks_is_reported() {
    let blocks = || -> Push {
        Box::new(|_, _| {
            std::thread::sleep(Duration::from_millis(250));
            Verdict::Pass
        })
    };
    reports(&judge(blocks), &[Check::NeverBlocks]);
}

/// What was dropped in the middle leaves it locked.
#[test]
fn a_form_that_a_dropped_call_leaves_locked_is_reported() {
    struct OneAtATime(Arc<Mutex<bool>>);
    struct Holds(Arc<Mutex<bool>>);
    impl DeltaForm for OneAtATime {
        fn kinds(&self) -> DeltaKinds {
            DeltaKinds::TEXT
        }

        fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
            Box::new(Holds(Arc::clone(&self.0)))
        }
    }
    impl DeltaGuard for Holds {
        fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
            let mut busy = self.0.lock().unwrap();
            if *busy && text == "the word" {
                return Verdict::Sever(Violation::safety("busy"));
            }
            *busy = true;
            Verdict::Pass
        }

        fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
            *self.0.lock().unwrap() = false;
            Ok(())
        }
    }
    let report = kit::guard(|| OneAtATime(Arc::default())).texts([TEXT]).report();
    reports(&report, &[Check::CancelSafe, Check::Judged]);
}

/// What it severs differs from instance to instance.
#[test]
fn a_form_that_differs_from_instance_to_instance_is_reported() {
    let made = Arc::new(Mutex::new(0_u32));
    let differs = move || {
        *made.lock().unwrap() += 1;
        let rule = if made.lock().unwrap().is_multiple_of(2) { "even" } else { "odd" };
        Form(move || -> Push {
            let mut so_far = String::new();
            Box::new(move |text, _| {
                so_far.push_str(text);
                found(rule, &so_far).map_or(Verdict::Pass, Verdict::Sever)
            })
        })
    };
    reports(&kit::guard(differs).texts([TEXT]).report(), &[Check::Repeatable]);
}

/// A text that the form leaves alone shows nothing.
#[test]
fn a_sample_text_that_is_left_alone_is_reported() {
    let report = kit::guard(crate::subjects::word_guard).texts(["no such word"]).report();
    reports(&report, &[Check::Judged]);
}
