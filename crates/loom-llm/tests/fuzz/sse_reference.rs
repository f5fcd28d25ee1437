//! The event-stream grammar read once more, plainly and from a whole body: what the decoder has to agree with.

use loom_llm::sse::{SSE_EVENT_MAX_BYTES, SSE_LINE_MAX_BYTES, SseError};

/// An event by its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
    pub(crate) id: String,
    pub(crate) complete: bool,
}

/// All that a body says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) events: Vec<Event>,
    pub(crate) error: Option<SseError>,
    pub(crate) retry_ms: Option<u64>,
}

/// Reads a body that is within its own bound.
pub(crate) fn read(body: &[u8]) -> Said {
    let mut said = Said::default();
    let (mut name, mut data, mut id) = (String::new(), Vec::<String>::new(), String::new());
    for (number, line) in lines(body).into_iter().enumerate() {
        if line.len() > SSE_LINE_MAX_BYTES {
            return Said { error: Some(SseError::LineTooLong), ..said };
        }
        let Ok(mut line) = String::from_utf8(line) else {
            return Said { error: Some(SseError::InvalidUtf8), ..said };
        };
        if number == 0 && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        if line.is_empty() {
            if !data.is_empty() {
                let event = Event { name, data: data.join("\n"), id: id.clone(), complete: true };
                said.events.push(event);
                data.clear();
            }
            name = String::new();
            continue;
        }
        let (field, value) = match line.find(':') {
            Some(at) => (line[..at].to_owned(), line[at + 1..].to_owned()),
            None => (line, String::new()),
        };
        let value = value.strip_prefix(' ').map(str::to_owned).unwrap_or(value);
        if field == "data" {
            data.push(value);
            if data.iter().map(|line| line.len() + 1).sum::<usize>() - 1 > SSE_EVENT_MAX_BYTES {
                return Said { error: Some(SseError::EventTooLarge), ..said };
            }
        } else if field == "event" {
            name = value;
        } else if field == "id" && !value.contains('\0') {
            id = value;
        } else if field == "retry" && value.chars().all(|char| "0123456789".contains(char)) {
            said.retry_ms = value.parse().ok().or(said.retry_ms);
        }
    }
    if !data.is_empty() {
        said.events.push(Event { name, data: data.join("\n"), id, complete: false });
    }
    said
}

/// The lines without their ends; what stands behind the last end is a line where it is not empty.
fn lines(body: &[u8]) -> Vec<Vec<u8>> {
    let (mut lines, mut line, mut at) = (Vec::new(), Vec::new(), 0);
    while at < body.len() {
        match body[at] {
            b'\r' if body.get(at + 1) == Some(&b'\n') => {
                lines.push(std::mem::take(&mut line));
                at += 1;
            }
            b'\r' | b'\n' => lines.push(std::mem::take(&mut line)),
            byte => line.push(byte),
        }
        at += 1;
    }
    // The body may have been cut inside a character.
    if let Err(error) = std::str::from_utf8(&line)
        && error.error_len().is_none()
    {
        line.truncate(error.valid_up_to());
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}
