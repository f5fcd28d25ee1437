use loom_classify::TaintedStr;

fn deliver(sink: &mut dyn FnMut(TaintedStr<'_>)) {
    let origins = loom_classify::TaintOrigin::llm("plan").into();
    sink(TaintedStr::new("text", &origins));
}

fn main() {
    let mut kept = Vec::new();
    deliver(&mut |delta| kept.push(delta.to_owned()));
}
