//! Meters: each attempt is counted by one that has counted nothing.

use loom_effect_runtime::around;

use super::came::Came;
use super::probe::Plan;
use super::stage::{Ask, Stage};
use crate::kit::report::{Check, Report};

/// What passes alone passes as the second attempt too. Sizes double, so that whatever the budget is, one of them fits
/// it once and not twice.
pub(crate) async fn are_fresh(stage: &Stage, report: &mut Report) {
    report.checked(Check::FreshGuard);
    let sizes = (0..18).map(|power| (1, 1 << power));
    let counts = (0..10).map(|power| (1 << power, 1));
    for (pieces, bytes) in sizes.chain(counts) {
        let alone = Plan::Writes { pieces, bytes, fails_first: false };
        let second = Plan::Writes { pieces, bytes, fails_first: true };
        let Some(scene) = stage.scene(report, alone) else { return };
        let alone = Came::of(scene.play(report, &Ask::plain("metered").streamed()).await.result.as_ref());
        let again = around("kit.again", |_call, mut next| {
            Box::pin(async move {
                match next.run().await {
                    Err(error) if !error.is_refusal() => next.run().await,
                    ended => ended,
                }
            })
        });
        let Some(scene) = stage.scene_with(report, second, |builder| builder.around(again)) else { return };
        let second = scene.came(&Ask::plain("metered").streamed()).await;
        report.must(Check::FreshGuard, !alone.gave() || second.gave(), || {
            format!("{pieces} times {bytes} bytes pass alone and not as a second attempt: {}", second.brief())
        });
    }
}
