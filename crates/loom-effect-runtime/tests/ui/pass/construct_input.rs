use loom_effect_runtime::Input;

fn read(input: &Input) -> Option<&u8> {
    input.get::<u8>()
}

fn main() {
    let _ = read;
}
