//! A link that loses 5 % of the datagrams, duplicates 5 % and delays 10 %.

use crate::wire::{Faults, Wire};
use resoa_carrier::CarrierAddress;
use std::time::Duration;

const FAULTS: Faults = Faults {
    loss: 0.05,
    repeated: 0.05,
    late: (0.1, Duration::from_millis(10)),
    delay: Duration::from_millis(1),
};

/// Returns the address at which a client reaches a server over such a link. The link exists as long
/// as the process.
pub fn wire_to(server: CarrierAddress) -> CarrierAddress {
    let wire = |at| {
        let wire = Wire::new(at, FAULTS, 1);
        let address = wire.address;
        std::mem::forget(wire);
        address
    };
    match server {
        CarrierAddress::Udp(at) => CarrierAddress::Udp(wire(at)),
        CarrierAddress::Quic(at) => CarrierAddress::Quic(wire(at)),
        other => panic!("{other} does not go by datagrams"),
    }
}
