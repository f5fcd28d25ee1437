//! The rows of the specification: tables of `| id | status | statement |`.

use crate::finding::Finding;

/// How far a row is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Built,
    /// Built but for what the cell names.
    Partly,
    Planned,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::Partly => "partly",
            Self::Planned => "planned",
        }
    }

    fn parse(cell: &str) -> Result<Self, String> {
        match cell.split_once(':') {
            None if cell == "built" => Ok(Self::Built),
            None if cell == "planned" => Ok(Self::Planned),
            Some(("partly", missing)) if !missing.trim().is_empty() => Ok(Self::Partly),
            _ => Err(format!("status `{cell}`; expected `built`, `partly: what is missing` or `planned`")),
        }
    }
}

/// One row, by its id without the `+` of rows that go beyond the seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) status: Status,
    /// The line in the file, from 1.
    pub(super) line: usize,
}

/// Reads every row; what does not parse is reported, never skipped in silence.
pub(super) fn parse(text: &str, findings: &mut Vec<Finding>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some(inner) = line.trim().strip_prefix('|') else { continue };
        let mut cells = inner.split('|').map(str::trim);
        let Some(id) = cells.next().and_then(row_id) else { continue };
        let mut fail = |message: String| {
            findings.push(Finding::new("spec", format!("docs/spec.md:{}", at + 1), message))
        };
        if rows.iter().any(|row| row.id == id) {
            fail(format!("{id} stands here a second time"));
            continue;
        }
        match Status::parse(cells.next().unwrap_or_default()) {
            Ok(status) => rows.push(Row { id, status, line: at + 1 }),
            Err(message) => fail(format!("{id}: {message}")),
        }
        if cells.next().is_none_or(str::is_empty) {
            fail("a row without a statement".into());
        }
    }
    rows
}

/// The id in a cell or a doc comment: one capital, digits, perhaps a `+`, perhaps emphasis.
pub(super) fn row_id(text: &str) -> Option<String> {
    let id = text.trim().trim_matches(['*', '`']);
    let id = id.strip_suffix('+').unwrap_or(id);
    let digits = id.strip_prefix(|c: char| c.is_ascii_uppercase())?;
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_any_table_and_headers_are_none() {
        let text = "# Spec\n\n| row | status | what |\n|---|---|---|\n| D1 | built | a |\n| **D14+** | partly: b | c |\n\n\
                    | S1 | planned | d |\n";
        let mut findings = Vec::new();
        let rows = parse(text, &mut findings);
        assert_eq!(findings, []);
        let read: Vec<(&str, Status, usize)> =
            rows.iter().map(|row| (row.id.as_str(), row.status, row.line)).collect();
        assert_eq!(read, [("D1", Status::Built, 5), ("D14", Status::Partly, 6), ("S1", Status::Planned, 8)]);
    }

    #[test]
    fn a_status_that_is_none_a_second_row_and_an_empty_statement_are_reported() {
        let mut findings = Vec::new();
        parse("| D1 | done | a |\n| D2 | partly: | a |\n| D3 | built |\n| D3 | built | a |\n", &mut findings);
        let told: Vec<String> = findings.iter().map(|finding| finding.message.clone()).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[0].contains("`done`") && told[1].contains("`partly:`"), "{told:?}");
    }

    #[test]
    fn an_id_is_a_capital_and_digits() {
        assert_eq!(row_id("D14+"), Some("D14".into()));
        assert_eq!(row_id(" `T1` "), Some("T1".into()));
        for none in ["row", "---", "D", "DD1", "D1a", ""] {
            assert_eq!(row_id(none), None, "{none}");
        }
    }
}
