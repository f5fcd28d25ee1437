//! The stored form of records: pinned, whole after a round trip, and never silent about damage.

use loom_workflow::record::{
    CancelKind, CancelRequested, DecisionRecorded, DomainEvent, Draft, EVENT_SCHEMA_VERSION, EffectDenied,
    Event, EventKind, ExecutionCancelled, ExecutionCompleted, ExecutionFailed, ExecutionStarted,
    FailureRecord, Fingerprint, RawRecord, RecordFault, SeverRecord, StepCompleted, StepFailed, StepPath,
    StepStarted, UsageRecord,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The checksum of each version's list, so that a published list is not edited in place.
const FROZEN: &[(u32, u32)] = &[(1, 0x44a3_62e3), (2, 0x3df1_b91b)];

#[cfg(test)]
fn samples() -> Vec<Event> {
    let mut failure = FailureRecord::new("SafetyViolationError".into());
    failure.channel = Some("schemaDrift".into());
    failure.payload = Some(Value::Null);
    failure.kind = Some("deadline".into());
    let mut sever = SeverRecord::new("pii.card".into());
    (sever.offset, sever.length) = (Some(7), Some(16));
    failure.sever = Some(sever);
    (failure.advice, failure.retry_after_ns) = (Some("after".into()), Some(7_000_000_001));
    let mut usage = UsageRecord::new();
    (usage.input_tokens, usage.output_tokens) = (Some(3), Some(5));
    let mut started = ExecutionStarted::new("flow".parse().unwrap(), "r1".into(), json!({"n": 0.1}));
    (started.deadline_at_ms, started.identity) = (Some(9), Some(json!({"chain": ["a"]})));
    let mut completed = StepCompleted::new(json!([1]), 2);
    completed.usage = Some(usage.clone());
    let mut failed = StepFailed::new(failure.clone(), 3);
    failed.usage = Some(usage);
    let mut denied =
        EffectDenied::new("CapabilityDeniedError".into(), "tool".into(), vec!["a".into(), "b".into()]);
    denied.missing_grant = Some("tool:write".into());
    vec![
        started.into(),
        StepStarted::new("tool".into()).into(),
        completed.into(),
        failed.into(),
        DecisionRecorded::new("plan".parse().unwrap(), json!("go")).into(),
        DomainEvent::new("shipped".into(), json!(null)).into(),
        denied.into(),
        CancelRequested::new(CancelKind::Deadline).into(),
        ExecutionCompleted::new(json!(true)).into(),
        ExecutionFailed::new(FailureRecord::new("EffectFailedError".into())).into(),
        ExecutionCancelled::new(CancelKind::Cancel).into(),
    ]
}

#[cfg(test)]
fn draft(event: Event) -> Draft {
    let path = StepPath::new("a/b~2").unwrap();
    Draft::new(1_700_000_000_000, event)
        .with_path(path)
        .with_fingerprint(Fingerprint::new("tool", "hash", "r1"))
}

/// T18: the kinds with their fields and stored form are one committed list; a change needs a new version.
#[test]
fn the_event_list_does_not_change_without_a_new_version() {
    let mut text = Event::catalogue_text();
    for event in samples() {
        let row = RawRecord::encode(4, &draft(event)).unwrap();
        text.push_str(&format!("{:#010x} {} {}\n", row.crc32c, row.kind, row.payload));
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/record");
    let committed = std::fs::read_to_string(folder.join(format!("events-v{EVENT_SCHEMA_VERSION}.txt")))
        .unwrap_or_default();
    assert_eq!(
        text, committed,
        "raise EVENT_SCHEMA_VERSION, commit its list, and write `events-v<n>.md`: how to migrate"
    );
    for (version, sum) in FROZEN {
        let list = std::fs::read(folder.join(format!("events-v{version}.txt"))).unwrap();
        assert_eq!(
            crc32c::crc32c(&list),
            *sum,
            "the list of version {version} is published and stays as it is"
        );
        let note = folder.join(format!("events-v{version}.md"));
        assert!(*version == 1 || note.exists(), "version {version} has no migration note");
    }
    assert_eq!(FROZEN.last().map(|(version, _)| *version), Some(EVENT_SCHEMA_VERSION));
}

/// T18: each kind has one text and reads back as itself, with every field set.
#[test]
fn every_kind_reads_back_as_it_was_written() {
    let kinds: Vec<_> = samples().iter().map(Event::kind).collect();
    assert_eq!(kinds, EventKind::ALL);
    for event in samples() {
        assert_eq!(EventKind::from_text(event.kind().as_str()), Some(event.kind()));
        let record = RawRecord::encode(4, &draft(event.clone())).unwrap().decode().unwrap();
        assert_eq!((record.event, record.path.unwrap().to_string()), (event, "a/b~2".to_owned()));
    }
}

/// T13: a recorded failure has a place for names and numbers, and for content only a typed failure's payload.
#[test]
fn a_failure_holds_no_free_text_but_its_name() {
    let failed = ExecutionFailed::new(FailureRecord::new("CapabilityDeniedError".into()));
    let row = RawRecord::encode(1, &Draft::new(1, failed)).unwrap();
    assert_eq!(row.payload, r#"{"failure":{"name":"CapabilityDeniedError"}}"#);
}

#[test]
fn a_record_of_a_newer_version_or_an_unknown_kind_is_named_as_such() {
    let row = RawRecord::encode(1, &draft(samples().remove(1))).unwrap();
    let again = |version, kind: &str| {
        let mut row = row.clone();
        (row.version, row.kind) = (version, kind.to_owned().into());
        let Err(RecordFault::Checksum { got, .. }) = row.clone().decode() else {
            panic!("it was not noticed")
        };
        row.crc32c = got;
        row.decode().unwrap_err()
    };
    assert_eq!(again(3, "STEP_STARTED"), RecordFault::Version { got: 3 });
    assert_eq!(again(1, "STEP_DANCED"), RecordFault::Kind);
    assert_eq!(again(1, "DECISION_RECORDED"), RecordFault::Payload);
}

fn value() -> impl Strategy<Value = Value> {
    let number =
        any::<f64>().prop_filter_map("finite", |n| serde_json::Number::from_f64(n).map(Value::Number));
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        number,
        ".*".prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|map| Value::from(serde_json::Map::from_iter(map))),
        ]
    })
}

