//! States as the eBPF program writes them (`bpf/sender_state.h`).

use capture::Time;
use capture::senders::{CongestionState, LOSS_STATE_WORDS, LossState, SenderState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Size of a state in bytes.
const SIZE: usize = 184;

/// Offset of the congestion control's own words.
const PRIVATE: usize = 128;

/// Linux's `AF_INET6`.
const INET6: u8 = 10;

/// A state as the program wrote it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw {
    /// Time by CLOCK_MONOTONIC.
    pub(super) time_ns: u64,
    bytes: [u8; SIZE],
}

impl Raw {
    /// Reads an entry of the ring buffer; `None` if it is too short for a state.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; SIZE] = bytes.get(..SIZE)?.try_into().ok()?;
        Some(Self { time_ns: u64::from_ne_bytes(bytes[..8].try_into().ok()?), bytes })
    }

    /// Converts to a `SenderState`; `jiffy` is the kernel's, in nanoseconds.
    pub(super) fn state(&self, jiffy: u64) -> SenderState {
        let Self { time_ns, bytes } = self;
        let u16_at = |at: usize| [bytes[at], bytes[at + 1]];
        let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&bytes[at..at + 16]);
            if bytes[120] == INET6 {
                // An IPv6 socket may use IPv4.
                return IpAddr::V6(Ipv6Addr::from(octets)).to_canonical();
            }
            IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]))
        };
        let mut pacing = [0; 8];
        pacing.copy_from_slice(&bytes[8..16]);
        let pacing = u64::from_ne_bytes(pacing);
        let private: [u32; LOSS_STATE_WORDS] = std::array::from_fn(|word| u32_at(PRIVATE + 4 * word));
        let srtt = u32_at(68) >> 3;
        SenderState {
            at: Time::from_nanos(*time_ns),
            node: u32_at(48) as u16,
            local: SocketAddr::new(address(16), u16::from_ne_bytes(u16_at(116))),
            remote: SocketAddr::new(address(32), u16::from_be_bytes(u16_at(118))),
            payload: Some(u32_at(112)),
            snd_una: u32_at(52),
            snd_nxt: u32_at(56),
            cwnd: u32_at(60),
            ssthresh: Some(u32_at(64)),
            // Both are zero before the first sample.
            srtt_us: (srtt > 0).then_some(srtt),
            rttvar_us: (srtt > 0).then_some(u32_at(72) >> 2),
            rto_us: Some(u64::from(u32_at(76)) * jiffy / 1000),
            state: CongestionState::from_number(bytes[121]),
            snd_wnd: u32_at(80),
            rcv_wnd: u32_at(84),
            packets_out: Some(u32_at(88)),
            sacked_out: Some(u32_at(92)),
            lost_out: Some(u32_at(96)),
            retrans_out: Some(u32_at(100)),
            retransmitted: Some(u32_at(104)),
            delivered: Some(u32_at(108)),
            // All bits are set as long as there is no pacing rate.
            pacing_rate: (pacing != u64::MAX).then_some(pacing),
            loss: LossState::read(&private),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a state of an IPv6 socket that uses IPv4, with a distinct number in every field.
    fn raw() -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&1_000_000_007_u64.to_ne_bytes());
        bytes[8..16].copy_from_slice(&125_000_u64.to_ne_bytes());
        let mapped = |last| Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped().octets();
        bytes[16..32].copy_from_slice(&mapped(1));
        bytes[32..48].copy_from_slice(&mapped(2));
        for (place, at) in (48..116).step_by(4).enumerate() {
            bytes[at..at + 4].copy_from_slice(&(100 + place as u32).to_ne_bytes());
        }
        bytes[116..118].copy_from_slice(&40_000_u16.to_ne_bytes());
        bytes[118..120].copy_from_slice(&443_u16.to_be_bytes());
        bytes[120] = INET6;
        bytes[121] = 3;
        let private = [[0x4c48_0101].as_slice(), &[9; 13]].concat();
        for (word, at) in private.into_iter().zip((PRIVATE..).step_by(4)) {
            bytes[at..at + 4].copy_from_slice(&u32::to_ne_bytes(word));
        }
        bytes
    }

    #[test]
    fn fields_are_where_the_program_puts_them() {
        let state = Raw::read(&raw()).expect("a state").state(4_000_000);
        let expected = SenderState {
            at: Time::from_nanos(1_000_000_007),
            node: 100,
            local: "10.0.0.1:40000".parse().expect("an address"),
            remote: "10.0.0.2:443".parse().expect("an address"),
            payload: Some(116),
            snd_una: 101,
            snd_nxt: 102,
            cwnd: 103,
            ssthresh: Some(104),
            srtt_us: Some(105 >> 3),
            rttvar_us: Some(106 >> 2),
            rto_us: Some(107 * 4000),
            state: Some(CongestionState::Recovery),
            snd_wnd: 108,
            rcv_wnd: 109,
            packets_out: Some(110),
            sacked_out: Some(111),
            lost_out: Some(112),
            retrans_out: Some(113),
            retransmitted: Some(114),
            delivered: Some(115),
            pacing_rate: Some(125_000),
            loss: LossState::read(&std::array::from_fn(|word| if word == 0 { 0x4c48_0101 } else { 9 })),
        };
        assert!(expected.loss.is_some());
        assert_eq!(state, expected);
    }

    #[test]
    fn what_is_too_short_is_no_state() {
        assert!(Raw::read(&raw()[..SIZE - 1]).is_none());
    }
}
