use super::*;

const IP: &[u8] = &[0x45, 0, 0, 20];

fn behind(header: &[u8]) -> Vec<u8> {
    [header, IP].concat()
}

#[test]
fn ip_is_found_behind_every_kind_of_header() {
    let addresses = [7; 12];
    let device = [9; 18];
    let cases = [
        (1, [&addresses[..], &[8, 0]].concat()),
        (1, [&addresses[..], &[0x81, 0, 0, 5, 8, 0]].concat()),
        (1, [&addresses[..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat()),
        (101, vec![]),
        (12, vec![]),
        (14, vec![]),
        (228, vec![]),
        (229, vec![]),
        (113, [&device[..14], &[8, 0]].concat()),
        (276, [&[8, 0], &device[..]].concat()),
        (276, [&[0x81, 0], &device[..], &[0, 5, 8, 0]].concat()),
        (0, vec![2, 0, 0, 0]),
        (0, vec![0, 0, 0, 2]),
        (108, vec![0, 0, 0, 30]),
    ];
    for (number, header) in cases {
        let layer = Layer2::of(number).expect("a known one");
        let packet = behind(&header);
        assert_eq!(layer.ip(&packet), Some(IP), "{number} {header:?}");
        for length in 0..header.len() {
            let _ = layer.ip(&packet[..length]);
        }
    }
}

#[test]
fn what_is_not_ip_is_passed_over() {
    let arp = [&[7; 12][..], &[8, 6], IP].concat();
    assert_eq!(Layer2::Ethernet.ip(&arp), None);
    assert_eq!(Layer2::Raw.ip(&[0x15, 0]), None);
    assert_eq!(Layer2::Loopback.ip(&behind(&[0, 0, 0, 7])), None);
    assert_eq!(Layer2::of(147), None);
}
