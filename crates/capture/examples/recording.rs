//! Measures recording: processor time per packet on the emulator's thread, in nanoseconds, and the
//! rate of the writing thread.
//!
//! ```text
//! cargo run --release -p capture --example recording -- DIRECTORY [PACKETS]
//! ```
//!
//! Packets of 1500 bytes, 100 inside the link at a time, come as fast as the recorder accepts them.
//! If `memory` is enough for all of them, the calls never wait. With the default, the disk sets the
//! pace.

use capture::{
    CaptureTo, Direction, EndedPacket, Header, Layer, LinkId, LinkInfo, Recorder, RecorderOptions, Time,
    WallTime, WayInfo,
};
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::Instant;

const LENGTH: usize = 1500;
const INSIDE: u64 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: recording DIRECTORY [PACKETS]")?);
    let packets: u64 = arguments.next().map_or(Ok(1_000_000), |count| count.parse())?;
    let capture = || Some(CaptureTo::Path(dir.join("recording.pcapng")));
    let nowhere = || Some(CaptureTo::Writer(Box::new(std::io::sink())));
    let events = || Some(dir.join("recording.parquet"));
    let roomy = 2 * (packets as usize) * (LENGTH + 512);
    let usual = RecorderOptions::default().memory;
    for (what, capture, events, memory) in [
        ("counters only", None, None, usual),
        ("capture, memory for all", capture(), None, roomy),
        ("capture", capture(), None, usual),
        ("capture to nowhere", nowhere(), None, usual),
        ("events", None, events(), usual),
        ("capture and events", capture(), events(), usual),
    ] {
        measure(what, packets, RecorderOptions { capture, events, memory, ..RecorderOptions::default() })?;
    }
    Ok(())
}

fn measure(what: &str, packets: u64, options: RecorderOptions) -> Result<(), Box<dyn std::error::Error>> {
    let link = LinkInfo {
        id: LinkId(0),
        name: "wlan".to_owned(),
        layer: Layer::Ip,
        mtu: 1500,
        up: WayInfo::default(),
        down: WayInfo::default(),
    };
    let mut recorder = Recorder::start(Header::new("cost", WallTime::from_nanos(0), 1, vec![link]), options)?;
    let bytes = segment();
    let (begun, own) = (Instant::now(), processor_time());
    for number in 0..packets {
        let now = Time::from_nanos(number * 5_000);
        recorder.entered(LinkId(0), Direction::Down, number, now, LENGTH as u32, &bytes);
        if let Some(number) = number.checked_sub(INSIDE) {
            recorder.ended(&delivered(number, now), &bytes);
        }
        recorder.settled(now);
    }
    let own = (processor_time() - own) / packets as f64;
    let stalls = recorder.stalls();
    recorder.close(Time::from_nanos(packets * 5_000))?;
    let all = begun.elapsed();
    println!(
        "{what:24} {own:6.0} ns a packet (entered + ended + settled), {:5} stalls, all on the disk at {:8.0} packets/s",
        stalls.count,
        packets as f64 / all.as_secs_f64(),
    );
    Ok(())
}

/// Returns the processor time of this thread, in nanoseconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn delivered(number: u64, left: Time) -> EndedPacket {
    let arrived = Time::from_nanos(number * 5_000);
    EndedPacket::untouched(LinkId(0), Direction::Down, number, LENGTH as u32, arrived, left)
}

/// A TCP segment over IPv4.
fn segment() -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5001, 80, 1000, 1000);
    builder.write(&mut bytes, &[0; LENGTH - 40]).expect("memory takes everything");
    bytes
}
