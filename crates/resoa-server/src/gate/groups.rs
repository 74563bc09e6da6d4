//! Multicast groups in the options by which programs join and leave them (ip(7), ipv6(7), RFC
//! 3678). The policy of a client decides on a group as on any other destination.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

// From `linux/in.h` and `linux/in6.h`.
const IP_MSFILTER: i32 = 41;
pub(super) const IPV6_JOIN_ANYCAST: i32 = 27;
const IPV6_LEAVE_ANYCAST: i32 = 28;
pub(super) const MCAST_MSFILTER: i32 = 48;

/// IPv4 options whose value begins with the group: `struct ip_mreq`, `ip_mreqn`, `ip_mreq_source`,
/// `ip_msfilter`.
const OF_V4: [i32; 7] = [
    libc::IP_ADD_MEMBERSHIP,
    libc::IP_DROP_MEMBERSHIP,
    libc::IP_ADD_SOURCE_MEMBERSHIP,
    libc::IP_DROP_SOURCE_MEMBERSHIP,
    libc::IP_BLOCK_SOURCE,
    libc::IP_UNBLOCK_SOURCE,
    IP_MSFILTER,
];
/// IPv6 options whose value begins with the group, `struct ipv6_mreq`. An anycast address counts as
/// a group.
const OF_V6: [i32; 4] =
    [libc::IPV6_ADD_MEMBERSHIP, libc::IPV6_DROP_MEMBERSHIP, IPV6_JOIN_ANYCAST, IPV6_LEAVE_ANYCAST];
/// Options of both versions whose value has an address of any family behind the interface:
/// `struct group_req`, `group_source_req`, `group_filter`.
const OF_BOTH: [i32; 7] = [
    libc::MCAST_JOIN_GROUP,
    libc::MCAST_LEAVE_GROUP,
    libc::MCAST_JOIN_SOURCE_GROUP,
    libc::MCAST_LEAVE_SOURCE_GROUP,
    libc::MCAST_BLOCK_SOURCE,
    libc::MCAST_UNBLOCK_SOURCE,
    MCAST_MSFILTER,
];
/// Offset of that address, which is aligned like a `long`.
const GROUP: usize = 8;

/// Returns the group that an option names. `None` if it names none, or if the value is too short,
/// which the kernel refuses.
pub(super) fn group(level: i32, name: i32, value: &[u8]) -> Option<IpAddr> {
    match level {
        libc::IPPROTO_IP if OF_V4.contains(&name) => value.first_chunk::<4>().map(|octets| (*octets).into()),
        libc::IPPROTO_IPV6 if OF_V6.contains(&name) => {
            value.first_chunk::<16>().map(|octets| (*octets).into())
        }
        libc::IPPROTO_IP | libc::IPPROTO_IPV6 if OF_BOTH.contains(&name) => address(value.get(GROUP..)?),
        _ => None,
    }
}

/// Reads a `struct sockaddr_in` or `sockaddr_in6`.
fn address(octets: &[u8]) -> Option<IpAddr> {
    let family = octets.first_chunk().map(|family| i32::from(u16::from_ne_bytes(*family)))?;
    match family {
        libc::AF_INET => octets.get(4..)?.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets).into()),
        libc::AF_INET6 => octets.get(8..)?.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C10: the gate sees the group in every option that joins one.
    #[test]
    fn groups_are_found() {
        let v4 = [239, 1, 2, 3];
        let v6 = "ff15::7".parse::<Ipv6Addr>().expect("an address").octets();
        let with_address = |family: i32, octets: &[u8], at: usize| {
            let mut value = vec![0; 136];
            value[GROUP..GROUP + 2].copy_from_slice(&(family as u16).to_ne_bytes());
            value[GROUP + at..GROUP + at + octets.len()].copy_from_slice(octets);
            value
        };
        for (level, name, value, expected) in [
            (libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, [&v4[..], &[0; 4]].concat(), Some(v4.into())),
            (libc::IPPROTO_IP, libc::IP_ADD_SOURCE_MEMBERSHIP, [&v4[..], &[0; 8]].concat(), Some(v4.into())),
            (libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP, [&v6[..], &[0; 4]].concat(), Some(v6.into())),
            (libc::IPPROTO_IP, libc::MCAST_JOIN_GROUP, with_address(libc::AF_INET, &v4, 4), Some(v4.into())),
            (
                libc::IPPROTO_IPV6,
                libc::MCAST_JOIN_SOURCE_GROUP,
                with_address(libc::AF_INET6, &v6, 8),
                Some(v6.into()),
            ),
            (libc::IPPROTO_IP, libc::MCAST_JOIN_GROUP, with_address(libc::AF_UNIX, &v4, 4), None),
            (libc::IPPROTO_IP, libc::MCAST_JOIN_GROUP, vec![0; 9], None),
            (libc::IPPROTO_IP, libc::IP_TTL, v4.to_vec(), None),
        ] {
            assert_eq!(group(level, name, &value), expected, "{level} {name}");
        }
    }
    /// C10: the gate finds the group in every settable option that has one. The options are found
    /// by Linux's numbers, because memberships are consecutive in `linux/in.h` and `linux/in6.h`.
    #[test]
    fn no_settable_option_is_missed() {
        let mut value = [0; 136];
        value[..4].copy_from_slice(&[239, 1, 2, 3]);
        value[GROUP..GROUP + 2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        let settable = crate::options::SETTABLE.iter();
        let memberships: Vec<_> = settable
            .flat_map(|&(level, names)| names.iter().map(move |&name| (level, name)))
            .filter(|option| {
                matches!(
                    option,
                    (libc::IPPROTO_IP, 35..=48) | (libc::IPPROTO_IPV6, 20 | 21 | 27 | 28 | 42..=48)
                )
            })
            .collect();
        assert!(memberships.len() > 10, "{memberships:?}");
        for (level, name) in memberships {
            assert!(group(level, name, &value).is_some(), "level {level}, option {name}");
        }
    }
}
