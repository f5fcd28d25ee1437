//! Texts to judge, and the ways to cut them.

/// Text that nobody has a reason to refuse or to change.
pub(crate) const PROSE: &str = "plain prose, nothing to see";

/// A text amid prose.
pub(crate) fn embedded(text: &str) -> String {
    format!("before it come words, {text} and words come behind")
}

/// Text that was never meant kindly, and text that was: what any guard or inspector has to take without a panic.
pub(crate) fn hostile() -> Vec<String> {
    vec![
        " ".to_owned(),
        "\0\u{1}\u{7f}".to_owned(),
        PROSE.to_owned(),
        "e\u{301}e\u{301} \u{200d}\u{200b}\u{ad}\u{2060}\u{202e}".to_owned(),
        "日本語のテキスト 한국어 ไทย עברית العربية".to_owned(),
        "👩‍👩‍👧‍👦🏳️‍🌈𝟜𝟙𝟙𝟙".to_owned(),
        "{\"a\": [1, 2, {\"b\": \"\\u0034\\\"\"}]".to_owned(),
        "((((((((((((((((((((a+)+)+)+)+".to_owned(),
        "1 1-1 1-1 1-1 1-1 1-1 1-1 1-1 1-".to_owned(),
        "a@".repeat(200),
        "\r\n\u{2028}\u{2029}\u{85}".to_owned(),
        "x".repeat(70_000),
    ]
}

/// Ways to cut a text between characters: whole, character by character, in two at many places, and at random places
/// drawn from `seed`. A piece is never empty.
pub(crate) fn splits(text: &str, seed: u64) -> Vec<Vec<&str>> {
    const HALVES: usize = 48;
    const RANDOM: u64 = 16;
    const OF_LONG: usize = 4;
    const SINGLE_CHARS: usize = 4096;
    const RANDOM_PIECES: u64 = 256;
    let inner: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    // A long text is cut in fewer places and into longer pieces, so that a run of the kit stays short.
    let is_long = inner.len() >= SINGLE_CHARS;
    let (halves, random) = if is_long { (OF_LONG, OF_LONG as u64) } else { (HALVES, RANDOM) };
    let mut all = vec![cut(text, &[])];
    if !is_long {
        all.push(cut(text, &inner));
    }
    let step = inner.len().div_ceil(halves).max(1);
    all.extend(inner.iter().step_by(step).map(|at| cut(text, &[*at])));
    if !inner.is_empty() {
        all.extend((0..random).map(|round| {
            let mut dice = Dice(seed ^ (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let one_in = (1 + dice.draw() % 12) * (1 + inner.len() as u64 / RANDOM_PIECES);
            let places: Vec<usize> =
                inner.iter().copied().filter(|_| dice.draw().is_multiple_of(one_in)).collect();
            cut(text, &places)
        }));
    }
    all
}

fn cut<'a>(text: &'a str, places: &[usize]) -> Vec<&'a str> {
    let mut pieces = Vec::with_capacity(places.len() + 1);
    let mut from = 0;
    for to in places.iter().copied().chain([text.len()]) {
        pieces.extend(text.get(from..to).filter(|piece| !piece.is_empty()));
        from = to;
    }
    pieces
}

/// SplitMix64 (Steele, Lea, Flood, 2014): a run can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_is_the_text_and_no_piece_is_empty() {
        for text in hostile() {
            for split in splits(&text, 7) {
                assert_eq!(split.concat(), text);
                assert!(split.iter().all(|piece| !piece.is_empty()));
            }
        }
    }
}
