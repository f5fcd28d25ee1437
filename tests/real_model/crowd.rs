//! Many calls at once on a server with one slot.

use crate::model::{ask, asking, base_url, runtime};
use crate::view::{View, fold};

const CALLS: usize = 64;
const TOKENS_MAX: u32 = 4;

/// D12: one configured sink of many calls at once folds per call to what each call returned, as does each call's own
/// sink, and no call's usage is lost.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real model, and time: cargo xtask deep"]
async fn sixty_four_calls_at_once_fold_each_by_itself() {
    let configured = View::new();
    let (runtime, tool) = runtime(ask(&base_url()).on_delta_sink(configured.clone()));
    let calls: Vec<_> = (0..CALLS)
        .map(|n| {
            let view = View::new();
            let request = asking(&format!("What comes after {n}?"), TOKENS_MAX);
            let call = runtime.invoke_transient(tool, request).on_delta_sink(view.clone()).reported();
            (view, tokio::spawn(call))
        })
        .collect();
    let mut of_calls = Vec::new();
    for (view, call) in calls {
        let (reply, report) = call.await.unwrap();
        let reply = reply.unwrap();
        let usage = report.usage.unwrap();
        assert_eq!(reply.usage, Some(usage));
        assert!(usage.input_tokens.unwrap() > 0, "{usage:?}");
        assert!((1..=u64::from(TOKENS_MAX)).contains(&usage.output_tokens.unwrap()), "{usage:?}");
        let content = reply.content.unwrap_tainted();
        assert_eq!(view.fold(), content);
        let number = view.calls().into_keys().next().expect("the call's own sink was told of its end");
        of_calls.push((number, content));
    }
    let shown = configured.calls();
    for (number, content) in &of_calls {
        assert_eq!(fold(shown.get(number).map_or(&[], Vec::as_slice)), *content, "call {number}");
    }
    of_calls.dedup_by_key(|(number, _)| *number);
    assert_eq!(of_calls.len(), CALLS);
    assert!(shown.keys().all(|shown| of_calls.iter().any(|(number, _)| number == shown)));
}
