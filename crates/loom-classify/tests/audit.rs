//! The audit hook: one a process, so one test.

use std::sync::Mutex;

use loom_classify::audit::{self, AlreadyInstalled, UnwrapKind};
use loom_classify::endorse::IntegerRange;
use loom_classify::{Fenced, Origins, TaintOrigin, Tainted, TaintedStr};

static HEARD: Mutex<Vec<(u32, String, UnwrapKind)>> = Mutex::new(Vec::new());

fn heard() -> (u32, String, UnwrapKind) {
    let mut heard = HEARD.lock().unwrap();
    assert_eq!(heard.len(), 1, "one event for one unwrap");
    heard.remove(0)
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

    let plan = "llm:plan".to_owned();
    let range = IntegerRange::new(1, 9);
    let accepted = |accepted| UnwrapKind::Endorse { endorser: "integer_range", accepted };

    assert_eq!((text.expose_tainted().len(), heard()), (1, (line!(), plan.clone(), UnwrapKind::Expose)));
    assert_eq!((borrowed.expose_tainted(), heard()), ("5", (line!(), plan.clone(), UnwrapKind::Expose)));
    assert_eq!((text.endorse(&range), heard()), (Ok(5), (line!(), plan.clone(), accepted(true))));
    assert_eq!((borrowed.endorse(&range), heard()), (Ok(5), (line!(), plan.clone(), accepted(true))));
    assert!(text.endorse(&IntegerRange::new(6, 9)).is_err());
    assert_eq!(heard(), (line!() - 1, plan.clone(), accepted(false)));

    // From here on each event comes from a hook that panics after it was heard, and whose panic panics again.
    assert_eq!((borrowed.unwrap_tainted(), heard()), ("5", (line!(), plan.clone(), UnwrapKind::Unwrap)));
    let fenced = Fenced::from(text.clone());
    assert_eq!(
        (fenced.expose_tainted().as_str(), heard()),
        ("5", (line!(), plan.clone(), UnwrapKind::Expose))
    );
    assert_eq!(
        (fenced.unwrap_tainted(), heard()),
        ("5".to_owned(), (line!(), plan.clone(), UnwrapKind::Unwrap))
    );
    assert_eq!((text.unwrap_tainted(), heard()), ("5".to_owned(), (line!(), plan, UnwrapKind::Unwrap)));

    // What is trusted has nothing to report.
    assert_eq!((Fenced::trusted(1).unwrap_tainted(), HEARD.lock().unwrap().len()), (1, 0));
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("dropped");
    }
}
