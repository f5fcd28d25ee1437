//! Benchmarks of the governed call, the guarded channel and the wire: one JSON line a figure.
//!
//! `loom-bench [NAME…]` times and counts allocations; `loom-bench --instructions NAME N` runs one loop N times and
//! nothing else, for a profiler that counts instructions.

#![expect(clippy::expect_used, reason = "a bench whose own set-up fails has nothing to report")]

mod ask;
mod calls;
mod channel;
mod measure;
mod wire;

use std::process::ExitCode;

use measure::Bench;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let benches = || calls::all().into_iter().chain(channel::all()).chain(wire::all()).chain([ask::bench()]);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--list"] => benches().for_each(|bench| println!("{}", bench.name())),
        ["--instructions", name, count] => {
            let Ok(count) = count.parse() else { return usage("N is a number of iterations") };
            let Some(mut bench) = benches().find(|bench| bench.name() == *name) else {
                return usage("no bench of that name; `--list` names them");
            };
            bench.run(count);
        }
        names if names.iter().any(|name| name.starts_with('-')) => return usage("unknown flag"),
        names => {
            println!("{}", measure::floor());
            for mut bench in benches().filter(|bench| chosen(names, bench)) {
                println!("{}", bench.report());
            }
        }
    }
    ExitCode::SUCCESS
}

/// `call` chooses every bench that begins with `call.`.
fn chosen(names: &[&str], bench: &Bench) -> bool {
    let group = |name: &str| {
        bench.name() == name || bench.name().starts_with(&format!("{}.", name.trim_end_matches('s')))
    };
    names.is_empty() || names.iter().any(|name| group(name))
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("loom-bench: {problem}\nusage: loom-bench [NAME…] | --list | --instructions NAME N");
    ExitCode::from(2)
}
