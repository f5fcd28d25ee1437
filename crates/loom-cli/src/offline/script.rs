//! What the offline model says: answers made from the request by rule, cut into pieces.

use serde_json::json;

use super::Mode;

/// The longest piece, in bytes: so short that the budget on live text, four tokens for each one asked, never meets
/// an answer that keeps to its bound.
const PIECE_BYTES_MAX: usize = 16;

/// The most characters of a topic that a step repeats.
const TOPIC_CHARS_MAX: usize = 24;

/// The most characters of a prompt that an answer repeats.
const ECHO_CHARS_MAX: usize = 400;

/// The most words of a goal that are looked at.
const WORDS_MAX: usize = 64;

/// Words that say nothing about a goal.
const STOP_WORDS: [&str; 16] = [
    "the", "and", "for", "with", "from", "into", "that", "this", "our", "your", "all", "how", "its", "are",
    "was", "out",
];

/// A payment card number of the test range, for [`Mode::Leaky`].
const CARD: &str = "4111 1111 1111 1111";

/// What the model adds to every plan although nobody asked for it.
const ASIDE: &str = "an unasked-for aside of the offline model";

/// What the model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// JSON by a schema: a plan.
    Plan,
    /// Free text.
    Text,
}

/// One answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) pieces: Vec<String>,
    /// After how many pieces the connection breaks.
    pub(super) breaks_after: Option<usize>,
    /// Whether the bound on tokens cut the answer.
    pub(super) cut: bool,
}

impl Script {
    /// The answer to the last words of the user; `first` is the first request that this model gets.
    pub(super) fn of(mode: Mode, wanted: Wanted, asked: &str, tokens_max: Option<u64>, first: bool) -> Self {
        let text = match (mode, wanted) {
            (Mode::Nonsense, _) => "I would rather talk about the weather than about that.".to_owned(),
            (_, Wanted::Plan) => plan(asked.strip_prefix("Goal:").unwrap_or(asked), mode),
            (_, Wanted::Text) => answer(asked, mode),
        };
        let mut pieces = pieces(&text);
        let tokens_max = tokens_max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let cut = pieces.len() > tokens_max;
        pieces.truncate(tokens_max);
        let breaks_after = (mode == Mode::Flaky && first).then_some(pieces.len() / 2);
        Self { pieces, breaks_after, cut }
    }
}

/// A plan for a goal. Like many models it adds a field that nobody asked for; whoever reads the plan drops it.
fn plan(goal: &str, mode: Mode) -> String {
    let words = telling_words(goal);
    let topic = clipped(&words.join(" "), TOPIC_CHARS_MAX);
    let topic = if topic.is_empty() { "the goal".to_owned() } else { topic };
    let mut steps = vec![format!("Write down what \"{topic}\" means when done")];
    if let [first, .., last] = words.as_slice() {
        let (first, last) = (clipped(first, TOPIC_CHARS_MAX / 2), clipped(last, TOPIC_CHARS_MAX / 2));
        steps.push(format!("Gather what {first} and {last} need"));
    }
    steps.push(match mode {
        Mode::Leaky => format!("Pay with the card {CARD}"),
        _ => format!("Do the smallest useful part of {}", clipped(&topic, TOPIC_CHARS_MAX)),
    });
    steps.push("Look at the result and note what is left".to_owned());
    format!("{{\"steps\": {}, \"notes\": \"{ASIDE}\"}}", json!(steps))
}

/// An answer that shows that the prompt arrived.
fn answer(prompt: &str, mode: Mode) -> String {
    let words = prompt.split_whitespace().count();
    let mut text = format!("The offline model read {words} words: \"{}\".", clipped(prompt, ECHO_CHARS_MAX));
    if mode == Mode::Leaky {
        text.push_str(&format!(" The card on file is {CARD}, as it happens."));
    }
    text.push_str(" It answers by rule and knows nothing; give --base-url to ask a real one.");
    text
}

fn telling_words(goal: &str) -> Vec<&str> {
    let words = goal.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.filter(|word| !STOP_WORDS.contains(&word.to_lowercase().as_str())).take(WORDS_MAX).collect()
}

fn clipped(text: &str, chars_max: usize) -> String {
    text.trim().chars().take(chars_max).collect::<String>().trim_end().to_owned()
}

/// The text in pieces as models give them: a word with the space before it, long words in parts.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut piece = String::new();
    for c in text.chars() {
        let full = piece.len() + c.len_utf8() > PIECE_BYTES_MAX;
        if (c == ' ' || full) && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
        }
        piece.push(c);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(mode: Mode, wanted: Wanted, asked: &str) -> String {
        Script::of(mode, wanted, asked, None, true).pieces.concat()
    }

    #[test]
    fn a_plan_is_made_of_the_words_of_its_goal_and_keeps_to_the_schema() {
        for goal in
            ["repaint the garden shed", "x", "", "déménager à Łódź avec 日本語の本", &"long ".repeat(5000)]
        {
            let text = said(Mode::Normal, Wanted::Plan, &format!("Goal: {goal}"));
            let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
            let steps = plan["steps"].as_array().unwrap();
            assert!((1..=4).contains(&steps.len()), "{text}");
            for step in steps {
                assert!((1..=60).contains(&step.as_str().unwrap().chars().count()), "{text}");
            }
        }
        let text = said(Mode::Normal, Wanted::Plan, "Goal: repaint the garden shed");
        assert!(
            text.contains("repaint garden shed") && text.contains("Gather what repaint and shed need"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_repeats_the_prompt_and_stops_at_its_bound() {
        assert!(
            said(Mode::Normal, Wanted::Text, "name three rivers").contains("3 words: \"name three rivers\"")
        );
        let script = Script::of(Mode::Normal, Wanted::Text, "name three rivers", Some(5), true);
        assert_eq!((script.pieces.len(), script.cut), (5, true));
    }

    #[test]
    fn pieces_are_small_and_lose_nothing() {
        let text = "a  b\n 日本語日本語日本語 averyveryverylongwordindeed";
        let pieces = pieces(text);
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE_BYTES_MAX));
    }

    #[test]
    fn only_the_first_answer_of_the_flaky_model_breaks() {
        let breaks = |first| Script::of(Mode::Flaky, Wanted::Text, "hi", None, first).breaks_after;
        assert!(breaks(true).is_some_and(|after| after > 0));
        assert_eq!(breaks(false), None);
    }
}
