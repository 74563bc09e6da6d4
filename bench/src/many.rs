//! Many links in one process: the emulator library with any number of pairs of TUN devices and
//! light traffic on all of them. Shows the cost compared with the same traffic on one link.
//!
//! The near ends are in the calling thread's network namespace, the far ends in a separate one.

use crate::measure::{Arrived, Measured};
use crate::namespace::{in_new_namespace, tun};
use crate::processor;
use crate::traffic::{Window, probe};
use emulator::kernel::{Kernel, Port, Segments};
use emulator::{Command, Controls, Emulator, Unobserved, control};
use link::spec::{DirectionSpec, StageSpec};
use link::stage::delay::{DelaySpec, Law};
use link::units::Span;
use link::{Link, LinkSpec, Seed};
use packet::Layer;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

/// MTU of all links, in bytes.
const MTU: usize = 1500;

/// One-way delay of all links.
pub const DELAY: Duration = Duration::from_millis(10);

/// Packets per second in one direction, in total over all links.
pub const RATE: u32 = 10_000;

/// Runs `count` links in this process, and measures the delays of packets that go to their far ends
/// in turn. The processor time is that of the emulator's thread over the whole run, scaled to the
/// window.
///
/// # Errors
/// If the devices cannot be created, or the emulator fails.
pub fn measure(count: u16, window: Window) -> io::Result<Measured> {
    let names = || 0..count;
    let near: Vec<OwnedFd> = names()
        .map(|link| tun(&format!("near{link}"), near_address(link), far_address(link)))
        .collect::<Result<_, _>>()?;
    let (far, socket) = in_new_namespace(|| {
        let far = names().map(|link| tun(&format!("far{link}"), far_address(link), near_address(link)));
        Ok((far.collect::<io::Result<Vec<OwnedFd>>>()?, UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?))
    })?;
    let port = socket.local_addr()?.port();
    let addresses: Vec<SocketAddr> = names().map(|link| (far_address(link), port).into()).collect();
    let (stop, controls) = control()?;
    let emulator = emulator(near, far, &controls)?;
    thread::scope(|scope| {
        let emulating = scope.spawn(move || {
            let before = processor::used_by_this_thread();
            let ending = emulator.run(&controls)?;
            let used = processor::used_by_this_thread().saturating_sub(before);
            Ok((used, ending.punctuality.total()))
        });
        let sending = scope.spawn(|| probe::send(&addresses, window.sending(), RATE));
        let delays = probe::receive(socket, window, &mut || ());
        let sent = join(sending);
        stop.tell(Command::Stop);
        let emulated: io::Result<(Duration, u64)> = join(emulating);
        sent?;
        let (used, carried) = emulated?;
        let delays = delays?;
        let processor = used.mul_f64(delays.arrived() as f64 / carried as f64);
        Ok(Measured { traffic: Arrived::Probe(delays), processor })
    })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Creates an emulator that links each near end to the far end of the same number.
fn emulator(
    near: Vec<OwnedFd>,
    far: Vec<OwnedFd>,
    controls: &Controls,
) -> io::Result<Emulator<Kernel, Unobserved>> {
    let mut kernel = Kernel::new(controls)?;
    let mut port = |device| kernel.add(Port::new(device, Layer::Ip, Segments::Split, MTU));
    let ends = near.into_iter().zip(far).map(|(near, far)| Ok((port(near)?, port(far)?)));
    let ends: Vec<_> = ends.collect::<io::Result<_>>()?;
    let mut emulator = Emulator::new(kernel, Unobserved);
    for (number, (near, far)) in ends.into_iter().enumerate() {
        let seed = Seed::campaign(1).run(0).link(&number.to_string());
        emulator.add_link(link(&seed)?, [near, far]);
    }
    Ok(emulator)
}

/// Creates a link that only delays.
fn link(seed: &Seed) -> io::Result<Link> {
    let law = Law::Constant { delay: Span::from_nanos(DELAY.as_nanos() as u64) };
    let mut way = DirectionSpec::default();
    way.put(StageSpec::Delay(DelaySpec::in_order(law)));
    LinkSpec::new(way.clone(), way).build(seed).map_err(io::Error::other)
}

/// Returns the address of the near end of a link.
fn near_address(link: u16) -> Ipv4Addr {
    let [high, low] = link.to_be_bytes();
    Ipv4Addr::new(10, 100, high, low)
}

/// Returns the address of the far end of a link.
fn far_address(link: u16) -> Ipv4Addr {
    let [high, low] = link.to_be_bytes();
    Ipv4Addr::new(10, 101, high, low)
}
