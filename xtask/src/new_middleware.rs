//! `new-middleware`: the beginning of a third-party crate, written as `loom new middleware` writes it.

use std::path::Path;
use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::scaffold;
use crate::stop::Stop;
use crate::terminal::say;
use crate::workspace::Workspace;

/// `new-middleware NAME [--path DIR] [--crates DIR]`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let grammar = Grammar { options: &["--path", "--crates"], words_max: 1, ..Grammar::default() };
    let args = Args::parse(words, grammar)?;
    let Some(name) = args.words.first() else {
        return Err(Stop::Usage("expected the new crate's name".into()));
    };
    let parent = Path::new(args.value("--path").unwrap_or("."));
    let own = workspace.root.join("crates");
    let crates = args.value("--crates").map_or(own.as_path(), Path::new);
    let made = scaffold::middleware(name, parent, Some(crates)).map_err(|error| {
        let told = error.to_string();
        if error.is_usage() { Stop::Usage(told) } else { Stop::Failed(told) }
    })?;
    say(made.display());
    eprintln!("next: cd {} && cargo test", made.display());
    Ok(ExitCode::SUCCESS)
}
