//! Choosing the addresses of a link: the first pair that is unused here.
//!
//! IPv4 pairs are /30 blocks of 100.64.0.0/10 (RFC 6598, shared address space: no user's private
//! network should use it). If a route covers all of that, they come from 198.18.0.0/15 (RFC 2544,
//! benchmarks). The IPv6 pair has the same number in the unique local prefix
//! fd6c:6173:7468:6f70::/64 ("lasthop" in ASCII; RFC 4193). A pair is in use if it overlaps an
//! address, a route other than a default route, or a name server of the caller, or if another run
//! has claimed it.
//!
//! Each interface with devices behind the link has a [`Network`] of its own: a /24 block of
//! 192.168.0.0/16 or 172.30.0.0/16, and a /64 block of the same unique local prefix as the pairs.

use crate::error::{Error, Result};
use crate::route::Prefix;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// Address of the wireless host.
    pub inside: Ipv4Addr,
    /// Address of the caller's end: `host.lasthop`.
    pub outside: Ipv4Addr,
    /// IPv6 address of the wireless host.
    pub inside6: Ipv6Addr,
    /// IPv6 address of the caller's end: `host6.lasthop`.
    pub outside6: Ipv6Addr,
}

const POOLS: [(Ipv4Addr, u8); 2] = [(Ipv4Addr::new(100, 64, 0, 0), 10), (Ipv4Addr::new(198, 18, 0, 0), 15)];
const POOL6: Ipv6Addr = Ipv6Addr::new(0xfd6c, 0x6173, 0x7468, 0x6f70, 0, 0, 0, 0);

impl Addresses {
    /// Returns the pair with this number, whose /30 block starts at `base`.
    fn at(base: u32, number: u32) -> Self {
        let base6 = POOL6.to_bits() + u128::from(number) * 4;
        Self {
            outside: Ipv4Addr::from_bits(base + 1),
            inside: Ipv4Addr::from_bits(base + 2),
            outside6: Ipv6Addr::from_bits(base6 + 1),
            inside6: Ipv6Addr::from_bits(base6 + 2),
        }
    }

    /// Returns the blocks that the pair occupies.
    #[must_use]
    pub fn blocks(self) -> [Prefix; 2] {
        [
            Prefix { address: IpAddr::V4(Ipv4Addr::from_bits(self.outside.to_bits() & !3)), length: 30 },
            Prefix { address: IpAddr::V6(Ipv6Addr::from_bits(self.outside6.to_bits() & !3)), length: 126 },
        ]
    }
}

/// The network of the devices at an interface behind the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Address of the wireless host at this interface: the devices' gateway.
    pub gateway: Ipv4Addr,
    /// Its IPv6 address.
    pub gateway6: Ipv6Addr,
}

/// First two bytes of the networks' IPv4 addresses, and the range of the third. Home routers use
/// the low ones of 192.168.0.0/16, and phones that share their connection some in the middle.
const NETWORKS: [([u8; 2], std::ops::RangeInclusive<u8>); 2] =
    [([192, 168], 200..=254), ([172, 30], 0..=255)];

impl Network {
    /// Length of the IPv4 prefix.
    pub const LENGTH: u8 = 24;
    /// Length of the IPv6 prefix.
    pub const LENGTH6: u8 = 64;

    fn at([first, second]: [u8; 2], third: u8) -> Self {
        // fd6c:6173:7468:NUMBER::1, where the pairs have 6f70: 00c8 to 00fe, and 1e00 to 1eff.
        let high = if first == 192 { 0 } else { u128::from(second) << 8 };
        let base = POOL6.to_bits() >> 80 << 80;
        Self {
            gateway: Ipv4Addr::new(first, second, third, 1),
            gateway6: Ipv6Addr::from_bits(base | (high | u128::from(third)) << 64 | 1),
        }
    }

    /// Returns the blocks of addresses that the network occupies.
    #[must_use]
    pub fn blocks(self) -> [Prefix; 2] {
        [
            Prefix {
                address: IpAddr::V4(Ipv4Addr::from_bits(self.gateway.to_bits() & !0xff)),
                length: Self::LENGTH,
            },
            Prefix {
                address: IpAddr::V6(Ipv6Addr::from_bits(self.gateway6.to_bits() >> 64 << 64)),
                length: Self::LENGTH6,
            },
        ]
    }

