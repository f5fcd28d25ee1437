//! What never reaches the journal, judged on the bytes of a real store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{CallError, Effect, EffectContext, EffectDelta, EffectRuntime};
use loom_store_sqlite::{SqliteOptions, SqliteStore};
use loom_workflow::{Ctx, StartOptions, Workflow, flow};

/// Emitted by the model and dropped by the decider. The quote makes its JSON form differ from the plain one.
const CANARY: &str = "canary \"7f3a\" zebra";
/// What the decider returns.
const CHOICE: &str = "choose-the-blue-door";

struct Model;

impl Effect for Model {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "llm.choose"
    }

    async fn execute(&self, _goal: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let deltas = cx.deltas();
        for piece in [CANARY, " | ", CHOICE] {
            deltas.text(piece)?;
        }
        Ok(format!("{CANARY} | {CHOICE}"))
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }
}

/// A folder of one test, emptied before it and removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("loom-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// D5: no delta reaches the journal; on replay neither decider, effect nor sink runs.
#[tokio::test]
async fn the_store_holds_the_decision_and_no_byte_of_the_live_text() {
    let folder = Folder::new("journal-bytes");
    let location = folder.0.join("loom.db");
    let seen = Arc::new(Mutex::new(String::new()));
    let workflow = workflow(&location, &seen).await;
    let handle = workflow.start::<String>("choose", &"a door", StartOptions::new()).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), CHOICE);
    assert!(seen.lock().unwrap().contains(CANARY), "the live view saw the canary");

    let open = read_all(&folder.0);
    assert!(forms(CHOICE).iter().any(|form| holds(&open, form)), "the search finds what is there");
    for form in forms(CANARY) {
        assert!(!holds(&open, &form), "the canary is in the store's files");
    }

    seen.lock().unwrap().clear();
    let replayed = workflow.replay(handle.id()).await.unwrap();
    assert_eq!(replayed.effect_calls, 0);
    assert!(seen.lock().unwrap().is_empty(), "a replay shows nothing live");
    drop(workflow);
    let closed = read_all(&folder.0);
    assert!(forms(CHOICE).iter().any(|form| holds(&closed, form)));
    assert!(!forms(CANARY).iter().any(|form| holds(&closed, form)));
}

async fn workflow(location: &Path, seen: &Arc<Mutex<String>>) -> Workflow {
    let store = SqliteStore::open(SqliteOptions::new(location).unwrap()).await.unwrap();
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Model).build().unwrap();
    let model = runtime.tool::<String, String>("llm.choose").unwrap();
    let seen = Arc::clone(seen);
    let choose = flow("choose", "1", move |ctx: Ctx, goal: String| {
        let seen = Arc::clone(&seen);
        async move {
            ctx.decide("door", async |scope| {
                let view = Arc::clone(&seen);
                let text = scope
                    .invoke_transient(model, goal)
                    .on_delta(move |delta| {
                        if let EffectDelta::Text { text, .. } = delta {
                            view.lock().unwrap().push_str(text.unwrap_tainted());
                        }
                    })
                    .await?;
                Ok::<_, CallError>(text.rsplit(" | ").next().unwrap_or_default().to_owned())
            })
            .await
        }
    });
    Workflow::builder(runtime, Arc::new(store)).flow(choose).build().unwrap()
}

/// Every byte of every file in the folder: main file, write-ahead log, index, whatever else there is.
fn read_all(folder: &Path) -> Vec<u8> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).flat_map(|path| fs::read(path).unwrap()).collect()
}

/// The text as it may stand in a file: plain, JSON-escaped, UTF-16 of either.
fn forms(text: &str) -> Vec<Vec<u8>> {
    let json = serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    vec![text.as_bytes().to_vec(), json.clone().into_bytes(), utf16(text), utf16(&json)]
}

fn holds(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}
