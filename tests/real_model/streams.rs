//! Replies that come to their end.

use crate::model::{TOKENS_MAX, ask, base_url, greedy, request, runtime, within};
use crate::relay::Relay;
use crate::view::{Shown, View};

/// Long enough that the model is still at it when a busy machine has shown the first piece.
const LONG_TOKENS: u32 = 64;

/// D4: text is shown to both sinks while the call is pending and before the server has written its end.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn deltas_arrive_before_the_end() {
    let mut relay = Relay::start(Vec::new()).await;
    let (view, configured) = (View::new(), View::new());
    let (runtime, tool) = runtime(ask(&relay.base_url()).on_delta_sink(configured.clone()));
    let call = runtime.invoke_transient(tool, request(LONG_TOKENS)).on_delta_sink(view.clone()).reported();
    let call = tokio::spawn(call);
    within(configured.texts(1)).await;
    assert!(!call.is_finished(), "text was shown, and the call goes on");
    let written = relay.events();
    let (reply, report) = within(call).await.unwrap();
    drop(runtime);
    let ended = relay.ended().await;
    // One event opens the reply, and three close it: finish reason, usage, mark.
    assert!(ended.complete && written + 3 < ended.events, "{written} of {ended:?}");
    assert!(report.streamed && report.checked);
    assert_eq!(report.attempts, 1);
    let content = reply.unwrap().content.unwrap_tainted();
    assert_eq!((view.fold(), configured.fold()), (content.clone(), content));
    let lines = view.lines();
    let (last, texts) = lines.split_last().unwrap();
    assert!(matches!(last, Shown::Done(_)), "{last:?}");
    assert!(texts.len() >= 2 && texts.iter().all(|line| matches!(line, Shown::Text(_))), "{texts:?}");
    assert_eq!(configured.lines(), texts, "the configured sink hears the same, and never of the end");
}

/// D3: what the server reported of usage stands in the reply, in the report and with `done`.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn usage_is_kept_in_the_reply_the_report_and_the_end() {
    let (runtime, tool) = runtime(ask(&base_url()));
    let view = View::new();
    let call = runtime.invoke_transient(tool, request(TOKENS_MAX)).on_delta_sink(view.clone()).reported();
    let (reply, report) = within(call).await;
    let usage = reply.unwrap().usage.unwrap();
    assert!(usage.input_tokens.unwrap() > 0, "{usage:?}");
    assert!((1..=u64::from(TOKENS_MAX)).contains(&usage.output_tokens.unwrap()), "{usage:?}");
    assert_eq!(report.usage, Some(usage));
    assert_eq!(view.lines().last(), Some(&Shown::Done(Some(usage))));
}

/// D11: a reply asked for in one piece says what the streamed one said, and the report tells that nothing streamed.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn a_reply_in_one_piece_says_what_the_streamed_one_says() {
    let streamed = greedy().await;
    let (runtime, tool) = runtime(ask(&base_url()).stream(false));
    let view = View::new();
    let call = runtime.invoke_transient(tool, request(TOKENS_MAX)).on_delta_sink(view.clone()).reported();
    let (reply, report) = within(call).await;
    let reply = reply.unwrap();
    assert!(!streamed.text.is_empty());
    assert_eq!(reply.content.unwrap_tainted(), streamed.text);
    assert_eq!((reply.usage, report.usage), (streamed.usage, streamed.usage));
    assert!(!report.streamed);
    assert_eq!(view.lines(), []);
}
