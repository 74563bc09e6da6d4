//! One sequence of datagrams through a discipline of the kernel and through ours, in figures that
//! can be compared.

use link::stage::bottleneck::{Bottleneck, BottleneckSpec};
use link::stage::{Outbox, Stage};
use link::units::Time;
use link::{Effect, Packet, Seed};
use packet::{Frame, Layer};
use std::fmt;

/// A datagram: when it is sent (nanoseconds), its flow, the length of its IP packet, and its ECN
/// field.
#[derive(Debug, Clone, Copy)]
pub struct Datagram {
    pub at: u64,
    pub flow: u16,
    pub length: usize,
    pub ecn: u8,
}

/// Figures of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flow {
    pub sent: u64,
    pub lost: u64,
    pub marked: u64,
    /// Bytes of IP that left before the last datagram was sent.
    pub bytes: u64,
    /// Mean and 99th percentile of the time in the queue and on the limiter, in milliseconds.
    pub mean: f64,
    pub most: f64,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, lost, marked, bytes, mean, most } = self;
        write!(f, "{sent:6} sent {lost:5} lost {marked:5} marked {bytes:9} bytes {mean:7.1} {most:7.1} ms")
    }
}

/// A datagram that left: its number, when it did (nanoseconds), and whether it was marked.
pub type Left = (usize, u64, bool);

/// Reads what the program in the guest prints.
pub fn kernels(printed: &str, datagrams: &[Datagram]) -> Vec<Left> {
    let line = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [number, at, ecn] = numbers[..] else { panic!("`{line}` is no datagram") };
        let number = number as usize;
        (number, at, ecn == 3 && datagrams[number].ecn != 3)
    };
    printed.lines().map(line).collect()
}

/// Sends the datagrams through a queue of ours.
pub fn ours(spec: &str, seed: u64, datagrams: &[Datagram]) -> Vec<Left> {
    let spec: BottleneckSpec = toml::from_str(spec).expect("a bottleneck");
    let mut stage = Bottleneck::new(spec, &Seed::campaign(seed).stage("bottleneck")).expect("a queue");
    let (mut out, mut left) = (Outbox::default(), Vec::new());
    let mut advance = |stage: &mut Bottleneck, until: Time, out: &mut Outbox| {
        while stage.due() <= until && stage.due() != Time::NEVER {
            stage.advance(stage.due(), out);
        }
        for packet in out.take().0 {
            let marked = packet.marks.iter().any(|mark| mark.effect == Effect::CongestionMarked);
            left.push((packet.number as usize, packet.at.as_nanos(), marked));
        }
    };
    for (number, datagram) in (0..).zip(datagrams) {
        let now = Time::from_nanos(datagram.at);
        advance(&mut stage, now, &mut out);
        stage.accept(Packet::new(number, frame(datagram), now), &mut out);
    }
    let end = datagrams.last().map_or(0, |last| last.at) + 3_000_000_000;
    advance(&mut stage, Time::from_nanos(end), &mut out);
    left
}

/// Builds the datagram as the program in the guest sends it.
fn frame(datagram: &Datagram) -> Frame {
    let mut bytes = vec![0; datagram.length];
    let length = (datagram.length as u16).to_be_bytes();
    bytes[..12].copy_from_slice(&[0x45, datagram.ecn, length[0], length[1], 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes[12..20].copy_from_slice(&[10, 99, 0, 1, 10, 99, 0, 2]);
    bytes[20..22].copy_from_slice(&(6001 + datagram.flow).to_be_bytes());
    bytes[22..24].copy_from_slice(&6000_u16.to_be_bytes());
    Frame::owned(Layer::Ip, bytes)
}

/// Returns the figures of a flow.
pub fn flow(flow: u16, datagrams: &[Datagram], left: &[Left]) -> Flow {
    let end = datagrams.last().map_or(0, |last| last.at);
    let mut figures = Flow::default();
    let mut delays = Vec::new();
    for &(number, at, marked) in left {
        let datagram = datagrams[number];
        if datagram.flow == flow {
            figures.marked += u64::from(marked);
            figures.bytes += if at <= end { datagram.length as u64 } else { 0 };
            delays.push(at.saturating_sub(datagram.at) as f64 / 1e6);
        }
    }
    delays.sort_by(f64::total_cmp);
    figures.sent = datagrams.iter().filter(|datagram| datagram.flow == flow).count() as u64;
    figures.lost = figures.sent - delays.len() as u64;
    figures.mean = delays.iter().sum::<f64>() / delays.len() as f64;
    figures.most = delays[delays.len() * 99 / 100];
    figures
}
