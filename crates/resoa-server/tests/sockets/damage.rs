//! A wire by which a twentieth of the datagrams is lost, a twentieth comes twice, and a tenth late.

use crate::wire::{Faults, Wire};
use resoa_carrier::Place;
use std::time::Duration;

const FAULTS: Faults = Faults {
    loss: 0.05,
    repeated: 0.05,
    late: (0.1, Duration::from_millis(10)),
    delay: Duration::from_millis(1),
};

/// Where a client goes that is to reach a server by such a wire, which is there as long as the
/// process.
pub fn wire_to(server: Place) -> Place {
    let wire = |at| {
        let wire = Wire::new(at, FAULTS, 1);
        let address = wire.address;
        std::mem::forget(wire);
        address
    };
    match server {
        Place::Udp(at) => Place::Udp(wire(at)),
        Place::Quic(at) => Place::Quic(wire(at)),
        other => panic!("{other} does not go by datagrams"),
    }
}
