//! A delivery that unwinds closes the gate. Apart from the gate, whose own file is also compiled for the models.

use super::gate::{Gate, Refused};
use crate::caught::caught;

/// D6: after a delivery that unwound nothing is delivered any more, in this attempt or the next.
#[test]
fn a_delivery_that_unwinds_closes_every_room() {
    let gate: Gate<u32, ()> = Gate::open_at(1, 0);
    assert!(caught(|| gate.write::<()>(1, |_, _| panic!("scripted"))).is_err());
    assert_eq!(gate.write(1, |value, _| Ok(*value)), Err(Refused::Closed));
    gate.open(2, |_, _| {});
    assert_eq!(gate.write(2, |value, _| Ok(*value)), Err(Refused::Closed));
}
