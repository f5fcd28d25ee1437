//! How the switch engages, releases and refuses.

use std::sync::mpsc::channel;
use std::time::Duration;

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
    let (reader, answers) = (switch.clone(), channel());
    switch.0.hold_table(|| {
        std::thread::spawn(move || answers.0.send(reader.is_engaged("shell")));
        assert_eq!(answers.1.recv_timeout(Duration::from_secs(10)), Ok(false));
    });
}
