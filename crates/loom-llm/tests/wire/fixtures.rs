//! Recorded streams of real providers, read from outside the repository; tests say when they are absent.

use std::path::PathBuf;

use serde_json::Value;

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

/// The recorded streams in that folder by their names: the data of each event; empty, with the reason printed, where
/// there are none on this machine.
pub(crate) fn streams(folder: &str) -> Vec<(String, Vec<String>)> {
    let root = std::env::var_os("LOOM_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = root.join("fixtures/wire").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no recorded streams at {} (set LOOM_SHARED)", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        (path.file_name().unwrap().to_string_lossy().into_owned(), lines)
    };
    paths.into_iter().map(read).collect()
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
