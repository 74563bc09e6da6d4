//! Compares recovery by TCP alone with recovery by the link (LL-14, Ludwig 3.1.2).
//!
//! Without recovery by the link, a packet of P octets takes ceil(P / octets of a block) blocks and
//! has only the overhead of TCP's and IP's headers; any erased block loses the whole packet. With
//! recovery by the link, the same packets, including headers, are the link's data. Both carry the
//! same octets of TCP user data, so half the throughput means twice the radio resource:
//! [`Comparison::consumption`]. PPP framing, about 7 octets per packet, is left out on both sides.

use crate::RetraceError;
use crate::replay::{Channel, Start, Transfer, Unit};
use crate::sweep::Link;

/// The packets of a TCP transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Octets per packet.
    pub mtu: u64,
    /// Octets of TCP and IP headers per packet: 40, or 52 with time stamps.
    pub headers: u64,
}

/// One transfer, without and with recovery by the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The packets of both transfers.
    pub packets: Packets,
    /// Recovery by TCP alone; `None` if no packet ever arrives.
    pub end_to_end: Option<Transfer>,
    /// Recovery by the link with frames of the requested size, whose data are the packets; `None`
    /// if no frame ever arrives.
    pub link: Option<Transfer>,
    /// Octets of TCP user data that both carry.
    pub size: u64,
}

impl Packets {
    /// Returns the octets of TCP user data per packet.
    pub fn payload(&self) -> Result<u64, RetraceError> {
        let Self { mtu, headers } = *self;
        mtu.checked_sub(headers).filter(|octets| *octets > 0).ok_or(RetraceError::NoPayload { mtu, headers })
    }

    /// Returns the unit that is lost as a whole on `link`: a packet.
    pub fn unit(&self, link: &Link) -> Result<Unit, RetraceError> {
        // An MTU has 16 bits in IPv4, so saturation does not matter.
        let blocks = u32::try_from(self.mtu.div_ceil(link.octets.get())).unwrap_or(u32::MAX);
        Ok(Unit { blocks, payload: self.payload()? })
    }
}

/// Replays `size` octets of TCP user data both ways; `frame` is the number of blocks of the link's
/// frames.
pub fn compare(
    channel: &Channel,
    link: &Link,
    size: u64,
    start: Start,
    packets: Packets,
    frame: u32,
) -> Result<Comparison, RetraceError> {
    let unit = packets.unit(link)?;
    let octets = size.div_ceil(unit.payload).saturating_mul(packets.mtu);
    Ok(Comparison {
        packets,
        end_to_end: channel.transfer(unit, size, start)?,
        link: channel.transfer(link.frame(frame)?, octets, start)?,
        size,
    })
}

impl Comparison {
    /// Returns the octets of TCP user data per second, with recovery by TCP alone.
    #[must_use]
    pub fn end_to_end_throughput(&self, link: &Link) -> f64 {
        self.end_to_end.map_or(0.0, |transfer| transfer.throughput(link))
    }

    /// Returns the octets of TCP user data per second, with recovery by the link.
    #[must_use]
    pub fn link_throughput(&self, link: &Link) -> f64 {
        self.link.map_or(0.0, |transfer| self.size as f64 / transfer.seconds(link))
    }

    /// Returns the number of blocks that TCP alone sends per block that the link sends; `None` if
    /// one of them never ends. Above 1, recovery by the link uses less of the radio resource.
    #[must_use]
    pub fn consumption(&self) -> Option<f64> {
        Some(self.end_to_end?.blocks() / self.link?.blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::even;
    use crate::sweep::covering_size;
    use proptest::prelude::*;

    const MTUS: [u64; 3] = [296, 576, 1500];

    fn compared(erased: &[bool], packets: Packets, frame: u32) -> Comparison {
        let channel = Channel::new(erased).expect("blocks");
        let size = covering_size(&channel, &Link::GSM);
        compare(&channel, &Link::GSM, size, Start::Block(0), packets, frame).expect("can be replayed")
    }

    /// LL-14: T = (P - 40) / (k t) times the share of packets that arrive, which is 1 - k b on an
    /// even trace.
    #[test]
    fn ll_14_closed_form_on_an_even_trace() {
        let rate = 0.001;
        let erased = even(774_000, 774);
        for headers in [40, 52] {
            for mtu in MTUS {
                let found = compared(&erased, Packets { mtu, headers }, 1).end_to_end_throughput(&Link::GSM);
                let blocks = (mtu as f64 / 30.0).ceil();
                let expected = (mtu - headers) as f64 / (blocks * 0.02) * (1.0 - blocks * rate);
                assert!((found / expected - 1.0).abs() < 1e-3, "MTU {mtu}: {found}, expected {expected}");
            }
        }
    }

    /// LL-14: the link carries headers too. Without erasures it gives 1200 (P - 40) / P octets of
    /// TCP user data per second with frames of one block, and (1500 - 300/m) instead of 1200 with
    /// frames of m blocks.
    #[test]
    fn ll_14_the_link_carries_headers() {
        for (mtu, frame) in [(296, 1), (576, 5), (1500, 14)] {
            let found = compared(&vec![false; 100_000], Packets { mtu, headers: 40 }, frame);
            let expected = (1500.0 - 300.0 / f64::from(frame)) * (mtu - 40) as f64 / mtu as f64;
            let found = found.link_throughput(&Link::GSM);
            assert!((found / expected - 1.0).abs() < 1e-3, "MTU {mtu}: {found}, expected {expected}");
        }
    }

    /// LL-14: erasures in long bursts lose few packets, so TCP alone wins by its lower overhead.
    /// The same number of single erasures loses nearly every packet. (Fig. 3-1.)
    #[test]
    fn ll_14_crossover() {
        let packets = Packets { mtu: 1500, headers: 40 };
        let apart = compared(&even(100_000, 2000), packets, 1);
        // The same number in bursts of 20 s, far longer than a packet.
        let bursts: Vec<bool> = (0..100_000).map(|place| place % 50_000 < 1000).collect();
        let bursts = compared(&bursts, packets, 1);
        assert_eq!(apart.end_to_end, None);
        assert!(bursts.consumption().expect("both end") < 0.9, "{bursts:?}");
        assert!(bursts.end_to_end_throughput(&Link::GSM) > bursts.link_throughput(&Link::GSM));
    }

    proptest! {
        /// Half the throughput means twice the blocks, on any channel.
        #[test]
        fn consumption_is_the_ratio_of_throughputs(
            erased in prop::collection::vec(prop::bool::weighted(0.02), 60..400),
            mtu in prop::sample::select(&MTUS[..]),
            frame in 1_u32..20,
        ) {
            let found = compared(&erased, Packets { mtu, headers: 40 }, frame);
            if let Some(consumption) = found.consumption() {
                let ratio = found.link_throughput(&Link::GSM) / found.end_to_end_throughput(&Link::GSM);
                prop_assert!((consumption / ratio - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_packet_must_carry_something() {
        let error = Packets { mtu: 40, headers: 40 }.unit(&Link::GSM).expect_err("no payload");
        assert_eq!(
            error.to_string(),
            "packets of 40 octets with 40 octets of headers have no room for data: choose a larger MTU"
        );
        assert_eq!(Packets { mtu: 296, headers: 40 }.unit(&Link::GSM), Ok(Unit { blocks: 10, payload: 256 }));
    }
}
