use loom_classify::{Origins, TaintOrigin, TaintedStr};

fn main() {
    let origins = Origins::from(TaintOrigin::llm("plan"));
    let delta = TaintedStr::new("text", &origins);
    println!("{delta}");
}
