//! The command line: commands, flags, and what a mistake in them is told.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::offline::Mode;

/// The most tokens an answer to `loom ask` may have unless it is said.
const ASK_TOKENS_MAX_DEFAULT: u32 = 1024;

/// How many executions `loom logs` lists unless it is said.
const LIST_DEFAULT: u32 = 20;

/// Governed prompts and plans: streamed live through guards, journaled, and replayed.
#[derive(Debug, Parser)]
#[command(
    name = "loom",
    version,
    subcommand_value_name = "COMMAND",
    after_help = "Environment: LOOM_DB, NO_COLOR, LOOM_API_KEY (else OPENAI_, ANTHROPIC_ or GEMINI_API_KEY).\n\
                  Exit codes: 0 ok, 1 failed, 2 usage, 3 severed by a guard, 4 refused, 5 blocked, 130 interrupted."
)]
pub(crate) struct Args {
    /// Write one JSON object a line to stdout instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask the model for a plan, stream it, and journal the decision.
    Plan(PlanArgs),
    /// Ask the model once; stream the answer and record nothing.
    Ask(AskArgs),
    /// List executions, or the events of one.
    Logs(LogsArgs),
    /// Serve a recorded decision from its journal, without any call.
    Replay(ReplayArgs),
    /// Begin a crate that extends Loom.
    #[command(subcommand_value_name = "KIND", subcommand_help_heading = "Kinds")]
    New {
        #[command(subcommand)]
        kind: NewKind,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum NewKind {
    /// An output middleware that builds, passes its conformance kit, and lies in no workspace.
    Middleware(NewArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The crate's name.
    pub(crate) name: String,
    /// Where its folder is made.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) path: PathBuf,
    /// The folder with Loom's own crates, where they are not to come from crates.io [default: those that this command
    /// was built from, if they are still there].
    #[arg(long, value_name = "DIR")]
    pub(crate) crates: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// What to plan; `-` reads it from stdin.
    pub(crate) goal: String,
    /// The id the execution shall have; one that exists with the same goal is attached to, or resumed.
    #[arg(long, value_name = "ID")]
    pub(crate) execution_id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    /// What to ask; `-` reads it from stdin.
    pub(crate) prompt: String,
    /// The most tokens the answer may have.
    #[arg(long, value_name = "N", default_value_t = ASK_TOKENS_MAX_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_tokens: u32,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    /// The execution, by its id or the unique beginning of it; all of them without.
    pub(crate) id: Option<String>,
    /// The most executions to list, newest first.
    #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "id")]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The execution, by its id or the unique beginning of it.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The journal: a path or a `file:` URI [default: $LOOM_DB, else $XDG_DATA_HOME/loom/loom.db].
    #[arg(long, value_name = "PATH")]
    pub(crate) db: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// The provider's dialect; without it `openai`, which most servers speak. Named without --base-url, the provider's
    /// own address is asked.
    #[arg(long, value_name = "NAME", value_enum, conflicts_with = "offline")]
    pub(crate) provider: Option<Vendor>,
    /// What stands before `/chat/completions`, `/messages` or `/models/…`; without it and --provider an offline model
    /// answers.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The model's name, as the provider spells it.
    #[arg(long, value_name = "NAME", default_value = loom_llm::request::MODEL_DEFAULT, value_parser = model_name)]
    pub(crate) model: String,
    /// The guards: a list of `pii` and `deny`, or `none` [default: all that can run].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_enum)]
    pub(crate) rules: Vec<Rule>,
    /// The deny patterns, one a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) deny: Option<PathBuf>,
    /// Ask the offline model, and say how it behaves.
    #[arg(long, value_name = "MODE", value_enum, num_args = 0..=1, default_missing_value = "normal", conflicts_with = "base_url")]
    pub(crate) offline: Option<Mode>,
    /// Let the key and the URL's query travel over plain HTTP to another machine.
    #[arg(long, requires = "base_url")]
    pub(crate) allow_plain_http: bool,
}

/// A provider by its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Vendor {
    /// Chat completions, as OpenAI and most other servers speak them.
    Openai,
    /// Anthropic messages.
    Anthropic,
    /// Gemini generateContent.
    Google,
}

/// A guard by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Rule {
    /// Payment cards, e-mail addresses, US social security numbers and IBANs.
    Pii,
    /// The patterns of `--deny FILE`.
    Deny,
    /// No guard at all.
    None,
}

impl Args {
    /// Reads the command line.
    ///
    /// `--offline` has an optional mode. What stands after it and is none is the goal or prompt, if there is no
    /// other: `loom ask --offline "hi"`.
    pub(crate) fn read(line: &[OsString]) -> Result<Self, clap::Error> {
        let error = match Self::try_parse_from(line) {
            Ok(args) => return Ok(args),
            Err(error) => error,
        };
        if !is_about_the_offline_mode(&error) {
            return Err(error);
        }
        let filled =
            line.iter().map(|arg| if arg == "--offline" { "--offline=normal".into() } else { arg.clone() });
        Self::try_parse_from(filled).map_err(|_| error)
    }
}

/// What a mistake in the command line is, in one line and without advice.
pub(crate) fn mistake(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = text.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

fn model_name(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        Err("expected a model's name, got an empty one")
    } else {
        Ok(text.to_owned())
    }
}

fn is_about_the_offline_mode(error: &clap::Error) -> bool {
    let about = |text: &str| text.starts_with("--offline");
    error.kind() == ErrorKind::InvalidValue
        && matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(arg)) if about(arg))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn read(line: &str) -> Result<Args, clap::Error> {
        let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Args::read(&line)
    }

    #[test]
    fn the_declarations_hold_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_offline_mode_is_optional_wherever_it_stands() {
        let mode = |line: &str| match read(line).unwrap().command {
            Some(Command::Ask(ask)) => (ask.model.offline, ask.prompt),
            other => panic!("{other:?}"),
        };
        assert_eq!(mode("loom ask hi"), (None, "hi".to_owned()));
        assert_eq!(mode("loom ask hi --offline"), (Some(Mode::Normal), "hi".to_owned()));
        assert_eq!(mode("loom ask --offline hi"), (Some(Mode::Normal), "hi".to_owned()));
        assert_eq!(mode("loom ask --offline flaky hi"), (Some(Mode::Flaky), "hi".to_owned()));
        assert_eq!(mode("loom ask --offline=leaky hi"), (Some(Mode::Leaky), "hi".to_owned()));
        let misspelled = read("loom ask hi --offline flakey").unwrap_err();
        assert!(misspelled.to_string().contains("flaky"), "{misspelled}");
        assert!(read("loom ask hi --offline --base-url http://x/v1").is_err());
    }
}
