//! tshark, the reference for pcapng, reads our captures.

use capture::{
    CaptureTo, ChannelState, Direction, EndedPacket, Header, Layer, LinkId, LinkInfo, Loss, Outcome,
    Recorder, RecorderOptions, Time, WallTime, WayInfo,
};
use etherparse::PacketBuilder;
use std::path::Path;
use std::process::Command;

const STARTED: u64 = 1_700_000_000_000_000_000;

fn link(id: u16, name: &str, layer: Layer) -> LinkInfo {
    let way = || WayInfo {
        profile: "umts".to_owned(),
        bits_per_second: Some(384_000),
        stages: vec!["queue".to_owned(), "errors".to_owned()],
        ..WayInfo::default()
    };
    LinkInfo { id: LinkId(id), name: name.to_owned(), layer, mtu: 1500, up: way(), down: way() }
}

fn ended(link: u16, direction: Direction, length: usize, arrived: u64, left: u64) -> EndedPacket {
    let arrived = Time::from_nanos(arrived);
    EndedPacket::untouched(LinkId(link), direction, 0, length as u32, arrived, Time::from_nanos(left))
}

/// A TCP segment over IPv4, one over IPv6, and one over IPv4 in Ethernet, each with 33 bytes of
/// payload.
fn segments() -> [Vec<u8>; 3] {
    let payload = [0x55; 33];
    let mut packets = [Vec::new(), Vec::new(), Vec::new()];
    let v4 = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1111, 80, 1000, 1000);
    v4.write(&mut packets[0], &payload).expect("a packet");
    let v6 = PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64).tcp(2222, 80, 2000, 1000);
    v6.write(&mut packets[1], &payload).expect("a packet");
    let ethernet = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]).ipv4(
        [10, 9, 0, 1],
        [10, 9, 0, 2],
        64,
    );
    ethernet.tcp(3333, 80, 3000, 1000).write(&mut packets[2], &payload).expect("a packet");
    packets
}

/// Records a packet of each kind: delivered undamaged, lost, and damaged.
fn record(path: &Path, options: RecorderOptions) {
    let links = vec![link(0, "wlan", Layer::Ip), link(1, "lan", Layer::Ethernet)];
    let header = Header::new("0.1.0", WallTime::from_nanos(STARTED), 7, links);
    let options = RecorderOptions { capture: Some(CaptureTo::Path(path.to_owned())), ..options };
    let mut recorder = Recorder::start(header, options).expect("started");
    let [v4, v6, ethernet] = segments();
    let mut enter = |link, direction, at, bytes: &[u8]| {
        recorder.entered(LinkId(link), direction, 0, Time::from_nanos(at), bytes.len() as u32, bytes);
    };
    enter(0, Direction::Up, 1, &v4);
    enter(0, Direction::Down, 500_000_000, &v6);
    enter(1, Direction::Down, 999_999_999, &ethernet);
    recorder.settled(Time::from_nanos(999_999_999));
    let lost = EndedPacket {
        outcome: Outcome::Lost(Loss::Error),
        channel: Some(ChannelState::Bad),
        stage: Some(1),
        ..ended(0, Direction::Down, v6.len(), 500_000_000, 1_234_567_890)
    };
    recorder.ended(&lost, &v6);
    recorder.ended(&ended(0, Direction::Up, v4.len(), 1, 1_500_000_001), &v4);
    let mut damaged = ethernet.clone();
    *damaged.last_mut().expect("a byte") ^= 0b111;
    let hit = EndedPacket {
        bits_flipped: 3,
        stage: Some(1),
        ..ended(1, Direction::Down, ethernet.len(), 999_999_999, 2_000_000_002)
    };
    recorder.ended(&hit, &damaged);
    recorder.settled(Time::from_nanos(2_000_000_002));
    recorder.close(Time::from_nanos(2_000_000_002)).expect("closed");
}

/// Returns these fields as tshark prints them, one row per packet. `None` if tshark is not
/// installed.
fn tshark(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-o", "tcp.check_checksum:TRUE", "-T", "fields", "-E", "separator=|", "-r"])
        .arg(path);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip::skip!("tshark is not installed (apt-get install tshark)");
            return None;
        }
        Err(error) => panic!("tshark: {error}"),
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    assert!(!complaints.contains("cut short"), "{complaints}");
    let rows = String::from_utf8(output.stdout).expect("text");
    Some(rows.lines().map(|row| row.split('|').map(str::to_owned).collect()).collect())
}

#[test]
fn tshark_sees_every_packet_with_its_fate() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x.pcapng");
    record(&path, RecorderOptions::default());
    let fields =
        ["frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction", "frame.comment"];
    let Some(rows) = tshark(&path, &fields) else { return };
    let rows: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn tshark_decodes_raw_ip_and_ethernet_and_sees_the_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x.pcapng");
    record(&path, RecorderOptions::default());
    let fields = [
        "ip.src",
        "ipv6.src",
        "eth.src",
        "tcp.srcport",
        "tcp.len",
        "tcp.checksum.status",
        "frame.interface_description",
    ];
    let Some(rows) = tshark(&path, &fields) else { return };
    let rows: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn tshark_knows_what_was_cut_off() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x.pcapng");
    record(&path, RecorderOptions { snap_length: 41, ..RecorderOptions::default() });
    let Some(rows) = tshark(&path, &["frame.cap_len", "frame.len"]) else { return };
    let whole = segments().map(|segment| segment.len().to_string());
    let [v4, v6, ethernet] = &whole;
    let expected: Vec<Vec<String>> =
        [v4, v6, ethernet, v4, ethernet].map(|length| vec!["41".to_owned(), length.clone()]).to_vec();
    assert_eq!(rows, expected);
}
