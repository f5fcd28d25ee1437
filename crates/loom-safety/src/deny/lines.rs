//! The deny file: one pattern a line.

use super::{DenyPattern, DenyPatternError, DenyPatternFault, DenyPatternPosition};

/// The patterns of a deny file, each with its line.
pub(super) fn parse(
    text: &str,
) -> impl Iterator<Item = Result<(DenyPatternPosition, DenyPattern), DenyPatternError>> + '_ {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().enumerate().filter_map(|(at, line)| {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let position = DenyPatternPosition::Line(at + 1);
        Some(
            pattern(line)
                .map(|pattern| (position, pattern))
                .map_err(|fault| DenyPatternError::new(position, fault)),
        )
    })
}

fn pattern(line: &str) -> Result<DenyPattern, DenyPatternFault> {
    if let Some(literal) = line.strip_prefix('\\') {
        return Ok(DenyPattern::literal(literal));
    }
    let Some(expression) = line.strip_prefix('/') else {
        return Ok(DenyPattern::literal(line).ignoring_case().word_bounded());
    };
    let (expression, flags) = expression.rsplit_once('/').ok_or(DenyPatternFault::Unclosed)?;
    flags.chars().try_fold(DenyPattern::regex(expression), |pattern, flag| match flag {
        'i' => Ok(pattern.ignoring_case()),
        'w' => Ok(pattern.word_bounded()),
        _ => Err(DenyPatternFault::UnknownFlag),
    })
}
