//! Recorded streams of the dialect and what they say, read by rules of their own: the oracle for the decoder.

use std::collections::BTreeMap;

use loom_llm::Collected;
use serde_json::{Value, json};

use crate::fixtures::streams;

pub(super) struct Recording {
    pub(super) name: String,
    pub(super) events: Vec<Value>,
    lines: Vec<String>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    text: String,
    reasoning: String,
    tools: Vec<(String, String, String)>,
    finish: Option<String>,
    usage: (Option<u64>, Option<u64>),
    explanation: Option<String>,
    /// All blocks, where there are others than text and tool calls; the inputs of tools read.
    turn: Option<Vec<Value>>,
}

pub(super) fn recordings() -> Vec<Recording> {
    let of = |(name, lines): (String, Vec<String>)| {
        let events = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        Recording { name, events, lines }
    };
    streams("anthropic").into_iter().map(of).collect()
}

impl Recording {
    /// The stream as a server sends it: each event named by its type.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let event = |(line, event): (&String, &Value)| {
            format!("event: {}\ndata: {line}\n\n", event["type"].as_str().unwrap())
        };
        self.lines.iter().zip(&self.events).map(event).collect::<String>().into_bytes()
    }

    /// What stands in the file: the events of its last message.
    pub(super) fn said(&self) -> Said {
        let mut said = Said::default();
        let last_id = self.of_type("message_start").last().map(|event| &event["message"]["id"]);
        let is_last = |event: &&Value| Some(&event["message"]["id"]) == last_id;
        let first = self.events.iter().position(|event| is_last(&event)).unwrap();
        let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
        for event in &self.events[first..] {
            for usage in [&event["message"]["usage"], &event["usage"]] {
                said.usage.0 = usage["input_tokens"].as_u64().or(said.usage.0);
                said.usage.1 = usage["output_tokens"].as_u64().or(said.usage.1);
            }
            let reason = event["delta"]["stop_reason"].as_str();
            said.finish = reason.map(str::to_owned).or(said.finish);
            let explanation = event["delta"]["stop_details"]["explanation"].as_str();
            said.explanation = explanation.map(str::to_owned).or(said.explanation);
            let Some(index) = event["index"].as_u64() else { continue };
            let block = blocks.entry(index).or_default();
            match event["type"].as_str().unwrap() {
                "content_block_start" => block.start = event["content_block"].clone(),
                "content_block_delta" => block.add(&event["delta"]),
                _ => {}
            }
        }
        for block in blocks.values() {
            match block.start["type"].as_str().unwrap() {
                "text" => said.text += &block.grown,
                "thinking" => said.reasoning += &block.grown,
                "tool_use" => {
                    let word = |name: &str| block.start[name].as_str().unwrap().to_owned();
                    said.tools.push((word("id"), word("name"), block.grown.clone()));
                }
                _ => {}
            }
        }
        let plain = |block: &Block| matches!(block.start["type"].as_str(), Some("text" | "tool_use"));
        if !blocks.values().all(plain) {
            said.turn = Some(blocks.into_values().map(Block::whole).collect());
        }
        said
    }

    fn of_type(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }
}

#[derive(Default)]
struct Block {
    start: Value,
    grown: String,
    signature: Option<String>,
}

impl Block {
    fn add(&mut self, delta: &Value) {
        for name in ["text", "thinking", "partial_json"] {
            self.grown += delta[name].as_str().unwrap_or_default();
        }
        self.signature = delta["signature"].as_str().map(str::to_owned).or_else(|| self.signature.take());
    }

    fn whole(mut self) -> Value {
        match self.start["type"].as_str().unwrap() {
            "text" => self.start["text"] = self.grown.into(),
            "thinking" => {
                self.start["thinking"] = self.grown.into();
                self.start["signature"] = self.signature.unwrap().into();
            }
            _ if !self.grown.is_empty() => {
                self.start["input"] = serde_json::from_str(&self.grown).unwrap();
            }
            _ => {}
        }
        self.start
    }
}

impl From<Collected> for Said {
    fn from(reply: Collected) -> Self {
        let tools = reply.tool_calls.into_iter().map(|c| (c.id.unwrap(), c.name.unwrap(), c.arguments));
        let usage = reply.usage.unwrap_or_default();
        assert_eq!(reply.declined, reply.finish_reason.as_deref() == Some("refusal"));
        Self {
            text: reply.text,
            reasoning: reply.reasoning,
            tools: tools.collect(),
            finish: reply.finish_reason,
            usage: (usage.input_tokens, usage.output_tokens),
            explanation: reply.explanation,
            turn: reply.turn.map(|turn| read_inputs(turn.content).as_array().unwrap().clone()),
        }
    }
}

/// The blocks with the inputs of tools as the objects that they are on the wire.
fn read_inputs(mut blocks: Value) -> Value {
    for block in blocks.as_array_mut().unwrap() {
        if let Some(input) = block["input"].as_str() {
            block["input"] = if input.is_empty() { json!({}) } else { serde_json::from_str(input).unwrap() };
        } else if block["input"].is_null() {
            block.as_object_mut().unwrap().remove("input");
        }
    }
    blocks
}