    /// Returns the first and the last address for DHCP.
    #[must_use]
    pub fn dhcp_range(self) -> [Ipv4Addr; 2] {
        [10, 250].map(|last| Ipv4Addr::from_bits(self.gateway.to_bits() & !0xff | last))
    }
}

/// Returns the first `count` networks that overlap nothing in `taken`, apart from default routes.
///
/// # Errors
/// If there are not as many.
pub fn choose_networks(taken: &[Prefix], count: usize) -> Result<Vec<Network>> {
    let is_free = |network: &Network| {
        let blocks = network.blocks();
        !taken.iter().any(|its| its.length > 0 && blocks.iter().any(|block| its.overlaps(*block)))
    };
    let all =
        NETWORKS.into_iter().flat_map(|(start, thirds)| thirds.map(move |third| Network::at(start, third)));
    let chosen: Vec<Network> = all.filter(is_free).take(count).collect();
    if chosen.len() == count {
        return Ok(chosen);
    }
    Err(Error::missing(
        format!(
            "networks that are free from 192.168.200.0/24 to 192.168.254.0/24 and in 172.30.0.0/16: {}, needed {count}",
            chosen.len()
        ),
        "remove a route that covers them",
    ))
}

/// Returns the first pair that overlaps nothing in `taken`, apart from default routes.
pub fn choose(taken: &[Prefix]) -> Result<Addresses> {
    let taken: Vec<Prefix> = taken.iter().copied().filter(|prefix| prefix.length > 0).collect();
    let mut numbered = 0;
    for (pool, length) in POOLS {
        // IPv6 numbers continue across both pools, so that no pair of the second shares its number
        // with one of the first.
        let first = numbered;
        let count = 1_u32 << (30 - length);
        numbered += count;
        let whole = Prefix { address: IpAddr::V4(pool), length };
        let here: Vec<Prefix> = taken.iter().copied().filter(|prefix| prefix.overlaps(whole)).collect();
        if here.iter().any(|prefix| prefix.length <= length) {
            continue;
        }
        for block in 0..count {
            let pair = Addresses::at(pool.to_bits() + block * 4, first + block);
            let [v4, v6] = pair.blocks();
            if !here.iter().any(|prefix| prefix.overlaps(v4))
                && !taken.iter().any(|prefix| prefix.overlaps(v6))
            {
                return Ok(pair);
            }
        }
    }
    Err(Error::missing(
        "no free pair of addresses in 100.64.0.0/10 and 198.18.0.0/15",
        "remove a route that covers one of them, or run lasthop clean",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(address: &str, length: u8) -> Prefix {
        Prefix { address: address.parse().expect("an address"), length }
    }

    #[test]
    fn the_first_pair_when_nothing_is_taken_but_a_default_route() {
        let pair = choose(&[Prefix::DEFAULT_V4, Prefix::DEFAULT_V6]).expect("a pair");
        assert_eq!(pair.outside, Ipv4Addr::new(100, 64, 0, 1));
        assert_eq!(pair.inside, Ipv4Addr::new(100, 64, 0, 2));
        assert_eq!(pair.outside6, "fd6c:6173:7468:6f70::1".parse::<Ipv6Addr>().expect("an address"));
    }

    #[test]
    fn a_nested_link_takes_the_next_pair() {
        let pair = choose(&[block("100.64.0.2", 32), block("fd6c:6173:7468:6f70::6", 128)]).expect("a pair");
        assert_eq!(pair.outside, Ipv4Addr::new(100, 64, 0, 9));
    }

    #[test]
    fn a_route_over_the_whole_pool_leads_to_the_other() {
        let pair = choose(&[block("100.64.0.0", 10)]).expect("a pair");
        assert_eq!(pair.outside, Ipv4Addr::new(198, 18, 0, 1));
        assert!(choose(&[block("96.0.0.0", 3), block("198.16.0.0", 12)]).is_err());
    }

    /// Each pair lies in its own blocks, the caller first, and both numbers go together.
    #[test]
    fn blocks_of_a_pair() {
        let pair = choose(&[block("100.64.0.0", 29)]).expect("a pair");
        assert_eq!(pair.blocks(), [block("100.64.0.8", 30), block("fd6c:6173:7468:6f70::8", 126)]);
        assert_eq!(pair.inside, Ipv4Addr::new(100, 64, 0, 10));
        assert_eq!(pair.inside6, "fd6c:6173:7468:6f70::a".parse::<Ipv6Addr>().expect("an address"));
    }

    /// A pair of the second pool never has the IPv6 addresses of one of the first.
    #[test]
    fn pools_have_different_numbers() {
        let all_of_the_first = Prefix { address: IpAddr::V6(POOL6), length: 106 };
        let halves = [block("100.64.0.0", 11), block("100.96.0.0", 11)];
        for taken in [&halves[..], &[block("100.64.0.0", 10)]] {
            let pair = choose(taken).expect("a pair");
            assert_eq!(pair.outside, Ipv4Addr::new(198, 18, 0, 1));
            let [_, v6] = pair.blocks();
            assert!(!v6.overlaps(all_of_the_first), "{v6}");
        }
    }

    #[test]
    fn networks_of_devices_are_those_that_nothing_else_has() {
        let taken = [Prefix::DEFAULT_V4, block("192.168.201.7", 32), block("fd6c:6173:7468:cb::", 64)];
        let chosen = choose_networks(&taken, 2).expect("networks");
        assert_eq!(chosen[0].blocks(), [block("192.168.200.0", 24), block("fd6c:6173:7468:c8::", 64)]);
        assert_eq!(chosen[1].gateway, Ipv4Addr::new(192, 168, 202, 1));
        assert_eq!(chosen[1].gateway6, "fd6c:6173:7468:ca::1".parse::<Ipv6Addr>().expect("an address"));
        assert_eq!(chosen[1].dhcp_range()[1], Ipv4Addr::new(192, 168, 202, 250));
        // There are 55 and 256, all different.
        let all = choose_networks(&[], 311).expect("networks");
        assert_eq!(all[55].blocks(), [block("172.30.0.0", 24), block("fd6c:6173:7468:1e00::", 64)]);
        let blocks: Vec<_> = all.iter().flat_map(|network| network.blocks()).collect();
        let overlap = |place: usize| blocks[..place].iter().any(|other| other.overlaps(blocks[place]));
        assert!(!(0..blocks.len()).any(overlap));
        let taken = [block("192.168.0.0", 16), block("172.16.0.0", 12)];
        let error = choose_networks(&taken, 1).expect_err("none").to_string();
        assert!(error.contains("in 172.30.0.0/16: 0, needed 1"), "{error}");
    }

    proptest! {
        /// The chosen pair is the first that overlaps nothing.
        #[test]
        fn a_pair_is_free_and_no_earlier_one_is(
            taken in prop::collection::vec((0..40_u32, 28..=32_u8, any::<bool>()), 0..12),
        ) {
            let taken: Vec<Prefix> = taken
                .into_iter()
                .map(|(at, length, six)| {
                    let pool = Ipv4Addr::new(100, 64, 0, 0);
                    if six {
                        let address = IpAddr::V6(Ipv6Addr::from_bits(POOL6.to_bits() + u128::from(at)));
                        Prefix { address, length: length + 96 }
                    } else {
                        Prefix { address: IpAddr::V4(Ipv4Addr::from_bits(pool.to_bits() + at)), length }
                    }
                })
                .collect();
            let is_free = |pair: Addresses| pair.blocks().iter().all(|block| taken.iter().all(|its| !its.overlaps(*block)));
            let chosen = choose(&taken).expect("a pair");
            let pool = Ipv4Addr::new(100, 64, 0, 0).to_bits();
            let first = (0..100).map(|number| Addresses::at(pool + number * 4, number)).find(|pair| is_free(*pair));
            prop_assert_eq!(Some(chosen), first);
        }
    }
}
