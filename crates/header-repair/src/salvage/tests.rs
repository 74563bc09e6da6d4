use super::*;
use crate::sample::{Sample, sack, stamps};
use crate::{Handshake, Parameters};

fn track(options: Option<[u8; 12]>) -> Track {
    let handshake = Handshake { rcv_nxt: 0, ack: 111, window: 222, options, unsupported: false };
    Track::established(&handshake, true, &Parameters::default())
}

/// Returns a header in which every bit is set that can be.
fn ones(options: &[u8]) -> Header {
    let segment = [&[0xff; 20], options].concat();
    Header::read(&segment, segment.len()).expect("a header")
}

#[test]
fn constants_are_restored_and_the_rest_stays_as_it_came() {
    let connection = Sample::default().tuple();
    let base = base(&ones(&[]), &connection).fixed;
    let restored = [
        (Field::SourcePort, 80),
        (Field::DestinationPort, 40000),
        (Field::DataOffset, 5),
        (Field::Ack, 1),
        (Field::Psh, 1),
        (Field::Sequence, u32::MAX),
        (Field::Acknowledgment, u32::MAX),
        (Field::Window, 0xffff),
        (Field::Checksum, 0xffff),
    ];
    for field in Field::ALL {
        let expected = restored.iter().find(|(known, _)| *known == field).map_or(0, |(_, value)| *value);
        assert_eq!(base.get(field), expected, "{field:?}");
    }
}

#[test]
fn what_nothing_confirms_comes_from_the_template() {
    let connection = Sample::default().tuple();
    let header = unconfirmed(&base(&ones(&[]), &connection), &track(None)).fixed;
    for (field, value) in
        [(Field::Acknowledgment, 111), (Field::Window, 222), (Field::Psh, 0), (Field::Sequence, u32::MAX)]
    {
        assert_eq!(header.get(field), value, "{field:?}");
    }
}

#[test]
fn options_come_from_the_template_and_sack_blocks_become_padding() {
    let connection = Sample::default().tuple();
    let of = |options: &[u8], track: &Track| {
        unconfirmed(&base(&ones(options), &connection), track).options.to_vec()
    };
    assert_eq!(of(&stamps(99), &track(Some(stamps(7)))), stamps(7));
    assert_eq!(of(&[stamps(99), sack()].concat(), &track(Some(stamps(7)))), [stamps(7), [1; 12]].concat());
    assert_eq!(of(&sack(), &track(None)), [1; 12]);
    let tried = ones(&[stamps(99), sack()].concat()).with_template_options(&track(Some(stamps(7))));
    assert_eq!(tried.options.to_vec(), [stamps(7), sack()].concat(), "for trying they stay");
}

#[test]
fn only_what_no_sender_can_have_meant_makes_a_guess() {
    let sample = Sample::default();
    let packet = sample.build();
    let received = Header::read(&packet[20..], 20).expect("a header");
    for row in fields::TABLE {
        let damaged = received.with(row.field, received.fixed.get(row.field) ^ 1);
        // The data offset does not matter here: the segment is read as having no options.
        assert_eq!(is_guess(&damaged, &base(&damaged, &sample.tuple())), row.is_evidence, "{:?}", row.field);
    }
}