proptest! {
    /// T15: any value is served by replay bit for bit.
    #[test]
    fn any_value_comes_back_bit_for_bit(value in value(), seq in 1_u64.., at_ms: u64) {
        let event = DecisionRecorded::new("d".parse().unwrap(), value.clone());
        let record = RawRecord::encode(seq, &Draft::new(at_ms, event)).unwrap().decode().unwrap();
        let Event::DecisionRecorded(decided) = record.event else { panic!("another event") };
        prop_assert_eq!(decided.value.to_string(), value.to_string());
        prop_assert_eq!((record.seq, record.at_ms), (seq, at_ms));
    }

    /// T16: a change of any bit of a stored record is a typed fault, never a value and never a panic.
    #[test]
    fn any_flipped_bit_is_noticed(which in 0_usize..11, field in 0_usize..9, at: prop::sample::Index, bit in 0_u32..7) {
        let mut row = RawRecord::encode(4, &draft(samples().remove(which))).unwrap();
        let flip = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            String::from_utf8(bytes).unwrap()
        };
        let print = row.fingerprint.clone().unwrap();
        let (effect, schema, revision) = (&print.effect, &print.input_schema_hash, &print.revision);
        match field {
            0 => row.version ^= 1 << bit,
            1 => row.seq ^= 1 << bit,
            2 => row.at_ms ^= 1 << bit,
            3 => row.kind = flip(&row.kind).into(),
            4 => row.path = row.path.as_deref().map(|path| flip(path).into()),
            5 => row.fingerprint = Some(Fingerprint::new(flip(effect), &**schema, &**revision)),
            6 => row.fingerprint = Some(Fingerprint::new(&**effect, flip(schema), &**revision)),
            7 => row.payload = flip(&row.payload),
            _ => row.crc32c ^= 1 << bit,
        }
        let noticed = matches!(row.decode(), Err(RecordFault::Checksum { .. }));
        prop_assert!(noticed);
    }
}
