//! The recorded streams that are short enough to be fed again and again.

#[path = "../shared/recordings.rs"]
mod all;

/// The longest recorded event used: longer ones show nothing more and make a run slow.
const EVENT_BYTES_MAX: usize = 1024;

/// The data of the events of each recorded stream of a folder, in order.
pub(crate) fn streams(folder: &str) -> Vec<Vec<String>> {
    let fits =
        |events: Vec<String>| events.into_iter().filter(|event| event.len() <= EVENT_BYTES_MAX).collect();
    all::streams(folder).into_iter().map(|(_, events)| fits(events)).collect()
}
