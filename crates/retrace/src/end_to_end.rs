//! Recovery by TCP alone against recovery by the link (LL-14, Ludwig 3.1.2).
//!
//! Without recovery by the link a packet of P octets takes ceil(P / octets of a block) blocks and
//! no overhead but TCP's and IP's headers; any erased block loses it whole. With it the same
//! packets, headers and all, are the data of the link. Both carry the same octets of TCP's user, so
//! that half the throughput is twice the radio resource: [`Comparison::consumption`]. Framing by
//! PPP, a slip of 7 octets a packet, is left out on both sides.

use crate::RetraceError;
use crate::replay::{Channel, Start, Transfer, Unit};
use crate::sweep::Link;

/// The packets of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Octets of a packet.
    pub mtu: u64,
    /// Octets of TCP's and IP's headers in it: 40, or 52 with time stamps.
    pub headers: u64,
}

/// One transfer, with and without recovery by the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The packets of both.
    pub packets: Packets,
    /// By TCP alone; `None` if no packet ever comes through.
    pub end_to_end: Option<Transfer>,
    /// By the link with frames of the size asked for: its data are packets; `None` if no frame ever
    /// comes through.
    pub link: Option<Transfer>,
    /// Octets of TCP's user that both carry.
    pub size: u64,
}

impl Packets {
    /// Octets of TCP's user in each packet.
    pub fn payload(&self) -> Result<u64, RetraceError> {
        let Self { mtu, headers } = *self;
        mtu.checked_sub(headers).filter(|octets| *octets > 0).ok_or(RetraceError::NoPayload { mtu, headers })
    }

    /// A packet as what is lost on `link` as a whole.
    pub fn unit(&self, link: &Link) -> Result<Unit, RetraceError> {
        // An MTU is 16 bits in IPv4, so this is no loss.
        let blocks = u32::try_from(self.mtu.div_ceil(link.octets.get())).unwrap_or(u32::MAX);
        Ok(Unit { blocks, payload: self.payload()? })
    }
}

/// Sends `size` octets of TCP's user both ways; `frame` is the number of blocks of the link's
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
    /// Octets of TCP's user a second, by TCP alone.
    #[must_use]
    pub fn end_to_end_throughput(&self, link: &Link) -> f64 {
        self.end_to_end.map_or(0.0, |transfer| transfer.throughput(link))
    }

    /// Octets of TCP's user a second, with recovery by the link.
    #[must_use]
    pub fn link_throughput(&self, link: &Link) -> f64 {
        self.link.map_or(0.0, |transfer| self.size as f64 / transfer.seconds(link))
    }

    /// Blocks that TCP alone sends for each that the link sends; `None` if one of them never ends.
    /// Above 1 recovery by the link takes less of the radio.
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

    /// LL-14: T = (P - 40) / (k t) times the share of packets that come through, which is 1 - k b
    /// on an even trace.
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

    /// LL-14: the link carries headers too: without erasures 1200 (P - 40) / P octets of TCP's user
    /// a second in frames of one block, and (1500 - 300/m) in place of 1200 in frames of m.
    #[test]
    fn ll_14_the_link_carries_headers() {
        for (mtu, frame) in [(296, 1), (576, 5), (1500, 14)] {
            let found = compared(&vec![false; 100_000], Packets { mtu, headers: 40 }, frame);
            let expected = (1500.0 - 300.0 / f64::from(frame)) * (mtu - 40) as f64 / mtu as f64;
            let found = found.link_throughput(&Link::GSM);
            assert!((found / expected - 1.0).abs() < 1e-3, "MTU {mtu}: {found}, expected {expected}");
        }
    }

    /// LL-14: erasures in long bursts cost few packets, and what TCP alone saves in overhead wins;
    /// the same number one by one costs nearly every packet. (Fig. 3-1.)
    #[test]
    fn ll_14_crossover() {
        let packets = Packets { mtu: 1500, headers: 40 };
        let apart = compared(&even(100_000, 2000), packets, 1);
        // The same number in bursts of 20 s, twenty times as long as a packet.
        let bursts: Vec<bool> = (0..100_000).map(|place| place % 50_000 < 1000).collect();
        let bursts = compared(&bursts, packets, 1);
        assert_eq!(apart.end_to_end, None);
        assert!(bursts.consumption().expect("both end") < 0.9, "{bursts:?}");
        assert!(bursts.end_to_end_throughput(&Link::GSM) > bursts.link_throughput(&Link::GSM));
    }

    proptest! {
        /// Half the throughput is twice the blocks, whatever the channel.
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
            "packets of 40 octets with 40 octets of headers carry nothing: the MTU must be larger"
        );
        assert_eq!(Packets { mtu: 296, headers: 40 }.unit(&Link::GSM), Ok(Unit { blocks: 10, payload: 256 }));
    }
}
