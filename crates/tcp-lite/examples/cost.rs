//! Measures what TCP Lite costs: the run time of its programs per packet, and the throughput that
//! bulk TCP loses. `make bench` runs it.
//!
//! A veth pair without offloads joins two namespaces, so that each packet has a complete checksum
//! and none is merged. Times per packet are the kernel's own (`BPF_STATS_RUN_TIME`) and include
//! reading the clock twice. Throughputs with and without TCP Lite are measured in turns.

use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use netlab::address::{self, Address};
use netlab::cgroup::Enclosure;
use netlab::offload::{self, Offloads};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::{Namespace, Registry, interface, veth};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};
use tcp_lite::{Lite, Mode, Settings, option};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const INTERFACE: &str = "receiver0";
/// Connections of a busy server. With both ends they use all the file descriptors that this process
/// may have if the limit is 20 000.
const MANY: u32 = 9_900;
/// Duration of one measurement.
const TURN: Duration = Duration::from_secs(1);
/// Number of turns, each with and without.
const TURNS: usize = 11;

/// A sender, a receiver, and the cable between them.
struct Bench {
    sender: Namespace,
    receiver: Namespace,
    enclosure: Enclosure,
}

fn main() -> Outcome<()> {
    let states = tempfile::tempdir()?;
    let bench = Bench::new(&Registry::at(states.path().join("states"))?)?;
    // SAFETY: the call takes a number and returns a file descriptor. The kernel keeps statistics
    // while it is open.
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if statistics < 0 {
        return Err(format!("statistics of eBPF programs: {}", io::Error::last_os_error()).into());
    }
    // SAFETY: the file descriptor is new and has no other owner.
    let statistics = unsafe { OwnedFd::from_raw_fd(statistics) };
    verified(&bench)?;
    println!("TCP Lite, nanoseconds of a packet of 1500 bytes, by the kernel's clock");
    for (what, case) in [
        ("no connection is Lite", Case { lite: Who::Nobody, connections: 0 }),
        ("another connection of the hosts is", Case { lite: Who::Another, connections: 0 }),
        ("the same with 9900 connections", Case { lite: Who::Another, connections: MANY }),
        ("the connection itself, not linear", Case { lite: Who::Itself, connections: 0 }),
        ("the same with 9900 connections", Case { lite: Who::Itself, connections: MANY }),
    ] {
        println!("  {what:<36} {:>5.0}", bench.in_receiver(|| bench.cost(case))?);
    }
    println!("  {:<36} {:>5}", "the connection itself, linear", bench.in_receiver(|| bench.linear())?);

    // The statistics themselves cost time.
    drop(statistics);
    let mut ratios = Vec::new();
    let without = || bench.in_receiver(|| bench.bulk(None));
    let with = || bench.in_receiver(|| bench.bulk(Some(Settings::on_request(Mode::Recovery))));
    for turn in 0..TURNS {
        // Alternate which one is first, so that a disturbance of some seconds affects both.
        let (with, without) = if turn % 2 == 0 {
            let without = without()?;
            (with()?, without)
        } else {
            (with()?, without()?)
        };
        ratios.push(with / without);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "bulk TCP with it attached and no connection Lite: {:.1} % of the throughput without (median of {TURNS}, {:.1} to {:.1})",
        ratios[TURNS / 2] * 100.0,
        ratios[0] * 100.0,
        ratios[TURNS - 1] * 100.0
    );
    Ok(())
}

/// Prints how large the programs are, and how many instructions the kernel's verifier examined.
fn verified(bench: &Bench) -> Outcome<()> {
    println!("{:<24} {:>12} {:>9}", "eBPF program", "instructions", "verified");
    for mode in [Mode::Recovery, Mode::Thesis] {
        let mut lite = Lite::attach(bench.enclosure.group().path(), &Settings::on_request(mode))?;
        bench.in_receiver(|| Ok(lite.add_interface(INTERFACE)?))?;
        for program in
            ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_xlated_prog_insns(true))
        {
            let name = program.name.to_string_lossy();
            let is_new = mode == Mode::Recovery || name.starts_with("lite_thesis");
            if name.starts_with("lite_") && is_new {
                println!(
                    "{name:<24} {:>12} {:>9}",
                    program.xlated_prog_insns.len() / 8,
                    program.verified_insns
                );
            }
        }
    }
    Ok(())
}

/// Which connection accepts damage.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Nobody,
    Another,
    Itself,
}

#[derive(Clone, Copy)]
struct Case {
    lite: Who,
    /// Number of further connections.
    connections: u32,
}

