//! The place of a value among the arguments of a call, as a JSON path (RFC 9535) that names one place.

/// One step on the way to a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// The steps of a path that names one place, at most `steps_max` of them; `None` for any other text.
///
/// A name behind a dot may hold what the standard would want in quotes: servers write names there as they are.
pub(super) fn steps(path: &str, steps_max: usize) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == steps_max {
            return None;
        }
        let (step, after) = match rest.strip_prefix('.') {
            Some(name) => dotted(name)?,
            None => bracketed(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

fn dotted(text: &str) -> Option<(Step, &str)> {
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    let foreign = |letter: char| matches!(letter, ']' | '\'' | '"') || letter.is_control();
    let plain = !name.is_empty() && name != "*" && !name.contains(foreign);
    plain.then(|| (Step::Name(name.to_owned()), rest))
}

fn bracketed(text: &str) -> Option<(Step, &str)> {
    if let Some(quote @ ('\'' | '"')) = text.chars().next() {
        let (name, rest) = quoted(text.get(1..)?, quote)?;
        return Some((Step::Name(name), rest.strip_prefix(']')?));
    }
    let (digits, rest) = text.split_once(']')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let plain = canonical && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().map(|index| (Step::Index(index), rest))
}

/// The name in quotes, its escapes resolved, and what stands behind the closing quote.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut json = String::from('"');
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                (_, '\'') if quote == '\'' => json.push('\''),
                (_, escaped) => json.extend(['\\', escaped]),
            },
            _ if letter == quote => {
                json.push('"');
                return Some((serde_json::from_str(&json).ok()?, text.get(at + 1..)?));
            }
            '"' => json.push_str("\\\""),
            _ => json.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Step {
        Step::Name(name.to_owned())
    }

    #[test]
    fn a_path_to_one_place_is_its_steps() {
        for (path, expected) in [
            ("$", vec![]),
            ("$.a", vec![name("a")]),
            ("$.a.b[0].c", vec![name("a"), name("b"), Step::Index(0), name("c")]),
            ("$['a'][\"b\"][10]", vec![name("a"), name("b"), Step::Index(10)]),
            ("$['a.b[0]']['']", vec![name("a.b[0]"), name("")]),
            (r#"$['it\'s "\u00e9\n\\"']"#, vec![name("it's \"é\n\\\"")]),
            (r#"$["\"'\ud834\udd1e"]"#, vec![name("\"'𝄞")]),
            ("$.$ref.@type.x-y.größe", vec![name("$ref"), name("@type"), name("x-y"), name("größe")]),
        ] {
            assert_eq!(steps(path, 4), Some(expected), "{path}");
        }
    }

    #[test]
    fn a_text_that_names_no_single_place_is_no_path() {
        let spaceless = "a .a $a $. $..a $.* $[*] $[] $[ $[0 $[-1] $[01] $[+1] $[0:2] $[0,1] $['a' $['a] $['a'x] \
                         $[?@.a] $.a] $.a'b $['\\x'] $['\\ud800'] $[99999999999999999999999] $[\"a\\'\"]";
        for path in spaceless.split(' ').chain(["", "$.a\n", "$['a\n']"]) {
            assert_eq!(steps(path, 4), None, "{path}");
        }
        assert_eq!(steps("$.a.b.c.d.e", 4), None, "five steps where four are the most");
    }
}
