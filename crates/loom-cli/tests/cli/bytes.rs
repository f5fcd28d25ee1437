//! What never reaches the journal's bytes, and the key.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::support::peer::Peer;
use crate::support::{Folder, Ran};

/// What the model says beside its plan, and the decider drops.
const CANARY: &str = "canary-7f3a, said \"live\" änd dropped";

/// What stands in the goal, and so in the journal: the search is known to find it.
const GOAL: &str = "repaint the \"blue\" gärden shed";

/// A text in every form in which a file could hold it.
fn forms(text: &str) -> BTreeMap<&'static str, Vec<u8>> {
    let json = serde_json::to_string(text).unwrap();
    let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let ascii: String = text
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) })
        .collect();
    BTreeMap::from([
        ("plain", text.as_bytes().to_vec()),
        ("JSON", json.trim_matches('"').as_bytes().to_vec()),
        (
            "JSON in JSON",
            serde_json::to_string(json.trim_matches('"')).unwrap().trim_matches('"').as_bytes().to_vec(),
        ),
        ("JSON, all escaped", escaped.into_bytes()),
        ("JSON, all but ASCII escaped", ascii.into_bytes()),
        ("UTF-16 LE", text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("UTF-16 BE", text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ])
}

fn holds(bytes: &[u8], text: &str) -> Option<&'static str> {
    let holds = |form: &[u8]| bytes.windows(form.len()).any(|window| window == form);
    forms(text).into_iter().find(|(_, form)| holds(form)).map(|(name, _)| name)
}

/// Every file of the folder: the journal, its `-wal` and `-shm`, its lock, and whatever else was left.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn the_search_finds_a_text_in_every_form() {
    for (name, form) in forms(CANARY) {
        let mut bytes = vec![0xfe; 5000];
        bytes.extend(form);
        assert!(holds(&bytes, CANARY).is_some(), "{name} was not found");
    }
    assert_eq!(holds(&[0; 5000], CANARY), None);
}

/// D5: what the model emitted and the decider dropped is in no file; the decision is, so the search is known to work.
#[test]
fn no_delta_text_reaches_the_journal_on_any_path() {
    let folder = Folder::new();
    // A reader that stays keeps the write-ahead log from being folded away, so that its bytes can be looked at.
    folder.run(&["plan", "set the journal up"]).ok();
    let reader = rusqlite::Connection::open(folder.db()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").unwrap();

    let answer = json!({"steps": ["Buy the bluest pÄint"], "notes": CANARY}).to_string();
    let severed = json!({"notes": CANARY, "steps": ["Pay with 4111 1111 1111 1111"]}).to_string();
    let peer = Peer::serve(move |number, out| {
        out.begin();
        match number {
            0 => out.say(&answer), // breaks after the canary
            1 => {
                out.say(CANARY);
                out.end();
            }
            2 => {
                out.say(&answer);
                out.end();
            }
            _ => {
                out.say(&severed[..severed.len() - 8]);
                out.say(&severed[severed.len() - 8..]);
                out.end();
            }
        }
    });
    let ran = folder.run(&["plan", GOAL, "--base-url", &peer.base_url(), "--execution-id", "kept"]).ok();
    assert!(ran.out.matches("canary-7f3a").count() >= 3, "the person at the terminal saw it: {ran:?}");
    folder.run(&["plan", GOAL, "--base-url", &peer.base_url(), "--execution-id", "severed"]).exit(3);
    let replayed = folder.run(&["replay", "kept"]).ok();
    assert!(replayed.out.contains("bluest pÄint") && !replayed.out.contains("canary"), "{replayed:?}");

    let files = files(&folder);
    assert!(files.keys().any(|name| name.ends_with("-wal")), "{:?}", files.keys());
    for decided in ["Buy the bluest pÄint", GOAL] {
        assert!(files.values().any(|bytes| holds(bytes, decided).is_some()), "`{decided}` was not found");
    }
    for (name, bytes) in &files {
        for dropped in [CANARY, "canary-7f3a", "4111 1111", "Pay with"] {
            assert_eq!(holds(bytes, dropped), None, "`{name}` holds `{dropped}`");
        }
    }
    drop(reader);
}

/// D5: the offline model's aside, which every plan of it has, is live only.
#[test]
fn the_offline_model_s_aside_is_shown_and_not_kept() {
    let folder = Folder::new();
    let ran = folder.run(&["plan", "repaint the shed"]).ok();
    assert!(ran.out.contains("unasked-for"), "{ran:?}");
    let files = files(&folder);
    assert!(files.values().any(|bytes| holds(bytes, "smallest useful part").is_some()));
    assert!(files.values().all(|bytes| holds(bytes, "unasked-for").is_none()));
}

/// The key goes to the provider, and to no stream and no file, also where the provider repeats it.
#[test]
fn the_key_is_never_printed_nor_journaled() {
    const KEY: &str = "sk-test-3f9c1b7a";
    let folder = Folder::new();
    let peer = Peer::serve(|number, answer| match number {
        0 => {
            answer.begin();
            answer.say(r#"{"steps": ["Buy paint"]}"#);
            answer.end();
        }
        _ => answer.status(
            "401 Unauthorized",
            "application/json",
            &json!({"error": {"message": format!("wrong key {KEY}")}}).to_string(),
        ),
    });
    let run = |variables: &[(&str, &str)], command: &str| {
        let mut loom = folder.loom(&[command, "repaint", "--json", "--base-url", &peer.base_url()]);
        Ran::of(loom.envs(variables.iter().copied()))
    };
    let mut seen = vec![run(&[("LOOM_API_KEY", KEY), ("OPENAI_API_KEY", "sk-other")], "plan").ok()];
    let refused = run(&[("OPENAI_API_KEY", KEY)], "plan").exit(1);
    assert_eq!(refused.error().0, "ProviderError");
    assert!(refused.error().1.contains("401"), "{refused:?}");
    seen.push(refused);
    seen.push(run(&[("OPENAI_API_KEY", KEY)], "ask").exit(1));
    let requests = peer.requests();
    assert_eq!(requests.len(), 3, "a wrong key is not tried again");
    for request in requests {
        assert!(
            request.head.to_lowercase().contains(&format!("authorization: bearer {KEY}")),
            "{}",
            request.head
        );
    }
    seen.extend(folder.executions().iter().map(|(id, _)| folder.run(&["logs", id])));
    for ran in seen {
        assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{ran:?}");
    }
    for (name, bytes) in files(&folder) {
        assert_eq!(holds(&bytes, KEY), None, "{name}");
    }
}
