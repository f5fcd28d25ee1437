use loom_effect_runtime::Kept;

fn read(kept: &Kept) {
    let _ = &kept.0;
}

fn main() {
    let _ = read;
}
