//! No text makes it panic, whole or in pieces, however long it is and in however many lanes.

use std::collections::BTreeSet;

use loom_effect_runtime::{LANES_MAX, Lane};

use super::super::report::{Check, Report};
use super::super::texts::{PROSE, hostile};
use super::stage::{Cast, Stage};
use crate::{Act, Scripted};

/// A long text, which is an output as a whole and live text in pieces.
const LONG_BYTES: usize = 1 << 20;
const LONG_PIECES: usize = 8;

/// Plays what is not meant kindly. A panic is a fault in every call: see [`Stage::play`].
pub(crate) async fn no_panic(stage: &Stage, report: &mut Report) {
    report.checked(Check::NoPanic);
    let hostile = hostile();
    let singles: BTreeSet<char> = hostile.iter().flat_map(|text| text.chars()).collect();
    for single in singles {
        let mut buffer = [0; 4];
        stage.speak(report, Cast::Form, &[single.encode_utf8(&mut buffer)]).await;
    }
    let long = "words upon words ".repeat(LONG_BYTES / 17);
    for text in hostile.iter().chain([&long]) {
        stage.play(report, Cast::Whole, Scripted::<String>::new([Act::answer(text)]), None).await;
    }
    let pieces: Vec<&str> = (0..LONG_PIECES)
        .filter_map(|at| long.get(at * (long.len() / LONG_PIECES)..(at + 1) * (long.len() / LONG_PIECES)))
        .collect();
    stage.speak(report, Cast::Form, &pieces).await;

    let (kind, lanes) = (stage.lane.kind(), 0..LANES_MAX as u32);
    let many: Vec<(Lane, &str)> = lanes
        .clone()
        .chain(lanes)
        .map(|choice| (Lane::new(kind, choice, 0), if choice % 2 == 0 { PROSE } else { "日本語" }))
        .collect();
    stage.write(report, &many, stage.lane).await;
}
