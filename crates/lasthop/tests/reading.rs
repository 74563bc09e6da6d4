//! Workloads read a connection with MSG_WAITALL, because system calls are what virtual time costs.
//! This must not change the transfer.

mod lab;

use lab::Lab;
use std::collections::BTreeMap;
use std::fs;

/// A download by two programs, whose receiver reads whole segments with these flags.
fn plan(flags: &str, down: &str) -> String {
    format!(
        "seed = 7\n[scenario]\ncongestion-control = \"cubic\"\n\
         [[scenario.links]]\nname = \"link\"\nbetween = [\"receiver\", \"sender\"]\n\
         up = \"rate=50mbit,delay=10ms\"\ndown = \"{down}\"\n\
         [[workloads]]\nname = \"sends\"\nkind = \"command\"\nnode = \"sender\"\n\
         command = \"python3 -c 'import socket; s = socket.create_connection((\\\"{{address.receiver}}\\\", 7000)); s.sendall(bytes(3000000)); s.shutdown(1); s.recv(1)'\"\n\
         [[workloads]]\nname = \"reads\"\nkind = \"command\"\nnode = \"receiver\"\nbackground = true\nlistens = 7000\n\
         command = \"exec python3 -c 'import socket; l = socket.create_server((\\\"\\\", 7000)); c = l.accept()[0]; list(iter(lambda: c.recv(45 * 1448, {flags}), b\\\"\\\")); c.close(); l.accept()'\"\n\
         [capture]\nkeep = \"all\"\n"
    )
}

/// A packet of TCP: where it was captured, sequence and acknowledgement numbers, window, bytes of
/// data.
type Packet = (usize, u32, u32, u16, u32);

/// Runs a plan, and returns its packets with their times in nanoseconds.
fn packets(lab: &Lab, plan: &str) -> Vec<(u64, Packet)> {
    let _ = fs::remove_dir_all(lab.path("out"));
    lab.succeed(plan, &["--clock", "virtual"]);
    let capture = lab.path("out").join("captures/c000-r00.pcapng");
    let mut reader = capture::packets::Reader::open(&capture).expect("a capture");
    let mut found = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        let header = usize::from(view.bytes[0] & 15) * 4;
        let tcp = &view.bytes[header..];
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let window = u16::from_be_bytes([tcp[14], tcp[15]]);
        let data = view.length - (header + usize::from(tcp[12] >> 4) * 4) as u32;
        found.push((view.time.as_nanos(), (view.number, word(4), word(8), window, data)));
    }
    found
}

/// The same packets with the same windows and acknowledgements cross the link at the same times,
/// but for the readings of the clock that the receiver's calls save, of 16 ns each.
#[test]
fn waiting_for_many_arrivals_changes_no_packet() {
    let Some(lab) = Lab::with_python_in_a_guest() else { return };
    for down in ["rate=50mbit,delay=10ms,queue=100p", "rate=5mbit,delay=30ms,loss=1%"] {
        let each = packets(&lab, &plan("0", down));
        let many = packets(&lab, &plan("socket.MSG_WAITALL", down));
        assert!(each.len() > 4000, "{} packets", each.len());
        assert_eq!(each.len(), many.len(), "{down}");
        for (number, (each, many)) in each.iter().zip(&many).enumerate() {
            assert_eq!(each.1, many.1, "packet {number} of {down}");
            assert!(each.0.abs_diff(many.0) < 1000, "packet {number} of {down}: {} and {}", each.0, many.0);
        }
    }
}

/// Returns when data became readable at the receiver, whose end of the link has number 0.
fn readable(captured: &[(u64, Packet)]) -> Vec<u64> {
    let mut waiting = BTreeMap::new();
    let (mut times, mut next) = (Vec::new(), None);
    for &(time, (number, sequence, _, _, data)) in captured {
        if number != 0 || data < 500 {
            continue;
        }
        // 9 MB do not wrap around, if the first number is subtracted.
        let (first, mut end) = *next.get_or_insert((sequence, 0));
        let begin = u64::from(sequence.wrapping_sub(first));
        let its = waiting.entry(begin).or_insert(0);
        *its = u64::from(data).max(*its);
        let before = end;
        while let Some((&begin, &data)) = waiting.range(..=end).next() {
            waiting.remove(&begin);
            end = end.max(begin + data);
        }
        if end > before {
            times.push(time);
        }
        next = Some((first, end));
    }
    times
}

/// A transfer's last arrival and its longest time without one are those of the capture, although
/// the receiver does not see each arrival.
#[test]
fn arrivals_have_the_times_of_the_capture() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let workloads = [
        "kind = \"bulk\"\nfrom = \"sender\"\nto = \"receiver\"\nbytes = \"9000001B\"",
        "kind = \"bulk\"\nfrom = \"sender\"\nto = \"receiver\"\nduration = \"2s\"",
        "kind = \"request\"\nfrom = \"receiver\"\nto = \"sender\"\nresponse = \"9000001B\"",
    ];
    for (workload, down) in workloads.into_iter().flat_map(|workload| {
        let hops = [
            "rate=50mbit,delay=10ms,outage=1s+300ms",
            "rate=20mbit,delay=10ms,loss=0.3%",
            "rate=50mbit,delay=30ms,loss=1%,queue=50p",
            "rate=50mbit,delay=40ms,jitter=20ms,loss=0.1%",
        ];
        hops.map(|down| (workload, down))
    }) {
        let plan = format!(
            "seed = 7\n[scenario]\ncongestion-control = \"cubic\"\n\
             [[scenario.links]]\nname = \"link\"\nbetween = [\"receiver\", \"sender\"]\n\
             up = \"rate=50mbit,delay=10ms\"\ndown = \"{down}\"\n\
             [[workloads]]\nname = \"transfer\"\n{workload}\n[capture]\nkeep = \"all\"\n"
        );
        let captured = packets(&lab, &plan);
        let run = &lab.journal()[0];
        let row = &run["connections"][0];
        let of = |field: &str| row[field].as_u64().expect("a time");
        let times = readable(&captured);
        let last = times.last().expect("data") - captured.first().expect("a packet").0;
        let longest = times.windows(2).map(|two| two[1] - two[0]).max().expect("data");
        // The first packet leaves within 100 us of `connect`.
        let end = of("end_ns") - of("start_ns");
        assert!(end.abs_diff(last) < 100_000, "{workload} over {down}: {end}, in the capture {last}");
        // A client of requests counts from `connect` to the first byte, too.
        let idle = of("idle_max_ns");
        assert!(idle.abs_diff(longest) < 1000, "{workload} over {down}: {idle}, in the capture {longest}");
    }
}
