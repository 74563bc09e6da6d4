use super::*;
use crate::Tail;
use crate::event::{EndedPacket, Outcome};
use crate::example;
use crate::packets::{self, Reader};
use crate::units::{Span, Time, WallTime};
use packet::Layer;
use proptest::prelude::*;
use std::io;
use vocabulary::{ChannelState, Direction, LinkId, Loss};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn order(limit: usize) -> Order<Vec<u8>> {
    Order::new(Vec::new(), &example::header(), 65_535, limit).expect("a capture")
}

/// A packet of link 0 towards the host enters.
fn enter(order: &mut Order<Vec<u8>>, number: u64, nanos: u64) {
    order.entered(LinkId(0), Direction::Down, number, at(nanos), 60, &[number as u8; 60]);
}

fn read(bytes: &[u8]) -> (Vec<packets::Packet>, Vec<packets::Interface>) {
    let mut reader = Reader::new(bytes).expect("a capture");
    let packets = reader.by_ref().map(|packet| packet.expect("no I/O error")).collect();
    assert_eq!(reader.tail(), Some(Tail::Complete));
    (packets, reader.interfaces().to_vec())
}

fn written(order: Order<Vec<u8>>) -> Vec<packets::Packet> {
    read(&order.finish().expect("finished").1).0
}

fn comments(packets: &[packets::Packet]) -> Vec<&str> {
    packets.iter().map(|packet| packet.comments[0].as_str()).collect()
}

