//! Writes a capture with the given number of packets, to measure the analysis:
//!
//! ```text
//! cargo run --release -p capture-analysis --example generate -- 1000000 big.pcap
//! time lasthop analyze big.pcap
//! time tcptrace -n -b big.pcap
//! ```
//!
//! The capture has sixteen parallel downloads over raw IP, headers only, with time stamps. One
//! segment in a hundred is lost, reported by SACK blocks, and retransmitted.

use std::fs::File;
use std::io::{self, BufWriter, Write};

const CONNECTIONS: usize = 16;
const SEGMENT: u32 = 1448;
/// Headers of IPv4 and TCP with time stamps and up to two SACK blocks.
const KEPT: usize = 72;

/// One download.
#[derive(Clone, Copy, Default)]
struct Download {
    sent: u32,
    /// Start of a lost segment, and steps since then.
    hole: Option<(u32, u32)>,
    steps: u64,
}

fn main() -> io::Result<()> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, packets, path] = arguments.as_slice() else {
        return Err(io::Error::other("usage: generate PACKETS FILE"));
    };
    let packets: u64 = packets.parse().map_err(|error| io::Error::other(format!("PACKETS: {error}")))?;
    let mut output = BufWriter::new(File::create(path)?);
    // pcap with nanoseconds and link type 101, raw IP.
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, KEPT as u32, 101] {
        output.write_all(&word.to_le_bytes())?;
    }
    let mut downloads = [Download::default(); CONNECTIONS];
    let mut written = 0;
    let mut time = 1_700_000_000_000_000_000_u64;
    while written < packets {
        for (index, download) in downloads.iter_mut().enumerate() {
            time += 7_000;
            written += download.step(&mut output, index, time)?;
        }
    }
    output.flush()
}

impl Download {
    /// Writes two segments and their acknowledgment, or the handshake; returns the number of
    /// packets.
    fn step(&mut self, output: &mut impl Write, index: usize, time: u64) -> io::Result<u64> {
        self.steps += 1;
        let port = 40_000 + index as u16;
        let stamp = (time / 1_000_000) as u32;
        let mut packet = |down: bool, seq, ack, flags, payload, sacks: &[(u32, u32)]| {
            write_packet(output, time, down, port, (seq, ack), flags, payload, stamp, sacks)
        };
        if self.steps == 1 {
            packet(false, 99, 0, 0x02, 0, &[])?;
            packet(true, 4_000_000_000, 100, 0x12, 0, &[])?;
            packet(false, 100, 4_000_000_001, 0x10, 0, &[])?;
            self.sent = 4_000_000_001;
            return Ok(3);
        }
        let mut count = 1;
        for _ in 0..2 {
            if self.steps.is_multiple_of(50) && self.hole.is_none() {
                self.hole = Some((self.sent, 0));
            } else {
                packet(true, self.sent, 100, 0x10, SEGMENT, &[])?;
                count += 1;
            }
            self.sent = self.sent.wrapping_add(SEGMENT);
        }
        match &mut self.hole {
            None => packet(false, 100, self.sent, 0x10, 0, &[])?,
            Some((start, since)) => {
                *since += 1;
                packet(false, 100, *start, 0x10, 0, &[(start.wrapping_add(SEGMENT), self.sent)])?;
                if *since == 10 {
                    packet(true, *start, 100, 0x10, SEGMENT, &[])?;
                    count += 1;
                    self.hole = None;
                }
            }
        }
        Ok(count)
    }
}

#[allow(clippy::too_many_arguments, reason = "the fields of a packet, in their order")]
fn write_packet(
    output: &mut impl Write,
    time: u64,
    down: bool,
    port: u16,
    (seq, ack): (u32, u32),
    flags: u8,
    payload: u32,
    stamp: u32,
    sacks: &[(u32, u32)],
) -> io::Result<()> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(stamp.to_be_bytes());
    options.extend(stamp.wrapping_sub(20).to_be_bytes());
    if !sacks.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * sacks.len() as u8]);
        for (left, right) in sacks {
            options.extend(left.to_be_bytes());
            options.extend(right.to_be_bytes());
        }
    }
    let header = 20 + options.len();
    let total = 20 + header as u32 + payload;
    let (ends, ports) = ([[10, 0, 0, 1], [10, 0, 0, 2]], [80_u16, port]);
    let (from, to) = if down { (0, 1) } else { (1, 0) };
    let mut bytes = vec![0x45, 0];
    bytes.extend((total as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend(ends[from]);
    bytes.extend(ends[to]);
    bytes.extend(ports[from].to_be_bytes());
    bytes.extend(ports[to].to_be_bytes());
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([(header as u8 / 4) << 4, flags]);
    bytes.extend(60_000_u16.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes.truncate(KEPT);
    let record = [(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, bytes.len() as u32, total];
    for word in record {
        output.write_all(&word.to_le_bytes())?;
    }
    output.write_all(&bytes)
}
