//! How a line reads.

use loom_effect_runtime::{CallKey, CallReport, EffectDelta, ErrorName, Input, Lane, Usage};

/// The step, with its call key where it has one.
pub(super) fn step(step: &str, key: Option<&CallKey>) -> String {
    match key {
        Some(key) => format!("{step}@{}:{}", key.decision(), key.ordinal()),
        None => step.to_owned(),
    }
}

pub(super) fn input(input: &Input) -> String {
    match input.json() {
        Ok(value) => value.to_string(),
        Err(_) => "(no JSON)".to_owned(),
    }
}

pub(super) fn delta(delta: &EffectDelta<'_>) -> String {
    match delta {
        EffectDelta::Text { text, lane, .. } => piece("text", *lane, text.unwrap_tainted()),
        EffectDelta::Reasoning { text, lane, .. } => piece("reasoning", *lane, text.unwrap_tainted()),
        EffectDelta::ToolArguments { text, lane, .. } => piece("arguments", *lane, text.unwrap_tainted()),
        EffectDelta::Reset { attempt, .. } => format!("reset, attempt {attempt}"),
        EffectDelta::Done { usage, .. } => match usage {
            Some(usage) => format!("done, {}", tokens(*usage)),
            None => "done".to_owned(),
        },
        _ => "a delta of another kind".to_owned(),
    }
}

/// The lane's place is told where it is not the first.
fn piece(kind: &str, lane: Lane, text: &str) -> String {
    match (lane.choice(), lane.block()) {
        (0, 0) => format!("{kind} {text:?}"),
        (0, block) => format!("{kind}[{block}] {text:?}"),
        (choice, block) => format!("{kind}[{choice}/{block}] {text:?}"),
    }
}

/// How a call ended: its outcome and what its report says.
pub(super) fn over(error: Option<ErrorName>, report: &CallReport) -> String {
    let outcome = error.map_or_else(|| "ok".to_owned(), |name| name.to_string());
    let plural = if report.attempts == 1 { "" } else { "s" };
    let mut line = format!("{outcome}, {} attempt{plural}", report.attempts);
    let facts = [(report.streamed, ", streamed"), (report.checked, ", checked")];
    facts.iter().filter(|(holds, _)| *holds).for_each(|(_, fact)| line.push_str(fact));
    if let Some(usage) = report.usage {
        line.push_str(", ");
        line.push_str(&tokens(usage));
    }
    line
}

fn tokens(usage: Usage) -> String {
    let told = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    format!("tokens {} in, {} out", told(usage.input_tokens), told(usage.output_tokens))
}
