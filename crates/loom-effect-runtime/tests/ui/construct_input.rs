use loom_effect_runtime::Input;

fn main() {
    let _ = Input::new(1_u8);
}
