//! One test per field: what the paper says of it (TL-26).

use super::*;
use Class::{Delta, DontCare, NoChange, Random};

fn of(field: Field) -> (Option<Class>, Option<Class>, Repair) {
    let row = TABLE.iter().find(|row| row.field == field).expect("every field has a row");
    (row.first, row.assumed, row.repair)
}

#[test]
fn every_field_has_one_row_in_the_order_of_the_header() {
    assert_eq!(TABLE.map(|row| row.field), Field::ALL);
}

#[test]
fn nothing_is_random_once_use_is_assumed() {
    assert!(TABLE.iter().all(|row| row.assumed != Some(Random)));
}

#[test]
fn the_sequence_number_is_the_only_field_to_recover() {
    let delta: Vec<_> = TABLE.iter().filter(|row| row.assumed == Some(Delta)).map(|row| row.field).collect();
    assert_eq!(delta, [Field::Sequence]);
}

#[test]
fn only_constants_are_evidence_and_fin_is_none() {
    for row in TABLE {
        let is_constant = matches!(row.repair, Repair::Identity | Repair::HeaderLength | Repair::Constant(_));
        assert_eq!(row.is_evidence, is_constant && row.field != Field::Fin, "{:?}", row.field);
    }
}

#[test]
fn source_port_never_changes() {
    assert_eq!(of(Field::SourcePort), (Some(NoChange), Some(NoChange), Repair::Identity));
}

#[test]
fn destination_port_never_changes() {
    assert_eq!(of(Field::DestinationPort), (Some(NoChange), Some(NoChange), Repair::Identity));
}

#[test]
fn sequence_number_is_the_one_before_and_a_segment() {
    assert_eq!(of(Field::Sequence), (Some(Delta), Some(Delta), Repair::Judged));
}

#[test]
fn acknowledgment_may_be_an_older_one() {
    assert_eq!(of(Field::Acknowledgment), (Some(Delta), Some(DontCare), Repair::Template));
}

#[test]
fn header_length_never_changes() {
    assert_eq!(of(Field::DataOffset), (Some(NoChange), Some(NoChange), Repair::HeaderLength));
}

#[test]
fn reserved_bits_are_0_though_the_paper_leaves_them_out() {
    assert_eq!(of(Field::Reserved), (None, None, Repair::Constant(0)));
}

#[test]
fn congestion_window_reduced_is_0_though_the_paper_leaves_it_out() {
    assert_eq!(of(Field::Cwr), (None, None, Repair::Constant(0)));
}

#[test]
fn ecn_echo_is_0_though_the_paper_leaves_it_out() {
    assert_eq!(of(Field::Ece), (None, None, Repair::Constant(0)));
}

#[test]
fn urgent_mode_is_not_used() {
    assert_eq!(of(Field::Urg), (Some(Random), Some(NoChange), Repair::Constant(0)));
}

#[test]
fn data_of_an_established_connection_has_ack() {
    assert_eq!(of(Field::Ack), (Some(Random), Some(NoChange), Repair::Constant(1)));
}

#[test]
fn push_is_advice() {
    assert_eq!(of(Field::Psh), (Some(Random), Some(DontCare), Repair::ReceivedOr(0)));
}

#[test]
fn a_segment_with_rst_carries_no_data() {
    assert_eq!(of(Field::Rst), (Some(Random), Some(NoChange), Repair::Constant(0)));
}

#[test]
fn data_of_an_established_connection_has_no_syn() {
    assert_eq!(of(Field::Syn), (Some(Random), Some(NoChange), Repair::Constant(0)));
}

#[test]
fn fin_is_cleared_and_comes_again() {
    assert_eq!(of(Field::Fin), (Some(Random), Some(DontCare), Repair::Constant(0)));
}

#[test]
fn window_hardly_changes() {
    assert_eq!(of(Field::Window), (Some(Delta), Some(DontCare), Repair::Template));
}

#[test]
fn checksum_is_known_to_be_wrong() {
    assert_eq!(of(Field::Checksum), (Some(Random), Some(DontCare), Repair::Computed));
}

#[test]
fn urgent_pointer_means_nothing_without_urg() {
    assert_eq!(of(Field::UrgentPointer), (Some(Random), Some(DontCare), Repair::Constant(0)));
}
