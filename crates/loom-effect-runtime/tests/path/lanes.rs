//! D20: kinds and lanes: each lane its own guards, a bound on their number, finished lanes stay finished.

use loom_effect_runtime::*;

use crate::support::{Act, Counted, Recorder, Scripted, ask, hold_all, inspect_with, plan, run, sever_on};

fn guarded(form: Option<std::sync::Arc<dyn DeltaForm>>, acts: Vec<Act>) -> EffectRuntime {
    EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(form))
        .effect(Scripted::new(acts))
        .build()
        .unwrap()
}

fn text(choice: u32, block: u32) -> Lane {
    Lane::new(DeltaKind::Text, choice, block)
}

/// D20: a sink gets text unless it asks for more, and what it asks for alone.
#[test]
fn a_sink_gets_what_it_asks_for() {
    let acts =
        || vec![Act::write(Lane::REASONING, "hm"), Act::text("a"), Act::write(Lane::tool_arguments(2), "{}")];
    let lines = |wants| {
        let runtime = guarded(Counted::default().form(DeltaKinds::ALL), acts());
        let sink = Recorder::new().wanting(wants);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        run(call.into_future()).unwrap();
        sink.lines().join(" ")
    };
    assert_eq!(lines(DeltaKinds::TEXT), "a <done>");
    assert_eq!(lines(DeltaKinds::REASONING), "reasoning:hm <done>");
    assert_eq!(lines(DeltaKinds::TOOL_ARGUMENTS), "tool2:{} <done>");
    assert_eq!(lines(DeltaKinds::ALL), "reasoning:hm a tool2:{} <done>");
    assert_eq!(lines(DeltaKinds::NONE), "");
}

/// D20: each lane has guards of its own: a word split over two lanes is no word, in one lane it is.
#[test]
fn each_lane_has_its_own_guards() {
    let judged = |acts| {
        let runtime = guarded(sever_on("secret"), acts);
        run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).map(|_| ())
    };
    let (a, b) = (Lane::tool_arguments(0), Lane::tool_arguments(1));
    judged(vec![Act::write(a, "sec"), Act::write(b, "ret"), Act::write(Lane::REASONING, "ret")]).unwrap();
    judged(vec![Act::write(text(0, 0), "sec"), Act::write(text(1, 0), "ret"), Act::Unstated]).unwrap();
    let interleaved = vec![Act::write(a, "sec"), Act::write(b, "x"), Act::write(a, "ret")];
    assert_eq!(judged(interleaved).unwrap_err().rule(), Some("word"));
    assert_eq!(judged(vec![Act::write(Lane::REASONING, "secret")]).unwrap_err().rule(), Some("word"));
}

/// D20: opening the next block of a kind first finishes the lane before it: held text keeps its order.
#[test]
fn the_next_block_finishes_the_one_before() {
    let acts = vec![
        Act::write(text(0, 0), "first "),
        Act::write(text(0, 0), "block"),
        Act::write(text(0, 1), "second"),
        Act::answer("first blocksecond"),
    ];
    let runtime = guarded(hold_all(), acts);
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = run(call.reported());
    result.unwrap();
    assert_eq!(sink.lines(), ["first block", "second", "<done>"]);
    assert!(report.checked);
}

/// D20: a lane that was finished stays finished: writing to it severs, before any guard or sink.
#[test]
fn writing_to_a_finished_lane_severs() {
    let counted = Counted::default();
    let acts = vec![Act::write(text(0, 0), "a"), Act::write(text(0, 1), "b"), Act::write(text(0, 0), "c")];
    let runtime = guarded(counted.form(DeltaKinds::ALL), acts);
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap_err().rule(), Some("lane.finished"));
    assert_eq!(sink.lines(), ["a", "b"]);
    assert_eq!(counted.figures()[1], 2);
}

/// D20: tool calls interleave, and so do choices; each is finished once.
#[test]
fn tool_calls_and_choices_interleave() {
    let counted = Counted::default();
    let lanes = [Lane::tool_arguments(0), Lane::tool_arguments(1), text(0, 0), text(1, 0), Lane::REASONING];
    let mut acts: Vec<Act> = (0..3).flat_map(|_| lanes.map(|lane| Act::write(lane, "x"))).collect();
    acts.push(Act::answer("xxx"));
    let runtime = guarded(counted.form(DeltaKinds::ALL), acts);
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink);
    run(call.into_future()).unwrap();
    assert_eq!(counted.figures(), [5, 15, 5]);
}

/// D20: one attempt opens at most 64 lanes; one more severs, whoever chose the numbers.
#[test]
fn the_number_of_lanes_is_bounded() {
    assert_eq!(LANES_MAX, 64);
    let attempt = |lanes: Vec<Lane>| {
        let mut acts: Vec<Act> = lanes.into_iter().map(|lane| Act::write(lane, "x")).collect();
        acts.push(Act::Unstated);
        let runtime = guarded(Counted::default().form(DeltaKinds::ALL), acts);
        run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future())
            .map_err(|error| error.rule().map(str::to_owned))
    };
    let tools = |count: u32| (0..count).map(|n| Lane::tool_arguments(n * 1_000_003)).collect::<Vec<_>>();
    assert!(attempt(tools(64)).is_ok());
    assert_eq!(attempt(tools(65)).unwrap_err().as_deref(), Some("lane.limit"));
    let blocks = (0..65).map(|n| text(0, n)).collect::<Vec<_>>();
    assert_eq!(attempt(blocks).unwrap_err().as_deref(), Some("lane.limit"), "finished lanes count");
}

/// D20: a fresh attempt has all its lanes again, and may write to those the one before had finished.
#[test]
fn lanes_begin_again_with_the_attempt() {
    use crate::support::stubborn;
    let all = || (0..60).map(|n| Act::write(text(1, n), "x"));
    let effect = Scripted::new(all().chain([Act::Fail(ErrorName::Provider)])).then(all());
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(stubborn(2)).effect(effect).build().unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new()).into_future())
        .unwrap();
}
