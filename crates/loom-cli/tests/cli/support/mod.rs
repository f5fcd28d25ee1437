//! The real binary, run in a folder of its own.

pub(crate) mod peer;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// A folder that is gone with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("loom-cli-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.0.join("loom.db")
    }

    /// The binary with this folder's journal, and nothing of the environment that loom reads.
    pub(crate) fn loom(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loom"));
        command.args(args).env("LOOM_DB", self.db()).stdin(Stdio::null()).current_dir(&self.0);
        for name in
            ["LOOM_API_KEY", "OPENAI_API_KEY", "NO_COLOR", "XDG_DATA_HOME", "http_proxy", "HTTP_PROXY"]
        {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.loom(args))
    }

    /// The ids of the journal's executions, newest first.
    pub(crate) fn executions(&self) -> Vec<(String, String)> {
        let listed = self.run(&["logs", "--json", "--limit", "1000"]);
        let text = |head: &Value, field: &str| head["execution"][field].as_str().unwrap().to_owned();
        listed.json().iter().map(|head| (text(head, "id"), text(head, "status"))).collect()
    }

    /// The kinds of an execution's events.
    pub(crate) fn kinds(&self, id: &str) -> Vec<String> {
        let events = self.run(&["logs", "--json", id]).ok().json();
        events.iter().map(|event| event["event"]["kind"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exit(0)
    }

    #[track_caller]
    pub(crate) fn exit(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Stdout as JSON lines.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    /// The stable name and the message of the last JSON line.
    #[track_caller]
    pub(crate) fn error(&self) -> (String, String) {
        let lines = self.json();
        let error = &lines.last().unwrap()["error"];
        (error["name"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    }
}

/// What comes first of each JSON line, runs of text as one: the order of a stream.
pub(crate) fn order(lines: &[Value]) -> Vec<String> {
    let mut keys: Vec<String> =
        lines.iter().map(|line| line.as_object().unwrap().keys().next().unwrap().clone()).collect();
    keys.dedup();
    keys
}

/// The text of a stream: a reset clears it.
pub(crate) fn fold(lines: &[Value]) -> String {
    lines.iter().fold(String::new(), |text, line| match (line.get("text"), line.get("reset")) {
        (Some(piece), _) => text + piece.as_str().unwrap(),
        (_, Some(_)) => String::new(),
        _ => text,
    })
}

/// A run that is under way, its stdout read line by line.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) out: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The next line of stdout.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(killed.unwrap().success());
    }

    /// Reads both streams to their end and waits.
    pub(crate) fn finish(self) -> (ExitStatus, String, String) {
        let Self { mut child, mut out } = self;
        let (mut rest, mut err) = (String::new(), String::new());
        out.read_to_string(&mut rest).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (child.wait().unwrap(), rest, err)
    }
}
