//! Any bytes are parsed as an RLP frame, XID parameters and an L2R field, or refused. A parsed
//! value is the same after writing and parsing again.

use packet::rlp::{Body, Frame, Size, fcs, l2r, xid};

/// One input.
pub fn run(octets: &[u8]) {
    read(octets);
    // A fuzzer cannot guess the frame check sequence, so it is corrected here.
    let mut frame = octets.to_vec();
    frame.resize(if octets.len() > 30 { 72 } else { 30 }, 0);
    let content = frame.len() - 3;
    let check = fcs::compute(&frame[..content]).to_le_bytes();
    frame[content..].copy_from_slice(&check[..3]);
    read(&frame);
}

fn read(octets: &[u8]) {
    if let Ok(parameters) = xid::Parameters::parse(octets) {
        assert_eq!(xid::Parameters::parse(&parameters.to_octets()), Ok(parameters));
    }
    if let Ok(field) = l2r::Field::parse(octets) {
        assert!(field.user_octets() <= octets.len());
    }
    let Ok(frame) = Frame::parse(octets) else { return };
    let size = Size::of(octets.len()).expect("a frame was read");
    assert_eq!(Frame::parse(&frame.to_octets(size)), Ok(frame.clone()));
    if let Body::Information { information, .. } | Body::Unnumbered { information, .. } = &frame.body {
        assert_eq!(information.len(), size.information_len());
        let _ = (l2r::Field::parse(information), xid::Parameters::parse(information));
    }
}