impl Bench {
    fn new(registry: &Registry) -> Outcome<Self> {
        let (sender, receiver) = (Namespace::new()?, Namespace::new()?);
        let end =
            |namespace, name, last| veth::End { namespace, name, hardware_address: [2, 0, 0, 0, 9, last] };
        veth::pair(end(&sender, "sender0", 1), end(&receiver, INTERFACE, 2))?;
        for (namespace, name, own, peer) in
            [(&sender, "sender0", SENDER, RECEIVER), (&receiver, INTERFACE, RECEIVER, SENDER)]
        {
            offload::set(namespace, name, Offloads::NONE)?;
            let index = interface::find(namespace, name)?.index;
            interface::change(namespace, index, &interface::Change::up())?;
            address::add(namespace, Address { index, address: own.into(), prefix_length: 32 })?;
            let metrics = Metrics { congestion_control: "reno".into(), ..Metrics::default() };
            route::add(namespace, &Route::on_link(Prefix::host(peer.into()), index, metrics))?;
        }
        Ok(Self { sender, receiver, enclosure: Enclosure::enter(registry)? })
    }

    fn in_receiver<T: Send>(&self, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
        self.receiver.enter(|| Ok(work()))?
    }

    /// Returns the program's nanoseconds per packet of a bulk transfer.
    fn cost(&self, case: Case) -> Outcome<f64> {
        let mut lite = Lite::attach(self.enclosure.group().path(), &Settings::on_request(Mode::Recovery))?;
        lite.add_interface(INTERFACE)?;
        let listener = TcpListener::bind((RECEIVER, 0))?;
        let mut others = Vec::new();
        let another = u32::from(case.lite == Who::Another);
        for _ in 0..another + case.connections {
            others.push(self.connection(&listener)?);
        }
        if another > 0 {
            option::switch(&others[0].1, true)?;
        }
        let (from, to) = self.connection(&listener)?;
        if case.lite == Who::Itself {
            option::switch(&to, true)?;
        }
        let before = lite.run_time()?;
        transfer(from, to)?;
        let after = lite.run_time()?;
        Ok((after.0 - before.0) as f64 / (after.1 - before.1) as f64)
    }

    /// Returns the same for packets whose bytes are contiguous, measured by a test run.
    fn linear(&self) -> Outcome<u64> {
        let lite = Lite::attach(self.enclosure.group().path(), &Settings::on_request(Mode::Recovery))?;
        let listener = TcpListener::bind((RECEIVER, 0))?;
        let (from, to) = self.connection(&listener)?;
        option::switch(&to, true)?;
        let packet = right_packet(from.local_addr()?, to.local_addr()?);
        // A right segment changes nothing that is learned, so each of the million runs is like the
        // first.
        Ok(lite.time(&packet, 1_000_000)?)
    }

    /// Returns the throughput of a bulk transfer in bytes per second.
    fn bulk(&self, settings: Option<Settings>) -> Outcome<f64> {
        let mut lite =
            settings.map(|settings| Lite::attach(self.enclosure.group().path(), &settings)).transpose()?;
        if let Some(lite) = &mut lite {
            lite.add_interface(INTERFACE)?;
        }
        let listener = TcpListener::bind((RECEIVER, 0))?;
        let (from, to) = self.connection(&listener)?;
        transfer(from, to)
    }

    /// Connects the sender to the receiver.
    fn connection(&self, listener: &TcpListener) -> Outcome<(TcpStream, TcpStream)> {
        let to = listener.local_addr()?;
        let from = self.sender.enter(|| Ok(TcpStream::connect(to)))??;
        Ok((from, listener.accept()?.0))
    }
}

/// Sends as much as possible in one turn; returns bytes per second.
fn transfer(mut from: TcpStream, mut to: TcpStream) -> Outcome<f64> {
    let start = Instant::now();
    let sender = thread::spawn(move || {
        let piece = vec![7; 65_536];
        while start.elapsed() < TURN {
            from.write_all(&piece)?;
        }
        io::Result::Ok(())
    });
    let mut buffer = vec![0; 65_536];
    let mut bytes = 0;
    loop {
        match to.read(&mut buffer)? {
            0 => break,
            count => bytes += count,
        }
    }
    sender.join().map_err(|_| "the sender panicked")??;
    Ok(bytes as f64 / start.elapsed().as_secs_f64())
}

/// Returns a right segment of a connection, with time stamps.
fn right_packet(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let mut segment = vec![0; 1480];
    segment[..2].copy_from_slice(&from.port().to_be_bytes());
    segment[2..4].copy_from_slice(&to.port().to_be_bytes());
    segment[12] = 0x80;
    segment[13] = 0x10;
    segment[20..24].copy_from_slice(&[1, 1, 8, 10]);
    let mut packet = vec![0x45, 0, 5, 0xdc, 0, 7, 0x40, 0, 64, 6, 0, 0];
    packet.extend(SENDER.octets());
    packet.extend(RECEIVER.octets());
    packet::checksum::recompute_ipv4(&mut packet);
    let mut pseudo = packet[12..20].to_vec();
    pseudo.extend([0, 6, 5, 0xc8]);
    let sum = packet::checksum::add(packet::checksum::sum(&pseudo), packet::checksum::sum(&segment));
    segment[16..18].copy_from_slice(&(!sum).to_be_bytes());
    packet.extend(segment);
    packet
}
