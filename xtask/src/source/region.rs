//! Finds the lines that only a test build compiles.

use super::Line;

const GATES: [&str; 4] = ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(any(test", "#[test]"];

/// Marks each line of an item behind a test gate, from the attribute to the item's end.
pub(super) fn mark_tests(lines: &mut [Line]) {
    walk(lines, |line, _| line.test = true);
}

/// The names of the modules that are declared out of line behind a test gate (`#[cfg(test)] mod x;`).
pub(crate) fn test_modules(lines: &[Line]) -> Vec<String> {
    let mut lines = lines.to_vec();
    let mut names = Vec::new();
    walk(&mut lines, |_, item| names.extend(declared_module(item)));
    names
}

/// Calls `visit` for each gated line, with the gated item's code so far once it has ended in a `;`.
fn walk(lines: &mut [Line], mut visit: impl FnMut(&mut Line, &str)) {
    let mut region = Region::Outside;
    for line in lines {
        let code = line.code.clone();
        let mut gated = !matches!(region, Region::Outside);
        let mut ended = String::new();
        let mut from = 0;
        if matches!(region, Region::Outside)
            && let Some(end) = gate_end(&code)
        {
            region = Region::Pending { nest: 0, item: String::new() };
            gated = true;
            from = end;
        }
        for c in code.get(from..).unwrap_or_default().chars() {
            if let Some(item) = region.step(c) {
                ended = item;
            }
            if matches!(region, Region::Outside) {
                break;
            }
        }
        if let Region::Pending { item, .. } = &mut region {
            item.push(' ');
        }
        if gated {
            visit(line, &ended);
        }
    }
}

/// Where the walk stands: outside, between a gate and its item's body, or inside the body.
enum Region {
    Outside,
    Pending { nest: usize, item: String },
    Inside { depth: usize },
}

impl Region {
    /// Takes one character of code; gives the item's text when it ended without a body.
    fn step(&mut self, c: char) -> Option<String> {
        match self {
            Self::Outside => {}
            Self::Inside { depth } => match c {
                '{' => *depth += 1,
                '}' if *depth == 1 => *self = Self::Outside,
                '}' => *depth -= 1,
                _ => {}
            },
            Self::Pending { nest, item } => match c {
                '{' if *nest == 0 => *self = Self::Inside { depth: 1 },
                ';' if *nest == 0 => {
                    let item = std::mem::take(item);
                    *self = Self::Outside;
                    return Some(item);
                }
                c => {
                    match c {
                        '(' | '[' | '{' => *nest += 1,
                        ')' | ']' | '}' => *nest = nest.saturating_sub(1),
                        _ => {}
                    }
                    item.push(c);
                }
            },
        }
        None
    }
}

fn gate_end(code: &str) -> Option<usize> {
    GATES.iter().find_map(|gate| {
        let start = code.find(gate)? + gate.len();
        let rest = code.get(start..)?;
        // A gate cut inside its brackets (`#[cfg(all(test, …)]`) ends at the closing bracket of the attribute.
        Some(if gate.ends_with(']') { start } else { start + rest.find(']').map_or(rest.len(), |at| at + 1) })
    })
}

fn declared_module(item: &str) -> Option<String> {
    let mut words = item.split_whitespace().skip_while(|word| *word != "mod");
    words.next()?;
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn marked(text: &str) -> Vec<usize> {
        lines(text).iter().enumerate().filter(|(_, line)| line.test).map(|(at, _)| at + 1).collect()
    }

    #[test]
    fn a_test_module_is_marked_to_its_closing_brace() {
        assert_eq!(marked("a\n#[cfg(test)]\nmod tests {\n  fn x() { '}' }\n}\nb"), [2, 3, 4, 5]);
    }

    #[test]
    fn a_gated_declaration_ends_at_its_semicolon() {
        assert_eq!(marked("#[cfg(test)]\nmod tests;\nfn a() {}\n#[cfg(test)] use x::{y, z};\nb"), [1, 2, 4]);
        assert_eq!(marked("#[cfg(test)]\nfn a(x: [u8; 3]) {\n b\n}\nc"), [1, 2, 3, 4]);
    }

    #[test]
    fn a_gate_with_more_conditions_and_a_test_function_count() {
        assert_eq!(marked("#[cfg(all(test, unix))]\nmod t {\n}\na"), [1, 2, 3]);
        assert_eq!(marked("#[test]\nfn a() {\n}\nb"), [1, 2, 3]);
        assert_eq!(marked("#[cfg(not(test))]\nfn a() {\n}"), [] as [usize; 0]);
    }

    #[test]
    fn modules_declared_out_of_line_are_named() {
        let text =
            "#[cfg(test)]\nmod laws;\nmod real;\n#[cfg(test)]\n#[path = \"x.rs\"]\npub(crate) mod odd;";
        assert_eq!(test_modules(&lines(text)), ["laws", "odd"]);
    }
}
