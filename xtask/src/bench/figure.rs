//! One measured line: a name and its numbers.

use serde_json::{Map, Value};

use crate::stop::{During, Stop};

/// How much worse a sabotaged figure is; beyond every gate and every scale of a slow clock.
const WORSE: f64 = 1000.0;

/// `{"bench": "call.ready.3", "ns": 76.1, "allocs": 0}`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) name: String,
    fields: Map<String, Value>,
    /// The line as it came, with what was put in since.
    line: String,
}

impl Figure {
    pub(super) fn parse(line: &str) -> Result<Self, Stop> {
        let line = line.trim();
        let fields: Map<String, Value> =
            serde_json::from_str(line).during("reading a bench line as a JSON object")?;
        let name = fields.get("bench").and_then(Value::as_str);
        let name = name.ok_or_else(|| Stop::failed("a bench line has no text field `bench`"))?.to_owned();
        Ok(Self { name, fields, line: line.to_owned() })
    }

    pub(super) fn number(&self, field: &str) -> Option<f64> {
        self.fields.get(field).and_then(Value::as_f64)
    }

    /// Adds a number at the end of the line, or replaces it.
    pub(super) fn put(&mut self, field: &str, number: f64) {
        let fresh = self.fields.insert(field.to_owned(), number.into()).is_none();
        self.line = match self.line.strip_suffix('}') {
            Some(open) if fresh => format!("{open},\"{field}\":{number}}}"),
            _ => Value::Object(self.fields.clone()).to_string(),
        };
    }

    /// Makes every number worse: costs rise, rates and ratios fall. A floor is no figure of ours and stays.
    pub(super) fn worsen(&mut self) {
        if self.name.starts_with("floor.") {
            return;
        }
        let fields: Vec<String> = self.fields.keys().cloned().collect();
        for field in fields {
            let Some(number) = self.number(&field) else { continue };
            let better_when_high = matches!(field.as_str(), "ratio" | "of_lines") || field.ends_with("per_s");
            self.put(&field, if better_when_high { number / WORSE } else { (number + 1.0) * WORSE });
        }
    }

    pub(super) fn line(&self) -> &str {
        &self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_put_at_the_end_and_the_rest_stays_as_it_came() {
        let mut figure = Figure::parse(r#"{"bench": "call.bare", "ns": 1.50, "allocs": 0}"#).unwrap();
        figure.put("instructions", 12.0);
        assert_eq!(figure.line(), r#"{"bench": "call.bare", "ns": 1.50, "allocs": 0,"instructions":12}"#);
        assert_eq!(figure.number("instructions"), Some(12.0));
    }

    #[test]
    fn worse_means_dearer_and_slower() {
        let mut figure = Figure::parse(r#"{"bench":"x","ns":2,"allocs":0,"ratio":1.9}"#).unwrap();
        figure.worsen();
        assert!(figure.number("ns").unwrap() > 2000.0 && figure.number("allocs").unwrap() >= 1.0);
        assert!(figure.number("ratio").unwrap() < 0.01);
    }

    #[test]
    fn a_line_that_is_no_figure_is_refused() {
        assert!(Figure::parse("warming up").is_err());
        assert!(Figure::parse(r#"{"ns":1}"#).is_err());
    }
}