#[test]
fn fates_in_words() {
    let whole = EndedPacket { stage: Some(2), ..example::delivered(12, 1_000_000_000, 1_082_134_000) };
    let lost = |loss, channel| EndedPacket {
        outcome: Outcome::Lost(loss),
        channel,
        left: at(1_234_567_890),
        ..whole
    };
    let mut cases = vec![
        whole,
        EndedPacket { bits_flipped: 3, ..whole },
        EndedPacket { bits_flipped: 1, checksum_spoiled: true, copy: true, ..whole },
        EndedPacket { congestion_marked: true, held: Span::from_millis(1500), overtaken: 1, ..whole },
        EndedPacket { overtaken: 5, direction: Direction::Up, ..whole },
        lost(Loss::Error, Some(ChannelState::Bad)),
        lost(Loss::Error, Some(ChannelState::Good)),
    ];
    cases.extend(Loss::ALL.map(|loss| lost(loss, None)));
    let told: Vec<String> = cases
        .iter()
        .map(|ended| {
            let mut text = String::new();
            words::packet(&mut text, ended.direction, ended.number);
            words::fate(&mut text, ended, Some("errors"));
            text
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_packet_is_recorded_at_both_ends_with_its_fate() {
    let mut order = order(1 << 20);
    enter(&mut order, 0, 1_000);
    enter(&mut order, 1, 2_000);
    let lost = EndedPacket {
        outcome: Outcome::Lost(Loss::QueueFull),
        stage: Some(0),
        ..example::delivered(1, 2_000, 2_000)
    };
    order.ended(&lost, Some("queue"), None);
    let damaged = EndedPacket { bits_flipped: 2, ..example::delivered(0, 1_000, 5_000) };
    order.ended(&damaged, Some("errors"), Some(&[7; 60]));
    order.settled(at(6_000)).expect("written");
    let (packets, interfaces) = read(&order.finish().expect("finished").1);
    let names: Vec<_> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["wlan host end", "wlan network end", "lan host end", "lan network end"]);
    assert_eq!(interfaces.iter().map(|interface| interface.link_type).collect::<Vec<_>>(), [101, 101, 1, 1]);
    assert_eq!(interfaces[0].description, "up: umts, 64000 bit/s; down: umts, 384000 bit/s");
    let start = example::header().started.as_nanos();
    let seen: Vec<_> = packets
        .iter()
        .map(|packet| (packet.time.as_nanos() - start, packet.interface, packet.inbound, packet.bytes[0]))
        .collect();
    assert_eq!(seen, [(1_000, 1, Some(false), 0), (2_000, 1, Some(false), 1), (5_000, 0, Some(true), 7)]);
    insta::assert_snapshot!(comments(&packets).join("\n"));
}

#[test]
fn records_wait_for_the_fate_of_earlier_ones_and_no_longer() {
    let mut order = order(1 << 20);
    let written_so_far = |order: &mut Order<Vec<u8>>, now| {
        order.settled(at(now)).expect("written");
        order.report().records
    };
    enter(&mut order, 0, 10);
    enter(&mut order, 1, 20);
    order.ended(&example::delivered(1, 20, 30), None, None);
    assert_eq!(written_so_far(&mut order, 40), 0, "the first has no fate");
    order.ended(&example::delivered(0, 10, 50), None, None);
    assert_eq!(written_so_far(&mut order, 45), 3, "at 50 something else may still happen");
    enter(&mut order, 2, 47);
    order.ended(&example::delivered(2, 47, 48), None, None);
    assert_eq!(written_so_far(&mut order, 60), 6);
    assert_eq!(order.report().out_of_order, 0);
}

#[test]
fn copies_and_packets_in_flight_are_told() {
    let mut order = order(1 << 20);
    enter(&mut order, 0, 10);
    enter(&mut order, 1, 20);
    enter(&mut order, 2, 25);
    order.ended(&EndedPacket { copy: true, ..example::delivered(0, 10, 30) }, None, Some(&[9; 60]));
    order.ended(&example::delivered(0, 10, 40), None, None);
    order.ended(
        &EndedPacket { copy: true, outcome: Outcome::Lost(Loss::Red), ..example::delivered(1, 20, 45) },
        None,
        Some(&[9; 60]),
    );
    let packets = written(order);
    insta::assert_snapshot!(comments(&packets).join("\n"));
}

/// The record of a packet waits for earlier ones, and its copy may end in the meantime.
#[test]
fn a_copy_that_ends_behind_its_original_is_told_too() {
    let mut order = order(1 << 20);
    enter(&mut order, 0, 10);
    enter(&mut order, 1, 20);
    order.ended(&example::delivered(1, 20, 40), None, None);
    let lost = Outcome::Lost(Loss::Red);
    order.ended(
        &EndedPacket { copy: true, outcome: lost, ..example::delivered(1, 20, 45) },
        None,
        Some(&[9; 60]),
    );
    order.settled(at(50)).expect("written");
    order.ended(&example::delivered(0, 10, 60), None, None);
    order.settled(at(70)).expect("written");
    assert_eq!(order.report().records, 4);
    // The record is written: nothing can be added to it any more.
    order.ended(
        &EndedPacket { copy: true, outcome: lost, ..example::delivered(1, 20, 80) },
        None,
        Some(&[9; 60]),
    );
    let packets = written(order);
    let told = comments(&packets)[1];
    assert!(told.starts_with("lasthop: down #1 delivered after 0.00002 ms; duplicate lost: "), "{told}");
    assert_eq!(told.matches("duplicate").count(), 1, "{told}");
}

#[test]
fn memory_is_bounded_whatever_is_inside() {
    let limit = 100_000;
    let mut order = order(limit);
    for number in 0..10_000 {
        enter(&mut order, number, number);
        order.write_ready().expect("written");
    }
    assert!(order.report().most_held <= limit + 1_000, "{:?}", order.report());
    let (early, kept) = (order.report().without_fate, order.report().records);
    assert_eq!(early, kept);
    assert!(early > 9_000, "{early}");
    // One of them ends. Its delivery is still recorded, with its bytes and its fate.
    order.ended(&example::delivered(5, 5, 20_000), None, None);
    let packets = written(order);
    assert_eq!(packets.len(), 10_001);
    let last = packets.last().expect("a packet");
    assert_eq!(
        (last.bytes.as_slice(), last.comments[0].as_str()),
        (&[5; 60][..], "lasthop: down #5 delivered after 0.019995 ms")
    );
    assert_eq!(
        comments(&packets)[5],
        "lasthop: down #5 fate not known when this was written: too much is inside the link"
    );
}

#[test]
fn a_link_can_be_added_while_the_capture_goes_on() {
    let mut order = order(1 << 20);
    let mut link = example::header().links[0].clone();
    link.id = LinkId(9);
    link.name = "later".to_owned();
    order.link(&link).expect("added");
    order.link(&link).expect("known already");
    order.entered(LinkId(9), Direction::Up, 0, at(5), 4, b"abcd");
    let (packets, interfaces) = read(&order.finish().expect("finished").1);
    assert_eq!((interfaces.len(), interfaces[packets[0].interface].name.as_str()), (6, "later host end"));
}

/// Generates ends of packets of links 0 and 1, numbered in the order of the list.
fn any_run() -> impl Strategy<Value = Vec<(EndedPacket, Vec<u8>)>> {
    prop::collection::vec((example::ended(), prop::collection::vec(any::<u8>(), 20..40)), 0..30).prop_map(
        |mut ends| {
            for (number, (ended, bytes)) in ends.iter_mut().enumerate() {
                ended.number = number as u64;
                ended.copy = false;
                ended.length = bytes.len() as u32;
            }
            ends
        },
    )
}

/// Drives `order` through a run in the order of time.
fn drive<W: io::Write>(order: &mut Order<W>, ends: &[(EndedPacket, Vec<u8>)]) {
    // Arrivals come before departures at the same time.
    let mut steps: Vec<(Time, bool, usize)> = Vec::new();
    for (place, (ended, _)) in ends.iter().enumerate() {
        steps.extend([(ended.arrived, false, place), (ended.left, true, place)]);
    }
    steps.sort_unstable();
    for (now, leaves, place) in steps {
        let (ended, bytes) = &ends[place];
        if leaves {
            order.ended(ended, None, (!ended.is_unchanged()).then_some(bytes));
        } else {
            order.entered(ended.link, ended.direction, ended.number, now, ended.length, bytes);
        }
        order.settled(now).expect("written");
    }
}

proptest! {
    #[test]
    fn every_packet_is_there_and_in_order(ends in any_run(), snap_length in 16_u32..50) {
        let mut order = Order::new(Vec::new(), &example::header(), snap_length, 1 << 20).expect("a capture");
        drive(&mut order, &ends);
        let (report, bytes) = order.finish().expect("finished");
        let (packets, interfaces) = read(&bytes);
        prop_assert_eq!((report.records, report.out_of_order, report.without_fate), (packets.len() as u64, 0, 0));
        prop_assert!(packets.is_sorted_by_key(|packet| packet.time));
        // The input as a list that does not depend on the order of packets at the same time.
        let start = example::header().started;
        let mut expected = Vec::new();
        for (ended, bytes) in &ends {
            let name = if ended.link == LinkId(0) { "wlan" } else { "lan" };
            let (first, second) = match ended.direction {
                Direction::Up => ("host", "network"),
                Direction::Down => ("network", "host"),
            };
            let kept = bytes[..bytes.len().min(snap_length as usize)].to_vec();
            expected.push((start.at(ended.arrived), format!("{name} {first} end"), bytes.len(), kept.clone()));
            if ended.outcome == Outcome::Delivered {
                expected.push((start.at(ended.left), format!("{name} {second} end"), bytes.len(), kept));
            }
        }
        let mut seen: Vec<(WallTime, String, usize, Vec<u8>)> = packets
            .into_iter()
            .map(|packet| (packet.time, interfaces[packet.interface].name.clone(), packet.length as usize, packet.bytes))
            .collect();
        expected.sort();
        seen.sort();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn another_reader_reads_the_same(ends in any_run()) {
        use pcap_file::pcapng::{Block, PcapNgReader};
        let mut order = order(1 << 20);
        drive(&mut order, &ends);
        let bytes = order.finish().expect("finished").1;
        let ours = read(&bytes).0;
        let mut reader = PcapNgReader::new(&bytes[..]).expect("pcapng");
        let mut theirs = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.expect("a block") {
                theirs.push((packet.timestamp.as_nanos() as u64, packet.data.to_vec()));
            }
        }
        let ours: Vec<_> = ours.into_iter().map(|packet| (packet.time.as_nanos(), packet.bytes)).collect();
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn texts_too_long_for_an_option_are_cut_between_characters() {
    let mut writer = Writer::new(Vec::new(), "test", 100).expect("a section");
    let name = "é".repeat(40_000);
    let interface = Interface { name: &name, description: "", layer: Layer::Ip, bits_per_second: None };
    writer.interface(&interface).expect("an interface");
    let comment = "x";
    let packet = Packet {
        interface: 0,
        time: WallTime::from_nanos(1),
        length: 1,
        bytes: b"a",
        comment,
        inbound: true,
        wrong_checksum: false,
    };
    writer.packet(&packet).expect("a packet");
    let (_, interfaces) = read(&writer.into_inner());
    assert!(interfaces[0].name.chars().all(|c| c == 'é') && interfaces[0].name.len() > 65_000);
}

/// Wireshark shows an interface's speed; a link has one if both directions have the same.
#[test]
fn speeds_and_directions_of_interfaces() {
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};
    let mut header = example::header();
    header.links[1].up.bits_per_second = Some(5_000_000_000);
    header.links[1].down.bits_per_second = Some(5_000_000_000);
    let mut order = Order::new(Vec::new(), &header, 65_535, 1 << 20).expect("a capture");
    order.entered(LinkId(1), Direction::Up, 0, at(5), 4, b"abcd");
    let up = EndedPacket { link: LinkId(1), direction: Direction::Up, ..example::delivered(0, 5, 9) };
    order.ended(&up, None, None);
    let bytes = order.finish().expect("finished").1;
    let mut reader = PcapNgReader::new(&bytes[..]).expect("pcapng");
    let mut speeds = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::InterfaceDescription(interface) = block.expect("a block") {
            speeds.push(interface.options.iter().find_map(|option| match option {
                InterfaceDescriptionOption::IfSpeed(speed) => Some(*speed),
                _ => None,
            }));
        }
    }
    assert_eq!(speeds, [None, None, Some(5_000_000_000), Some(5_000_000_000)]);
    let (packets, _) = read(&bytes);
    let ways: Vec<_> = packets.iter().map(|packet| (packet.interface, packet.inbound)).collect();
    assert_eq!(ways, [(2, Some(false)), (3, Some(true))], "from the host to the network");
}

/// Late records are written behind the others, and counted.
#[test]
fn records_that_come_too_late_are_counted() {
    let mut order = order(1 << 20);
    for number in [0, 2] {
        enter(&mut order, number, 100);
        order.ended(&example::delivered(number, 100, 200), None, None);
    }
    order.settled(at(300)).expect("written");
    enter(&mut order, 1, 150);
    order.ended(&example::delivered(1, 150, 200), None, None);
    order.settled(at(400)).expect("written");
    let report = order.report();
    assert_eq!((report.records, report.out_of_order, report.without_fate), (6, 1, 0));
    assert_eq!(report.most_held, 4 * (60 + 256), "both records of two packets");
}

/// A packet of a link that nobody described has no interface.
#[test]
fn packets_of_unknown_links_are_left_out() {
    let mut order = order(1 << 20);
    order.entered(LinkId(7), Direction::Up, 0, at(5), 4, b"abcd");
    order.ended(&EndedPacket { link: LinkId(7), ..example::delivered(0, 5, 9) }, None, None);
    assert!(written(order).is_empty());
}
