//! Verdicts do not depend on the receiver's clock, and verdicts from two captures are true.

use super::conversation::{MS, Packet, ack, data, examined, handshake, said};
use capture_analysis::spurious::{Evidence, SpuriousVerdict};
use proptest::prelude::*;

/// A step of a sender: which segment, whether it is lost, its additional delay in ms, and the time
/// in ms until the next step.
type Step = (u32, bool, u64, u64);

/// Returns both captures of these steps, by one clock, and which retransmissions were spurious.
///
/// Segments take 20 ms plus their delay, so they arrive in any order. The receiver acknowledges
/// each 1 ms later.
fn play(steps: &[Step]) -> ([Vec<Packet>; 2], Vec<bool>) {
    let (mut sender, mut arrivals) = (handshake(false), Vec::new());
    let (mut now, mut sent, mut truth): (u64, Vec<(u32, bool)>, Vec<bool>) = (100, Vec::new(), Vec::new());
    let mut next: u32 = 0;
    for (identification, &(choice, lost, delay, wait)) in (1..).zip(steps) {
        // A new segment, or one of the last three again.
        let segment = if choice == 0 || next == 0 { next } else { next.saturating_sub(choice) };
        if segment < next {
            truth.push(sent.iter().any(|&(other, lost)| other == segment && !lost));
        }
        next = next.max(segment + 1);
        sent.push((segment, lost));
        let packet = Packet { identification, ..data(now, 1001 + segment * 100, 100) };
        sender.push(packet.clone());
        if !lost {
            arrivals.push(Packet { at: packet.at + (20 + delay) * MS, ..packet });
        }
        now += wait;
    }
    arrivals.sort_by_key(|packet| packet.at);
    let mut receiver: Vec<Packet> = handshake(false);
    for packet in &mut receiver {
        packet.at = 20 * MS;
    }
    let mut there = std::collections::BTreeSet::new();
    for packet in arrivals {
        there.insert(packet.seq);
        let edge =
            (0..=next).map(|n| 1001 + n * 100).find(|seq| !there.contains(seq)).expect("not all there is");
        let answer = Packet { at: packet.at + MS, ..ack(0, edge) };
        sender.push(Packet { at: answer.at + 20 * MS, ..answer.clone() });
        receiver.extend([packet, answer]);
    }
    ([sender, receiver], truth)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (prop_oneof![3 => Just(0_u32), 2 => 1_u32..4], prop::bool::weighted(0.3), 0_u64..60, 0_u64..50);
    prop::collection::vec(step, 1..40)
}

proptest! {
    /// An offset of days, and a clock that runs at half to twice the speed.
    #[test]
    fn the_receivers_clock_does_not_matter(steps in steps(), offset in 0_u64..400_000_000, drift in 500_u64..2000) {
        let (captures, _) = play(&steps);
        prop_assume!(captures[1].iter().any(|packet| packet.len > 0));
        let [sender, receiver] = captures;
        let other: Vec<Packet> = receiver
            .iter()
            .map(|packet| Packet { at: packet.at / 1000 * drift + offset * MS, ..packet.clone() })
            .collect();
        let (right, wrong) = (examined(&[sender.clone(), receiver]), examined(&[sender, other]));
        prop_assert_eq!(right.retransmissions, wrong.retransmissions);
    }

    /// With both captures every verdict is true, except for the last packets, which may still have
    /// been in flight.
    #[test]
    fn two_captures_tell_the_truth(steps in steps()) {
        let (captures, truth) = play(&steps);
        prop_assume!(captures[1].iter().any(|packet| packet.len > 0));
        let examined = examined(&captures);
        prop_assert_eq!(examined.retransmissions.len(), truth.len());
        let last = captures[1].iter().map(|packet| packet.identification).max().expect("a packet");
        let copies = captures[0].iter().filter(|packet| packet.len > 0);
        let mut seen = std::collections::BTreeSet::new();
        let again: Vec<u16> = copies.filter(|packet| !seen.insert(packet.seq)).map(|packet| packet.identification).collect();
        for ((said, truth), identification) in said(&examined.retransmissions, Evidence::Arrivals).into_iter().zip(truth).zip(again) {
            let expected = if truth { SpuriousVerdict::Spurious } else { SpuriousVerdict::Necessary };
            prop_assert!(said == expected || (said == SpuriousVerdict::Unknown && identification > last), "{said:?}, truly {expected:?}");
        }
    }
}
