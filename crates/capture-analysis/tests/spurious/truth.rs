//! Verdicts compared with what the link did.

use super::conversation::{ack, data, examined, handshake, interfaces};
use capture::{Direction, EndedPacket, Fate, Flow, LinkId, Loss, Reason, Time};
use capture_analysis::spurious::truth::Fates;
use capture_analysis::spurious::{Evidence, Score, SpuriousVerdict, pair};

/// Fate on link `link` of a segment that reached it at `at` ms.
fn fate(link: u16, number: u64, at: u64, sequence: u32, lost: Option<Loss>) -> Fate {
    let at = Time::from_nanos(at * 1_000_000);
    let flow = Flow {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        protocol: 6,
        ports: Some((1111, 80)),
        tcp_sequence: Some(sequence),
        payload: Some(100),
    };
    let whole =
        EndedPacket::untouched(LinkId(link), Direction::Down, number, 140, at, at).fate(None, Some(flow));
    Fate { lost: lost.map(Reason::Known), ..whole }
}

/// Returns the truth about the retransmissions of one segment that was sent three times.
fn truth(fates: &[Fate]) -> Vec<SpuriousVerdict> {
    let packets = vec![data(100, 1001, 100), data(500, 1001, 100), data(1100, 1001, 100), ack(1140, 1101)];
    let captures = interfaces(&[[handshake(true), packets.clone()].concat()]);
    let mut all = Fates::default();
    for fate in fates {
        all.add(fate);
    }
    all.verdicts(&pair(&captures)[0], &examined(&[[handshake(true), packets].concat()]))
}

#[test]
fn the_nth_transmission_is_the_nth_fate() {
    use SpuriousVerdict::{Necessary, Spurious, Unknown};
    let fates = |first, second, third| {
        [(0, 1, first), (1, 2, second), (2, 3, third)]
            .map(|(number, at, lost)| fate(0, number, at, 1001, lost))
    };
    assert_eq!(truth(&fates(None, None, None)), [Spurious, Spurious]);
    assert_eq!(truth(&fates(Some(Loss::Error), None, None)), [Necessary, Spurious]);
    assert_eq!(truth(&fates(Some(Loss::Error), Some(Loss::Outage), None)), [Necessary, Necessary]);
    assert_eq!(truth(&fates(Some(Loss::RunEnded), None, None)), [Unknown, Spurious]);
    let mut damaged = fates(None, None, None);
    damaged[0].bits_flipped = 1;
    assert_eq!(truth(&damaged), [Necessary, Spurious]);
    // A copy that the link made arrives; the packet itself does not.
    let mut copied = fates(Some(Loss::Error), None, None).to_vec();
    copied.push(Fate { copy: true, ..fate(0, 0, 1, 1001, None) });
    assert_eq!(truth(&copied), [Spurious, Spurious]);
    // A log that does not have all of them shows nothing.
    assert_eq!(truth(&fates(None, None, None)[..2]), [Unknown, Unknown]);
}

/// Packets reach the second link in the order in which they left the first.
#[test]
fn a_way_over_two_links() {
    use SpuriousVerdict::{Necessary, Spurious};
    let first = [(0, 1, None), (1, 2, Some(Loss::Error)), (2, 3, None)]
        .map(|(number, at, lost)| fate(0, number, at, 1001, lost));
    let second = [(0, 11, Some(Loss::QueueFull)), (1, 13, None)]
        .map(|(number, at, lost)| fate(1, number, at, 1001, lost));
    assert_eq!(truth(&[first.to_vec(), second.to_vec()].concat()), [Necessary, Necessary]);
    let second = [(0, 11, None), (1, 13, None)].map(|(number, at, lost)| fate(1, number, at, 1001, lost));
    assert_eq!(truth(&[first.to_vec(), second.to_vec()].concat()), [Spurious, Spurious]);
}

/// The second transmission leaves the first link before the first one, so it is the one that
/// reaches the second link first.
#[test]
fn a_link_that_changes_the_order_before_another_one() {
    let left = |number, arrived, left: u64| Fate {
        left: Time::from_nanos(left * 1_000_000),
        ..fate(0, number, arrived, 1001, None)
    };
    let first = [left(0, 1, 20), left(1, 2, 3), left(2, 4, 30)];
    let second = [(0, 13, Some(Loss::Error)), (1, 21, None), (2, 31, None)]
        .map(|(number, at, lost)| fate(1, number, at, 1001, lost));
    let spurious = SpuriousVerdict::Spurious;
    assert_eq!(truth(&[first.to_vec(), second.to_vec()].concat()), [spurious, spurious]);
}

#[test]
fn recall_and_precision() {
    use SpuriousVerdict::{Necessary, Spurious, Unknown};
    let mut score = Score::default();
    for (truth, said) in [
        (Spurious, Spurious),
        (Spurious, Spurious),
        (Spurious, Spurious),
        (Spurious, Necessary),
        (Spurious, Unknown),
        (Necessary, Spurious),
        (Necessary, Necessary),
        (Necessary, Unknown),
        (Unknown, Spurious),
    ] {
        score.add(truth, said);
    }
    assert_eq!((score.recall(), score.precision()), (Some(0.6), Some(0.75)));
    assert_eq!((score.confirmed, score.open, score.mistaken, score.missed), (1, 1, 1, 1));
    assert_eq!((Score::default().recall(), Score::default().precision()), (None, None));
}

/// The order in which evidence decides: a proof outweighs an indication, and evidence that is not
/// admitted does not count.
#[test]
fn evidence_decides_in_the_order_of_its_ranks() {
    let mut signs = capture_analysis::spurious::Signs::default();
    signs.set(Evidence::RoundTrip, SpuriousVerdict::Necessary);
    assert_eq!(signs.combined(|_| true), (SpuriousVerdict::Necessary, Some(Evidence::RoundTrip)));
    signs.set(Evidence::Timestamps, SpuriousVerdict::Necessary);
    signs.set(Evidence::DuplicateSack, SpuriousVerdict::Spurious);
    assert_eq!(signs.combined(|_| true), (SpuriousVerdict::Spurious, Some(Evidence::DuplicateSack)));
    assert_eq!(signs.combined(|one| one != Evidence::DuplicateSack).1, Some(Evidence::Timestamps));
    signs.set(Evidence::Arrivals, SpuriousVerdict::Necessary);
    assert_eq!(signs.combined(|_| true), (SpuriousVerdict::Necessary, Some(Evidence::Arrivals)));
    assert_eq!(
        capture_analysis::spurious::Signs::default().combined(|_| true),
        (SpuriousVerdict::Unknown, None)
    );
}
