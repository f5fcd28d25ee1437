//! Events of a dialect, spoiled: fields lost, doubled, renamed or of another type, subtrees of other events, text cut off.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// Deeper than any parser of ours goes.
const NESTED: usize = 200;
/// More tool calls than one reply may open.
const FLOOD: usize = 80;
const STRINGS: [&str; 9] =
    ["", "x", "\0", "\u{7f}\u{feff}", "漢字🙂", "\"\\\n", "[DONE]", "{\"a\":", "tool_calls"];

/// Spoils the order of the events and some of the events themselves; what comes out is the data of each.
pub(crate) fn spoiled(events: &[Value], donors: &[Value], dice: &mut Dice<'_>) -> Vec<String> {
    let mut events = events.to_vec();
    while dice.once_in(3) && !events.is_empty() {
        let at = dice.below(events.len());
        match dice.below(5) {
            0 => drop(events.remove(at)),
            1 => events.insert(at, events[at].clone()),
            2 => events.swap(at, 0),
            3 => events.insert(at, donors[dice.below(donors.len())].clone()),
            _ => flood(&mut events, at, dice),
        }
    }
    let one_in = dice.one_of(&[2, 4, 16, 255]);
    let spoil = |mut event: Value| {
        while dice.once_in(one_in) {
            spoil_node(&mut event, donors, dice);
        }
        let mut text = event.to_string();
        if dice.once_in(24) {
            spoil_text(&mut text, dice);
        }
        text
    };
    events.into_iter().map(spoil).collect()
}

/// The event over and over, each time as another part of the reply.
fn flood(events: &mut Vec<Value>, at: usize, dice: &mut Dice<'_>) {
    let (event, by_index, by_id) = (events[at].clone(), dice.once_in(2), dice.once_in(2));
    for number in 0..1 + dice.below(FLOOD) {
        let mut event = event.clone();
        renumber(&mut event, number, by_index, by_id);
        events.insert(at, event);
    }
}

fn renumber(value: &mut Value, number: usize, by_index: bool, by_id: bool) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match name.as_str() {
                    "index" if by_index => *field = number.into(),
                    "id" if by_id => *field = format!("call-{number}").into(),
                    _ => renumber(field, number, by_index, by_id),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| renumber(item, number, by_index, by_id)),
        _ => {}
    }
}

/// Spoils a node at some depth.
fn spoil_node(value: &mut Value, donors: &[Value], dice: &mut Dice<'_>) {
    let deeper = dice.below(4) > 0;
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let name = name_of(fields, dice);
            if deeper {
                return spoil_node(&mut fields[&name], donors, dice);
            }
            match dice.below(3) {
                0 => drop(fields.remove(&name)),
                1 => {
                    let field = fields[&name].clone();
                    fields.insert(other_name(donors, dice), field);
                }
                _ => {
                    let field = fields.remove(&name).unwrap_or_default();
                    fields.insert(other_name(donors, dice), field);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = dice.below(items.len());
            if deeper {
                return spoil_node(&mut items[at], donors, dice);
            }
            match dice.below(3) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                _ => items.push(subtree(&donors[dice.below(donors.len())], dice)),
            }
        }
        leaf => *leaf = instead_of(leaf, donors, dice),
    }
}

/// A value of another type, of another size, or from elsewhere.
fn instead_of(leaf: &Value, donors: &[Value], dice: &mut Dice<'_>) -> Value {
    match dice.below(12) {
        0 => Value::Null,
        1 => true.into(),
        2 => dice.one_of(&[0, 1, -1, 61, 62, 4_294_967_296, i64::MAX]).into(),
        3 => dice.one_of(&[0.5, 1e15, 1e300, -0.0]).into(),
        4 => u64::MAX.into(),
        5 => json!([]),
        6 => json!({}),
        7 => json!([leaf]),
        8 => json!({"type": leaf, "text": leaf}),
        9 => (0..NESTED).fold(Value::Null, |inner, _| Value::Array(vec![inner])),
        10 => subtree(&donors[dice.below(donors.len())], dice),
        _ => {
            let text = leaf.as_str().unwrap_or_default();
            format!("{text}{}", dice.one_of(&STRINGS)).into()
        }
    }
}

fn subtree(value: &Value, dice: &mut Dice<'_>) -> Value {
    let children: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    if children.is_empty() || dice.once_in(4) {
        return value.clone();
    }
    subtree(children[dice.below(children.len())], dice)
}

fn name_of(fields: &Map<String, Value>, dice: &mut Dice<'_>) -> String {
    let at = dice.below(fields.len());
    fields.keys().nth(at).cloned().unwrap_or_default()
}

/// A name that the dialect uses somewhere.
fn other_name(donors: &[Value], dice: &mut Dice<'_>) -> String {
    let mut found = String::from("type");
    let mut value = &donors[dice.below(donors.len())];
    while let Some(inner) = match value {
        Value::Object(fields) if !fields.is_empty() => {
            found = name_of(fields, dice);
            fields.get(&found)
        }
        Value::Array(items) => items.first(),
        _ => None,
    } {
        value = inner;
        if dice.once_in(2) {
            break;
        }
    }
    found
}

/// Spoils the text, which then may be no JSON; it stays UTF-8, as what is not is the event stream's affair.
fn spoil_text(text: &mut String, dice: &mut Dice<'_>) {
    let at = text.floor_char_boundary(dice.below(text.len().max(1)));
    match dice.below(4) {
        0 => text.truncate(at),
        1 if at < text.len() => drop(text.remove(at)),
        2 => text.insert_str(at, dice.one_of(&STRINGS)),
        _ if text.starts_with('{') => {
            text.insert_str(1, dice.one_of(&["\"index\":0,", "\"type\":\"x\",", "\"error\":{},"]))
        }
        _ => text.push('}'),
    }
}
