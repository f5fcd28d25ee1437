//! Benchmarks of the governed call, the guarded channel and the wire: one JSON line a figure.
//!
//! `loom-bench [NAME…]` times and counts allocations; `loom-bench --instructions NAME N` runs one loop N times and
//! nothing else, for a profiler that counts instructions.

#![expect(clippy::expect_used, reason = "a bench whose own set-up fails has nothing to report")]

mod ask;
mod calls;
mod channel;
mod measure;
mod names;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let benches = || calls::all().into_iter().chain(channel::all()).chain(wire::all()).chain([ask::bench()]);
    let there: Vec<&str> = benches().map(|bench| bench.name()).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--list"] => there.iter().for_each(|name| println!("{name}")),
        ["--instructions", name, count] => {
            let Ok(count) = count.parse() else { return usage("N is a number of iterations") };
            let Some(mut bench) = benches().find(|bench| bench.name() == *name) else {
                return usage(&names::unknown(name, &there));
            };
            bench.run(count);
        }
        chosen if chosen.iter().any(|name| name.starts_with('-')) => return usage("unknown flag"),
        chosen => {
            if let Err(problem) = names::check(chosen, &there) {
                return usage(&problem);
            }
            let asked =
                |bench: &str| chosen.is_empty() || chosen.iter().any(|name| names::selects(name, bench));
            println!("{}", measure::floor());
            for mut bench in benches().filter(|bench| asked(bench.name())) {
                println!("{}", bench.report());
            }
        }
    }
    ExitCode::SUCCESS
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("loom-bench: {problem}\nusage: loom-bench [NAME…] | --list | --instructions NAME N");
    ExitCode::from(2)
}
