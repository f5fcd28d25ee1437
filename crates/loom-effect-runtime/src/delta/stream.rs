//! What stands under a channel's lock: meters, lanes with their guards, and the sinks behind them.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom_classify::{Origins, TaintedStr};

use super::gate::Cut;
use super::guard::{Deliver, Meter, MeterForm};
use super::lane::{Lanes, finish, run};
use super::{DeltaKind, DeltaKinds, DeltaSink, EffectDelta, Lane, LiveHash, Usage};
use crate::call::{Call, CallInfo, CallRef, CallTag};
use crate::caught::{Contained, caught};
use crate::error::Violation;
use crate::signal::Signals;
use crate::warning::Warning;

/// The stream of one call, attempt after attempt.
pub(super) struct Stream {
    meters: Vec<Contained<Box<dyn Meter>>>,
    lanes: Lanes,
    out: Out,
}

/// The far side of the guards.
struct Out {
    info: CallInfo,
    tag: CallTag,
    origins: Origins,
    /// The per-call sink, then the configured one, each with the kinds it gets.
    sinks: Sinks,
    hash: LiveHash,
    hashed: bool,
    /// Text left the last guard in this attempt.
    streamed: bool,
    /// Any delta reached a sink in this attempt.
    delivered: Cell<bool>,
    ever_delivered: bool,
    ended: bool,
    usage: Option<Usage>,
    sink_reported: Cell<bool>,
}

type Sinks = [Option<(Contained<Arc<dyn DeltaSink>>, DeltaKinds)>; 2];

/// What an attempt's stream came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamFacts {
    /// Text left the guards, or the effect marked the end of its stream, and a sink follows the call.
    pub(crate) streamed: bool,
    /// The hash of the live text, where a sink saw any.
    pub(crate) live: Option<u64>,
}

