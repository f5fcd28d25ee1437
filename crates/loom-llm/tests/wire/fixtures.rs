//! Recordings of the chat-completions dialect, and what they say, read by rules of their own.

#[path = "../shared/recordings.rs"]
mod recordings;

use serde_json::Value;

pub(crate) use recordings::streams;

/// One recorded stream: each line is the data of one event.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
}

/// What a recording says, read by rules of its own: the oracle for the decoder.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) tools: Vec<(String, String, String)>,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<(u64, u64)>,
}

/// All recordings of the chat-completions dialect.
pub(crate) fn recordings() -> Vec<Recording> {
    let of = |(name, lines)| Recording { name, lines };
    streams("openai-compatible").into_iter().map(of).collect()
}

impl Recording {
    /// The stream as a server sends it, with that line end.
    pub(crate) fn encoded(&self, line_end: &str) -> Vec<u8> {
        let events = self.lines.iter().map(|line| format!("data: {line}{line_end}{line_end}"));
        events.collect::<String>().into_bytes()
    }

    pub(crate) fn said(&self) -> Said {
        let mut said = Said::default();
        for line in &self.lines {
            let event: Value = serde_json::from_str(line).unwrap();
            let choice = &event["choices"][0];
            let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
            said.text += &text(&choice["delta"]["content"]);
            said.reasoning += &text(&choice["delta"]["reasoning_content"]);
            for part in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                let at = part["index"].as_u64().unwrap_or(0) as usize;
                said.tools.resize(said.tools.len().max(at + 1), Default::default());
                let (id, name, arguments) = &mut said.tools[at];
                *id += &text(&part["id"]);
                *name += &text(&part["function"]["name"]);
                *arguments += &text(&part["function"]["arguments"]);
            }
            said.finish = choice["finish_reason"].as_str().map(str::to_owned).or(said.finish);
            let usage = &event["usage"];
            let tokens = |field: &str| usage[field].as_u64();
            said.usage = tokens("prompt_tokens").zip(tokens("completion_tokens")).or(said.usage);
        }
        said
    }
}
