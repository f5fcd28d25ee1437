use super::KillSwitch;

#[test]
fn a_clone_is_the_same_switch() {
    let switch = KillSwitch::new();
    let held = switch.clone();
    held.engage_tool("shell", "incident-7");
    assert!(switch.is_engaged("shell") && !switch.is_engaged("other"));
    held.engage("all-stop");
    assert!(switch.is_engaged("other"));
    switch.release();
    assert!(held.is_engaged("shell") && !held.is_engaged("other"));
    switch.release_tool("shell");
    assert!(!held.is_engaged("shell"));
}

/// What lets threads scale: where nothing is stopped, a call reads one word and waits for nobody.
#[test]
fn a_call_while_nothing_is_stopped_takes_no_lock() {
    let switch = KillSwitch::new();
    let state = switch.0.clone();
    let (held, wait) = std::sync::mpsc::channel();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        state.hold_table(|| {
            held.send(()).unwrap();
            ended.recv().unwrap();
        });
    });
    wait.recv().unwrap();
    assert!(!switch.is_engaged("shell"));
    done.send(()).unwrap();
    holder.join().unwrap();
}