impl Stream {
    /// The stream of `call` in its attempt `room`. Reports a blind stream once a call (spec row D10).
    pub(super) fn of(call: &Call, origins: Origins, room: u32) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let info = call.info().clone();
        let rt = info.caller.runtime();
        let mut sink_reported = false;
        let per_call = call.options().and_then(|options| options.sink.clone());
        let sinks = [per_call, info.entry().sink.clone()].map(|sink| {
            let sink = sink?;
            let wanted = caught(|| sink.wants()).unwrap_or_else(|_| {
                sink_reported = true;
                rt.warn(&Warning::SinkPanicked { tool: info.tool() });
                DeltaKinds::NONE
            });
            Some((sink, wanted))
        });
        let wanted = sinks.iter().flatten().fold(DeltaKinds::NONE, |all, (_, kinds)| all | *kinds);
        let seen = rt.coverage.kinds();
        if let Some(middleware) = rt.coverage.blinded(wanted) {
            let tool = info.tool();
            rt.warn(&match (wanted & seen).is_empty() {
                true => Warning::StreamingDisabled { middleware, tool },
                false => Warning::KindsWithheld { middleware, tool },
            });
        }
        let sinks = sinks.map(|sink| {
            let (sink, kinds) = sink?;
            let kinds = kinds & seen;
            (!kinds.is_empty()).then_some((Contained::new(sink), kinds))
        });
        let hashed = sinks.iter().flatten().any(|(_, kinds)| kinds.has(DeltaKind::Text));
        let out = Out {
            tag: info.tag(NUMBER.fetch_add(1, Ordering::Relaxed), room),
            info,
            origins,
            sinks,
            hash: LiveHash::new(),
            hashed,
            streamed: false,
            delivered: Cell::new(false),
            ever_delivered: false,
            ended: false,
            usage: None,
            sink_reported: Cell::new(sink_reported),
        };
        Self { meters: Vec::new(), lanes: Lanes::default(), out }
    }

    /// Fresh meters for an attempt, the call's own last. A factory that panics severs.
    pub(super) fn make_meters(&mut self, of_call: Option<&dyn MeterForm>) -> Result<(), Violation> {
        self.meters.clear();
        let info = &self.out.info;
        let runtime = info.caller.runtime();
        let registered = runtime.metered.iter().filter_map(|at| runtime.middlewares.get(*at));
        for middleware in registered {
            let made = caught(|| middleware.meter().map(|form| form.meter(info)));
            let meter = made.map_err(|_| Violation::safety("meter.panicked"))?;
            let meter = meter.ok_or_else(|| Violation::safety("meter.missing"))?;
            self.meters.push(Contained::new(meter));
        }
        if let Some(form) = of_call {
            let meter = caught(|| form.meter(info)).map_err(|_| Violation::safety("meter.panicked"))?;
            self.meters.push(Contained::new(meter));
        }
        Ok(())
    }

    /// Begins attempt `room`: no guard, no text and no mark of the one before, and a reset to every sink.
    pub(super) fn begin(&mut self, room: u32, cut: &Cut<'_>, signals: &Signals) {
        self.lanes.clear();
        self.out.hash = LiveHash::new();
        self.out.tag.attempt = room;
        self.out.ever_delivered |= self.out.delivered.replace(false);
        self.out.streamed = false;
        self.out.ended = false;
        self.out.usage = None;
        let out = &self.out;
        let delta = EffectDelta::Reset { attempt: room, text: TaintedStr::new("", &out.origins) };
        let call = CallRef(&out.tag);
        for (sink, _) in out.sinks.iter().flatten() {
            if cut.is_cut() || signals.is_aborted() {
                return;
            }
            out.deliver(sink, &call, &delta);
        }
    }

    /// One piece through meters, guards and sinks. An error severs.
    #[inline]
    pub(super) fn take(
        &mut self,
        lane: Lane,
        cut: &Cut<'_>,
        signals: &Signals,
        text: &str,
    ) -> Result<(), Violation> {
        if !self.meters.is_empty() {
            self.count(lane.kind(), text.len())?;
        }
        let Self { lanes, out, .. } = self;
        if let Some(guards) = lanes.current(lane) {
            return out.guarded(lane, cut, signals, |sinks| run(guards, sinks, text));
        }
        if !lanes.recall(lane) {
            self.open(lane, cut, signals)?;
        }
        let guards = self.lanes.current(lane).ok_or_else(|| Violation::safety("lane.missing"))?;
        self.out.guarded(lane, cut, signals, |sinks| run(guards, sinks, text))
    }

    /// Finishes every open lane: held tails flow out, and may still sever.
    pub(super) fn finish(&mut self, cut: &Cut<'_>, signals: &Signals) -> Result<StreamFacts, Violation> {
        while let Some(mut open) = self.lanes.take_any() {
            self.out.guarded(open.lane, cut, signals, |sinks| finish(&mut open.guards, sinks))?;
        }
        let out = &self.out;
        let streamed = (out.streamed || out.ended) && out.sinks.iter().any(Option::is_some);
        Ok(StreamFacts { streamed, live: (out.hashed && streamed).then(|| out.hash.finish()) })
    }

    /// Marks the end of the effect's stream.
    pub(super) fn end(&mut self, usage: Option<Usage>) {
        self.out.ended = true;
        self.out.usage = usage.or(self.out.usage);
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.out.usage
    }

    pub(super) fn ever_delivered(&self) -> bool {
        self.out.ever_delivered || self.out.delivered.get()
    }

    /// Gives up what third parties gave: nothing outlives the call, whoever still holds a handle.
    pub(super) fn let_go(&mut self) -> impl Sized + use<> {
        let sinks = std::mem::take(&mut self.out.sinks);
        (std::mem::take(&mut self.meters), std::mem::take(&mut self.lanes), sinks)
    }

    /// Tells the per-call sink alone that the call succeeded.
    pub(super) fn done(&mut self, usage: Option<Usage>) {
        let out = &self.out;
        if let [Some((sink, _)), _] = &out.sinks {
            let delta = EffectDelta::Done { usage, text: TaintedStr::new("", &out.origins) };
            out.deliver(sink, &CallRef(&out.tag), &delta);
        }
    }

    #[cold]
    fn open(&mut self, lane: Lane, cut: &Cut<'_>, signals: &Signals) -> Result<(), Violation> {
        if let Some(mut before) = self.lanes.take_predecessor(lane) {
            self.out.guarded(before.lane, cut, signals, |sinks| finish(&mut before.guards, sinks))?;
        }
        let info = &self.out.info;
        self.lanes.open(lane, info, info.caller.runtime())
    }

    fn count(&mut self, kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        for meter in &mut self.meters {
            let Some(meter) = meter.get_mut() else { continue };
            caught(|| meter.observe(kind, bytes))
                .unwrap_or_else(|_| Err(Violation::safety("meter.panicked")))?;
        }
        Ok(())
    }
}

