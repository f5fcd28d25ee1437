//! Connections that break in mid-stream, and the attempt after them.

use std::time::Duration;

use loom_effect_runtime::EffectRuntime;
use loom_middleware::Retry;

use crate::model::{TOKENS_MAX, ask, greedy, handle, request, within};
use crate::relay::{Cut, How, Relay};
use crate::view::{Shown, View};

const PAUSE: Duration = Duration::from_millis(50);
/// The opening event and some pieces of text.
const EVENTS: usize = 6;

/// D11: a connection that breaks once in mid-stream is one reset to both sinks, and what they then fold to is the
/// output, the same as that of a call whose connection held.
#[tokio::test]
#[ignore = "needs a real model: cargo xtask real-model"]
async fn a_cut_connection_is_one_reset_and_the_fold_is_the_output() {
    for how in [How::Close, How::Reset] {
        let relay = Relay::start(vec![Cut { after_events: EVENTS, how }]).await;
        let (view, configured) = (View::new(), View::new());
        let builder = EffectRuntime::builder()
            .allow_all_calls()
            .around(Retry::new().attempts(3).backoff(PAUSE, PAUSE))
            .effect(ask(&relay.base_url()).on_delta_sink(configured.clone()).build());
        let (runtime, tool) = handle(builder.build().unwrap());
        let call = runtime.invoke_transient(tool, request(TOKENS_MAX)).on_delta_sink(view.clone()).reported();
        let (reply, report) = within(call).await;
        let reply = reply.unwrap();
        let content = reply.content.unwrap_tainted();
        assert_eq!(content, greedy().await.text, "{how:?}");
        assert_eq!((report.attempts, relay.connections()), (2, 2), "{how:?}");
        assert_eq!(report.usage, reply.usage, "the broken attempt reported nothing");
        assert!(report.streamed && report.checked);
        for lines in [view.lines(), configured.lines()] {
            let resets: Vec<&Shown> = lines.iter().filter(|line| matches!(line, Shown::Reset(_))).collect();
            assert_eq!(resets, [&Shown::Reset(2)], "{how:?}");
        }
        assert_eq!((view.fold(), configured.fold()), (content.clone(), content), "{how:?}");
        if matches!(how, How::Close) {
            assert!(
                matches!(view.lines().first(), Some(Shown::Text(_))),
                "the cut came after text was shown"
            );
        }
    }
}
