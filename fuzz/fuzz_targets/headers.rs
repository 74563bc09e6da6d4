//! Any bytes can be parsed, verified, marked and damaged as a packet. Regions lie inside the
//! packet; damage changes at most two bytes and never leaves a valid checksum.

use packet::checksum::{self, ChecksumStatus};
use packet::{Ecn, Frame, Headers, Layer, Region, ecn};

/// One input.
pub fn run(bytes: &[u8]) {
    for layer in [Layer::Ip, Layer::Ethernet] {
        look(layer, bytes);
    }
}

fn look(layer: Layer, bytes: &[u8]) {
    let mut marked = bytes.to_vec();
    assert_eq!(ecn::mark_ce(layer, &mut marked), ecn::read(layer, &marked) == Ecn::Ce);

    let Ok(headers) = Headers::parse(layer, bytes) else { return };
    let packet = headers.region(Region::Packet).expect("every packet has this one");
    assert!(packet.end <= bytes.len());
    for range in Region::ALL.into_iter().filter_map(|region| headers.region(region)) {
        assert!(packet.start <= range.start && range.start <= range.end && range.end <= packet.end);
    }

    let before = checksum::verify(bytes, &headers);
    let mut spoiled = bytes.to_vec();
    if checksum::spoil(&mut spoiled, &headers) {
        let changed: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at] != spoiled[at]).collect();
        assert!(
            changed.len() <= 2
                && changed.iter().all(|at| headers.transport().is_some_and(|start| *at >= start))
        );
        assert_ne!(checksum::verify(&spoiled, &headers), ChecksumStatus::Right);
    } else {
        assert_eq!(bytes, spoiled);
        assert_ne!((before, headers.tcp().is_some()), (ChecksumStatus::Right, true));
    }
    assert_eq!(Frame::owned(layer, bytes.to_vec()).headers(), Ok(headers));
}
