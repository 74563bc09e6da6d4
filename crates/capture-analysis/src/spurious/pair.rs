//! Pairing: which captures show the same flow, and which of them is the sender's.
//!
//! At the sender's side an acknowledgment follows its data after a round trip, at the receiver's
//! side at once. So each capture of a flow has its smallest round-trip time: the capture where it
//! is the greatest is the sender's, and the one where it is the least is the receiver's. Clocks are
//! not compared. Captures show the same flow if ends and numbers agree or, behind address
//! translation, if the first numbers of both ends do.

use super::collect::Interface;
use super::flow::Flow;

/// A flow at the sender's side and, if there is a second capture, at the receiver's side, each with
/// its interface.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// At the sender's side.
    pub sender: (&'a Interface, &'a Flow),
    /// At the receiver's side.
    pub receiver: Option<(&'a Interface, &'a Flow)>,
}

/// Returns every flow of these interfaces once, in the order of the first interface that shows it.
///
/// The only capture of a flow counts as the sender's side.
#[must_use]
pub fn pair(interfaces: &[Interface]) -> Vec<Sides<'_>> {
    groups(interfaces).iter().map(|group| sides(group)).collect()
}

/// A flow, with the interfaces that show it.
pub type Group<'a> = Vec<(&'a Interface, &'a Flow)>;

/// Returns every flow of these interfaces once, at all interfaces that show it.
#[must_use]
pub fn groups(interfaces: &[Interface]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for interface in interfaces {
        let known = groups.len();
        for flow in &interface.flows {
            // Each group has one flow of an interface: the same ports used again are another
            // connection.
            let is_free = |group: &[(&Interface, &Flow)]| {
                !group.iter().any(|(place, _)| std::ptr::eq(*place, interface))
            };
            let group = groups[..known].iter_mut().find(|group| is_free(group) && is_same(group[0].1, flow));
            match group {
                Some(group) => group.push((interface, flow)),
                None => groups.push(vec![(interface, flow)]),
            }
        }
    }
    groups
}

/// Returns which captures of a flow are the sender's side and the receiver's. There must be one.
#[must_use]
pub fn sides<'a>(group: &[(&'a Interface, &'a Flow)]) -> Sides<'a> {
    let trip = |(_, flow): &(&Interface, &Flow)| flow.least_round_trip().unwrap_or(0);
    let mut sorted: Vec<(u64, (&Interface, &Flow))> = group.iter().map(|side| (trip(side), *side)).collect();
    // The sort is stable: with equal round-trip times, the first one is the sender's.
    sorted.sort_by_key(|(trip, _)| std::cmp::Reverse(*trip));
    let receiver = sorted.last().filter(|_| sorted.len() > 1).map(|(_, side)| *side);
    Sides { sender: sorted[0].1, receiver }
}

/// Returns by how much relative numbers of `receiver` are above those of `sender`.
///
/// They differ if the captures began at different packets.
#[must_use]
pub fn offset(sender: &Flow, receiver: &Flow) -> i64 {
    i64::from(sender.base.0.wrapping_sub(receiver.base.0).cast_signed())
}

/// Returns whether two captures show the same flow.
fn is_same(one: &Flow, other: &Flow) -> bool {
    let both_syns = one.base.1 && other.base.1;
    if one.ends != other.ends {
        let whole = both_syns && one.peer_base.1 && other.peer_base.1;
        return whole && one.base.0 == other.base.0 && one.peer_base.0 == other.peer_base.0;
    }
    if both_syns {
        return one.base.0 == other.base.0;
    }
    let span = |flow: &Flow| {
        let numbers = || flow.transmissions.iter().flat_map(|sent| [sent.first, sent.end]);
        Some((numbers().min()?.cast_signed(), numbers().max()?.cast_signed()))
    };
    let (Some(one_span), Some(other_span)) = (span(one), span(other)) else { return false };
    let above = offset(one, other);
    one_span.0 + above < other_span.1 && other_span.0 < one_span.1 + above
}
