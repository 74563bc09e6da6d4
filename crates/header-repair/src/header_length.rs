//! Where the payload starts: the constant header length, and the one legitimate exception (P II-C:
//! constant header length, not the received field).
//!
//! A host that also receives data sometimes puts SACK blocks into its own data segments, which
//! makes their header longer. If every byte of the received options is what such a header has, its
//! length is genuine. If SACK blocks are known to occur, and the length is neither the constant one
//! nor genuine, the start of the payload is unknown.

use crate::options::{self, Shape};
use crate::{Reason, Track};
use packet::TcpHeader;

/// Returns the length of a damaged segment's header in bytes, always less than that of the segment.
///
/// # Errors
///
/// `Reason::HeaderLength` if the length is unknown; `Reason::Empty` if no payload follows.
pub fn header_length(header: &TcpHeader, segment: &[u8], track: &Track) -> Result<usize, Reason> {
    let received = header.header_len();
    let constant = usize::from(track.header_len);
    let len = if received == constant {
        if track.sack_seen && is_followed_by_sack(segment, constant) {
            return Err(Reason::HeaderLength);
        }
        constant
    } else if is_genuine(received, segment, track) {
        received
    } else if track.sack_seen {
        return Err(Reason::HeaderLength);
    } else {
        constant
    };
    if len >= segment.len() { Err(Reason::Empty) } else { Ok(len) }
}

/// Returns whether the options are the connection's usual ones plus SACK blocks, with undamaged
/// kinds and lengths.
fn is_genuine(received: usize, segment: &[u8], track: &Track) -> bool {
    segment.get(TcpHeader::LEN..received).is_some_and(|options| match options::shape(options) {
        Shape::TimeStampsAndSack => track.has_options(),
        Shape::Sack => !track.has_options(),
        Shape::Plain | Shape::TimeStamps | Shape::Other => false,
    })
}

/// Returns whether SACK blocks seem to follow at offset `len`, where the payload would start. Then
/// damage has changed the data offset to the constant length.
fn is_followed_by_sack(segment: &[u8], len: usize) -> bool {
    matches!(segment.get(len..len + 4), Some([options::NOP, options::NOP, options::SACK, 10 | 18 | 26 | 34]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handshake, Parameters};
    use packet::Field;

    fn track(header_len: u8, sack_seen: bool) -> Track {
        let handshake = Handshake { rcv_nxt: 0, ack: 0, window: 0, options: None, unsupported: false };
        let established = Track::established(&handshake, true, &Parameters::default());
        Track { header_len, sack_seen, ..established }
    }

    /// Returns a segment with data offset `len`, these options and 100 bytes of payload.
    fn segment(len: u32, options: &[u8]) -> Vec<u8> {
        let mut segment = [&[0; 20], options, &[0xee; 100]].concat();
        TcpHeader::read(&segment).expect("20 bytes").with(Field::DataOffset, len / 4).write(&mut segment);
        segment
    }

    fn of(segment: &[u8], track: &Track) -> Result<usize, Reason> {
        header_length(&TcpHeader::read(segment).expect("20 bytes"), segment, track)
    }

    const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
    const SACK: [u8; 12] = [1, 1, 5, 10, 0, 0, 0, 5, 0, 0, 0, 6];

    #[test]
    fn the_constant_length_wins_over_a_damaged_field() {
        for received in (0..=60).step_by(4) {
            assert_eq!(of(&segment(received, &[]), &track(20, false)), Ok(20), "{received}");
            assert_eq!(of(&segment(received, &STAMPS), &track(32, false)), Ok(32), "{received}");
        }
    }

    #[test]
    fn sack_blocks_that_are_wholly_there_make_a_header_longer() {
        let both = [STAMPS, SACK].concat();
        assert_eq!(of(&segment(44, &both), &track(32, false)), Ok(44));
        assert_eq!(of(&segment(32, &SACK), &track(20, true)), Ok(32));
        assert_eq!(of(&segment(44, &both), &track(20, false)), Ok(20), "no time stamps are expected");
        assert_eq!(of(&segment(32, &SACK), &track(32, false)), Ok(32), "as long as ever");
    }

    #[test]
    fn where_sack_blocks_occur_a_doubtful_length_is_too_risky() {
        let mut both = [STAMPS, SACK].concat();
        both[14] ^= 1;
        assert_eq!(of(&segment(44, &both), &track(32, true)), Err(Reason::HeaderLength));
        assert_eq!(of(&segment(36, &STAMPS), &track(32, true)), Err(Reason::HeaderLength));
        assert_eq!(of(&segment(32, &STAMPS), &track(32, true)), Ok(32));
    }

    #[test]
    fn a_length_hit_so_that_it_looks_constant_is_given_away_by_the_blocks() {
        let both = [STAMPS, SACK].concat();
        assert_eq!(of(&segment(32, &both), &track(32, true)), Err(Reason::HeaderLength));
        assert_eq!(of(&segment(20, &SACK), &track(20, true)), Err(Reason::HeaderLength));
        assert_eq!(of(&segment(32, &both), &track(32, false)), Ok(32), "no blocks were ever seen");
    }

    #[test]
    fn without_payload_there_is_nothing_to_gain() {
        for len in [20, 24, 32] {
            let segment = segment(20, &[])[..len].to_vec();
            assert_eq!(of(&segment, &track(32, false)), Err(Reason::Empty));
        }
        assert_eq!(of(&segment(60, &[])[..40], &track(20, true)), Err(Reason::HeaderLength), "asked first");
    }
}