impl Out {
    /// Runs guards under a catch, in front of the sinks. A panic severs.
    #[inline]
    fn guarded(
        &mut self,
        lane: Lane,
        cut: &Cut<'_>,
        signals: &Signals,
        judge: impl FnOnce(&mut Delivery<'_, '_>),
    ) -> Result<(), Violation> {
        let mut sinks = Delivery { out: self, lane, cut, signals, severed: None };
        let judged = caught(|| judge(&mut sinks));
        match (judged, sinks.severed) {
            (_, Some(violation)) => Err(violation),
            (Ok(()), None) => Ok(()),
            (Err(_), None) => Err(Violation::safety("guard.panicked")),
        }
    }
}

/// The end of the guard chain: the live-text hash and the sinks.
struct Delivery<'a, 'b> {
    out: &'a mut Out,
    lane: Lane,
    cut: &'a Cut<'b>,
    signals: &'a Signals,
    severed: Option<Violation>,
}

impl Deliver for Delivery<'_, '_> {
    #[inline]
    fn deliver(&mut self, text: &str) {
        let (kind, lane) = (self.lane.kind(), self.lane);
        if self.out.hashed && lane.is_live_text() {
            self.out.hash.update(text);
        }
        if kind == DeltaKind::Text && !self.out.streamed {
            self.out.streamed = true;
        }
        let out = &*self.out;
        let text = TaintedStr::new(text, &out.origins);
        let delta = match kind {
            DeltaKind::Text => EffectDelta::Text { text, lane },
            DeltaKind::Reasoning => EffectDelta::Reasoning { text, lane },
            DeltaKind::ToolArguments => EffectDelta::ToolArguments { text, lane },
        };
        let call = CallRef(&out.tag);
        for (sink, kinds) in out.sinks.iter().flatten() {
            if !kinds.has(kind) {
                continue;
            }
            if self.cut.is_cut() || self.signals.is_aborted() {
                return;
            }
            if !out.delivered.get() {
                out.delivered.set(true);
            }
            out.deliver(sink, &call, &delta);
        }
    }

    #[inline]
    fn severed(&mut self) -> &mut Option<Violation> {
        &mut self.severed
    }

    #[inline]
    fn as_dyn(&mut self) -> &mut dyn Deliver {
        self
    }
}

impl Out {
    /// One delivery. A panic of the sink is reported once a call and hurts nobody else (spec row D6).
    #[inline(always)]
    fn deliver(&self, sink: &Contained<Arc<dyn DeltaSink>>, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let Some(sink) = sink.get() else { return };
        if caught(|| sink.deliver(call, delta)).is_err() {
            self.report_sink();
        }
    }

    #[cold]
    fn report_sink(&self) {
        if !self.sink_reported.replace(true) {
            self.info.caller.runtime().warn(&Warning::SinkPanicked { tool: self.info.tool() });
        }
    }
}
