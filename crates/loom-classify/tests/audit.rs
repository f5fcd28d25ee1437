//! The audit hook: one a process, so one test.

use std::panic::Location;
use std::sync::Mutex;

use loom_classify::audit::{self, AlreadyInstalled, UnwrapKind};
use loom_classify::endorse::IntegerRange;
use loom_classify::{Fenced, Origins, TaintOrigin, Tainted, TaintedStr};

static HEARD: Mutex<Vec<(u32, String, UnwrapKind)>> = Mutex::new(Vec::new());

/// The hook heard of one unwrap, on the line above the caller's.
#[track_caller]
#[expect(clippy::unwrap_used, reason = "a check that the test repeats may fail like a test")]
fn heard_on_the_line_above(kind: UnwrapKind) {
    let line = Location::caller().line() - 1;
    let heard = std::mem::take(&mut *HEARD.lock().unwrap());
    assert_eq!(heard, [(line, "llm:plan".to_owned(), kind)]);
}

/// D9: every way out of taint reports its own call site and the origins, and no hook can hurt the caller.
#[test]
fn the_hook_hears_of_every_way_out_with_its_call_site() {
    let text = Tainted::new("5".to_owned(), TaintOrigin::llm("plan"));
    let origins = Origins::from(TaintOrigin::llm("plan"));
    let borrowed = TaintedStr::new("5", &origins);
    assert_eq!(text.expose_tainted(), "5", "works with no hook installed");

    audit::install(|event| {
        assert!(event.location.file().ends_with("audit.rs"));
        // An unwrap by the hook itself is not reported, or it would never end.
        let _ = Tainted::new(1, event.origins).unwrap_tainted();
        HEARD.lock().unwrap().push((event.location.line(), event.origins.to_string(), event.kind));
        assert!(event.to_string().contains("of llm:plan at "), "{event}");
        if event.kind == UnwrapKind::Unwrap {
            std::panic::panic_any(PanicsWhenDropped);
        }
    })
    .unwrap();
    assert_eq!(audit::install(|_| ()), Err(AlreadyInstalled));

    let (low, high) = (IntegerRange::new(1, 5), IntegerRange::new(6, 9));
    let endorse = |accepted| UnwrapKind::Endorse { endorser: "integer_range", accepted };

    assert_eq!(text.expose_tainted(), "5");
    heard_on_the_line_above(UnwrapKind::Expose);
    assert_eq!(borrowed.expose_tainted(), "5");
    heard_on_the_line_above(UnwrapKind::Expose);
    assert_eq!(text.endorse(&low), Ok(5));
    heard_on_the_line_above(endorse(true));
    assert_eq!(borrowed.endorse(&low), Ok(5));
    heard_on_the_line_above(endorse(true));
    assert!(text.endorse(&high).is_err());
    heard_on_the_line_above(endorse(false));

    // At an `unwrap_tainted` this hook panics after it heard, with what panics again when it is dropped.
    assert_eq!(borrowed.unwrap_tainted(), "5");
    heard_on_the_line_above(UnwrapKind::Unwrap);
    let fenced = Fenced::from(text.clone());
    assert_eq!(fenced.expose_tainted(), "5");
    heard_on_the_line_above(UnwrapKind::Expose);
    assert_eq!(fenced.unwrap_tainted(), "5");
    heard_on_the_line_above(UnwrapKind::Unwrap);
    assert_eq!(text.unwrap_tainted(), "5");
    heard_on_the_line_above(UnwrapKind::Unwrap);

    // What is trusted has nothing to report.
    assert_eq!((Fenced::trusted(1).unwrap_tainted(), HEARD.lock().unwrap().len()), (1, 0));
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    #[expect(clippy::panic, reason = "the test is about this panic")]
    fn drop(&mut self) {
        panic!("dropped");
    }
}
