//! Congestion Experienced instead of a loss (RFC 3168).

use packet::{Frame, Layer};

/// Congestion Experienced, the ECN field with both bits set (RFC 3168, section 5).
const CE: u8 = 0b11;

/// Marks the packet in `frame` with Congestion Experienced. `false`, and nothing is changed, if its transport does not take
/// part (Not-ECT) or it is no IP packet.
pub(super) fn mark_congestion(frame: &mut Frame) -> bool {
    let start = match frame.layer() {
        Layer::Ip => 0,
        Layer::Ethernet => 14,
    };
    let &[first, second, ..] = frame.head().get(start..).unwrap_or_default() else { return false };
    let ecn = match first >> 4 {
        4 => second & CE,
        6 => second >> 4 & CE,
        _ => return false,
    };
    match (ecn, first >> 4) {
        (0, _) => false,
        (CE, _) => true,
        (_, 6) => {
            frame.bytes_mut()[start + 1] |= CE << 4;
            true
        }
        _ => {
            let Some(header) = frame.bytes_mut().get_mut(start..start + 20) else { return false };
            let before = u16::from_be_bytes([header[0], header[1]]);
            header[1] |= CE;
            let after = u16::from_be_bytes([header[0], header[1]]);
            // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
            let sum = !u16::from_be_bytes([header[10], header[11]]);
            let sum = u32::from(sum) + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
            true
        }
    }
}
