use loom_effect_runtime::{DeltaKind, Meter, Violation};

struct Mine;

impl Meter for Mine {
    fn observe(&mut self, _kind: DeltaKind, text: &str) -> Result<(), Violation> {
        let _ = text;
        Ok(())
    }
}

fn main() {
    let _ = Mine;
}
