//! The program that is measured.

use crate::far::{BULK, END, MESSAGE, Purpose};
use crate::place::{SocketAddress, Stream};
use clap::ValueEnum;
use std::fs;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// How to measure.
#[derive(Debug)]
pub struct Near {
    pub address: SocketAddress,
    pub length: Duration,
    pub rounds: u32,
    pub congestion: Option<String>,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    /// Round trip of 64 octets, one at a time, median, us
    Ping,
    /// Connect, 64 octets each way, close, median, us
    Exchange,
    /// To the far host, Gbit/s
    Up,
    /// From the far host, Gbit/s
    Down,
}

pub fn run(near: &Near, only: &[Metric]) -> io::Result<()> {
    for &metric in Metric::value_variants() {
        if only.is_empty() || only.contains(&metric) {
            let value = match metric {
                Metric::Ping => Measured { figure: near.ping()?, cost: None },
                Metric::Exchange => Measured { figure: near.exchange()?, cost: None },
                Metric::Up => near.bulk(Near::up)?,
                Metric::Down => near.bulk(Near::down)?,
            };
            let name = metric.to_possible_value().map(|name| name.get_name().to_owned()).unwrap_or_default();
            println!("{name} {:.6}", value.figure);
            if let Some(cost) = value.cost {
                println!("{name}-cost {cost:.6}");
            }
        }
    }
    Ok(())
}

/// A figure, and for bulk what it cost: processor time of the whole machine in ns an octet.
#[derive(Debug)]
struct Measured {
    figure: f64,
    cost: Option<f64>,
}

/// Busy time of all processors since boot, in seconds. All processes between this program and the
/// far host run on this machine, so a difference of two readings is their processor time.
fn processor_seconds() -> io::Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first.split_whitespace().skip(1).filter_map(|ticks| ticks.parse().ok()).collect();
    // user, nice, system, (idle, iowait), irq, softirq, steal
    let busy: f64 =
        ticks.iter().enumerate().filter(|(at, _)| ![3, 4].contains(at)).take(6).map(|(_, ticks)| ticks).sum();
    Ok(busy / rustix::param::clock_ticks_per_second() as f64)
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
}

pub fn back_and_forth(stream: &mut Stream) -> io::Result<()> {
    let mut message = [1; MESSAGE];
    stream.write_all(&message)?;
    stream.read_exact(&mut message)
}

impl Near {
    fn connect(&self, purpose: Purpose) -> io::Result<Stream> {
        let mut stream = self.address.connect(self.congestion.as_deref())?;
        stream.write_all(&[purpose as u8])?;
        Ok(stream)
    }

    fn ping(&self) -> io::Result<f64> {
        let mut stream = self.connect(Purpose::Echo)?;
        let mut times = Vec::new();
        for round in 0..self.rounds + self.rounds / 10 {
            let begin = Instant::now();
            back_and_forth(&mut stream)?;
            // The first ones warm caches and windows up.
            if round >= self.rounds / 10 {
                times.push(begin.elapsed());
            }
        }
        Ok(median_us(times))
    }

    fn exchange(&self) -> io::Result<f64> {
        let mut times = Vec::new();
        for _ in 0..(self.rounds / 10).max(1) {
            let begin = Instant::now();
            let mut stream = self.connect(Purpose::Echo)?;
            back_and_forth(&mut stream)?;
            drop(stream);
            times.push(begin.elapsed());
        }
        Ok(median_us(times))
    }

    fn bulk(&self, transfer: impl FnOnce(&Self) -> io::Result<(u64, Duration)>) -> io::Result<Measured> {
        let before = processor_seconds()?;
        let (octets, time) = transfer(self)?;
        let busy = processor_seconds()? - before;
        let figure = octets as f64 * 8.0 / time.as_secs_f64() / 1e9;
        Ok(Measured { figure, cost: Some(busy * 1e9 / octets as f64) })
    }

    /// What the far host has counted, and the time until it has said so.
    fn up(&self) -> io::Result<(u64, Duration)> {
        let mut stream = self.connect(Purpose::Count)?;
        let mut octets = vec![7; BULK];
        let begin = Instant::now();
        while begin.elapsed() < self.length {
            stream.write_all(&octets)?;
        }
        octets[0] = END;
        stream.write_all(&octets)?;
        let mut count = [0; 8];
        stream.read_exact(&mut count)?;
        Ok((u64::from_be_bytes(count), begin.elapsed()))
    }

    fn down(&self) -> io::Result<(u64, Duration)> {
        let mut stream = self.connect(Purpose::Source)?;
        let mut buffer = vec![0; BULK];
        let (begin, mut count) = (Instant::now(), 0);
        while begin.elapsed() < self.length {
            match stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                octets => count += octets as u64,
            }
        }
        Ok((count, begin.elapsed()))
    }
}
