use super::*;
use crate::Handshake;
use crate::sample::{ACKED, FIRST, S, Sample};
use std::collections::BTreeMap;

type Tracks = BTreeMap<Tuple, Track>;

/// Returns connections from port 80 to these ports, each expecting its own sequence number.
fn tracks(connections: &[(u16, u32)]) -> Tracks {
    let of = |&(local_port, rcv_nxt): &(u16, u32)| {
        let handshake = Handshake { rcv_nxt, ack: ACKED, window: 502, options: None, unsupported: false };
        let track = Track::established(&handshake, true, &Parameters::default());
        (Sample { local_port, ..Sample::default() }.tuple(), Track { payload: S, ..track })
    };
    connections.iter().map(of).collect()
}

fn find_by(tracks: &Tracks, segment: &Sample, localization: Localization) -> Result<u16, Reason> {
    let packet = segment.build();
    let header = TcpHeader::read(&packet[segment.transport()..]).expect("20 bytes");
    let parameters = Parameters { localization, ..Parameters::default() };
    localize(&segment.tuple(), &header, tracks.iter(), tracks.len() > SLOTS, &parameters)
        .map(|tuple| tuple.local_port)
}

fn find(tracks: &Tracks, segment: &Sample) -> Result<u16, Reason> {
    find_by(tracks, segment, Localization::Bits(4))
}

fn to(local_port: u16) -> Sample {
    Sample { local_port, ..Sample::default() }
}

/// Returns a segment from port 80 to port 40000, with these bits of port 40000 wrong.
fn hit_local(bits: u16) -> Sample {
    to(HOME ^ bits)
}

fn hit_remote(bits: u16) -> Sample {
    let remote_port = to(HOME).remote_port ^ bits;
    Sample { remote_port, ..to(HOME) }
}

const HOME: u16 = 40000;

#[test]
fn any_single_wrong_bit_in_the_ports_is_found_home() {
    let tracks = tracks(&[(40000, FIRST)]);
    for bit in 0..16 {
        assert_eq!(find(&tracks, &hit_local(1 << bit)), Ok(40000));
        assert_eq!(find(&tracks, &hit_remote(1 << bit)), Ok(40000));
    }
}

#[test]
fn five_wrong_bits_are_too_many_and_exact_bears_none() {
    let tracks = tracks(&[(40000, FIRST)]);
    let with = |bits: u16| Sample { local_port: HOME ^ bits, ..hit_remote(0b11) };
    assert_eq!(find(&tracks, &with(0b11)), Ok(40000));
    assert_eq!(find(&tracks, &with(0b111)), Err(Reason::NoConnection));
    assert_eq!(find_by(&tracks, &with(0), Localization::Exact), Err(Reason::NoConnection));
    assert_eq!(find_by(&tracks, &with(0), Localization::Bits(1)), Err(Reason::NoConnection));
}

#[test]
fn stage_a_leaves_out_the_source_port_and_wants_the_destination_port() {
    let tracks = tracks(&[(40000, FIRST)]);
    let find = |segment: &Sample| find_by(&tracks, segment, Localization::SourcePort);
    assert_eq!(find(&Sample { remote_port: !80, ..to(40000) }), Ok(40000));
    assert_eq!(find(&to(40001)), Err(Reason::NoConnection));
}

#[test]
fn the_sequence_number_decides_between_two() {
    // 40001 is one bit from both ports. Only the second connection expects these data, or whole
    // segments before them.
    let two = tracks(&[(40000, FIRST + 100), (40003, FIRST)]);
    assert_eq!(find(&two, &to(40001)), Ok(40003));
    let behind = Sample { seq: FIRST + 5 * u32::from(S), ..to(40001) };
    assert_eq!(find(&two, &behind), Ok(40003));
    assert_eq!(find(&two, &Sample { seq: FIRST + 7, ..to(40001) }), Err(Reason::NoConnection));
}

#[test]
fn a_plausible_acknowledgment_counts_more_than_nearer_ports() {
    let mut two = tracks(&[(40000, FIRST), (40007, FIRST)]);
    assert_eq!(find(&two, &to(40001)), Ok(40000), "one bit is nearer than two");
    let nearer = to(40000).tuple();
    two.get_mut(&nearer).expect("there").ack = ACKED + 1;
    assert_eq!(find(&two, &to(40001)), Ok(40007), "this acknowledgment would be an old one");
    two.get_mut(&nearer).expect("there").ack = ACKED.wrapping_sub(Parameters::default().window);
    assert_eq!(find(&two, &to(40001)), Ok(40000), "the furthest that is plausible");
}

#[test]
fn a_tie_is_too_risky_unless_something_better_comes() {
    let two = tracks(&[(40000, FIRST), (40003, FIRST)]);
    assert_eq!(find(&two, &to(40001)), Err(Reason::Ambiguous));
    // 40001 differs by one bit from each of 40000, 40003 and 40005.
    assert_eq!(
        find(&tracks(&[(40000, FIRST), (40003, FIRST), (40005, FIRST)]), &to(40001)),
        Err(Reason::Ambiguous)
    );
    // 40001 differs by one bit, in the source port; 40004 and 40007 both differ by three.
    let three = tracks(&[(40007, FIRST), (40004, FIRST), (40001, FIRST)]);
    assert_eq!(find(&three, &Sample { remote_port: 81, ..to(40001) }), Ok(40001), "two ties behind one best");
}

#[test]
fn among_many_only_neighbours_by_one_bit_are_tried() {
    let many =
        |count: u16| tracks(&(0..count).map(|n| (40000 + 64 * n, FIRST + u32::from(n))).collect::<Vec<_>>());
    let two_bits = hit_local(0b11);
    assert_eq!(find(&many(32), &two_bits), Ok(40000));
    assert_eq!(find(&many(33), &two_bits), Err(Reason::NoConnection));
    let one_bit = to(40001);
    assert_eq!(find(&many(33), &one_bit), Ok(40000));
    assert_eq!(find_by(&many(33), &one_bit, Localization::Bits(0)), Err(Reason::NoConnection));
    assert_eq!(find_by(&many(33), &one_bit, Localization::SourcePort), Err(Reason::NoConnection));
    assert_eq!(find_by(&many(33), &hit_remote(1 << 15), Localization::SourcePort), Ok(40000));
    assert_eq!(find_by(&many(33), &hit_remote(0b11), Localization::SourcePort), Err(Reason::NoConnection));
    assert_eq!(find_by(&many(32), &hit_remote(0b11), Localization::SourcePort), Ok(40000));
}
