//! A link to measure: two private namespaces with a TUN device each, and the emulator between them.
//!
//! This does not touch the machine's own network, and everything disappears with the process: the
//! namespaces have no names, and the devices live only as long as their file descriptors.

use crate::failure::Failure;
use emulator::kernel::{Kernel, Port, Segments};
use emulator::punctuality::Overload;
use emulator::{Command, Control, Emulator, Ending, Observer, control};
use link::{Direction, Link};
use netlab::address::{self, Address};
use netlab::route::{self, Metrics, Prefix, Route};
use netlab::tun::{Tun, TunOptions};
use netlab::{Namespace, sysctl};
use packet::Layer;
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

/// MTU in bytes.
pub const MTU: u16 = 1500;

/// Queue length of a device in packets; more than any burst that is sent here.
const DEVICE_QUEUE: u32 = 2000;

/// Receive buffer of a socket, in bytes. A measurement must not lose a packet because a thread was
/// not scheduled for a moment.
const RECEIVE_BUFFER: usize = 16 << 20;

/// Documentation addresses (RFC 5737), which nothing else uses.
const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2))];

/// A running link; see the [module](self).
pub struct BenchLink<O> {
    /// The wireless host, then the other host.
    hosts: [Host; 2],
    control: Control,
    emulating: Option<JoinHandle<io::Result<Ending<Kernel, O>>>>,
}

/// One end of the link.
struct Host {
    namespace: Namespace,
    tun: Tun,
    address: IpAddr,
}

/// UDP counters of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdpCounters {
    /// Datagrams with a wrong checksum (`InCsumErrors`).
    pub wrong_checksum: u64,
    /// Datagrams dropped because a socket's buffer was full (`RcvbufErrors`).
    pub no_room: u64,
}

/// Results of a link that was taken down.
pub struct Remains<O> {
    pub observer: O,
    /// The reason why this machine did not keep up, if it did not: packets left too late, were lost
    /// outside the link because a device or socket was full, or were refused by a device.
    pub overload: Option<Overload>,
}

impl<O: Observer + Send + 'static> BenchLink<O> {
    /// Creates the namespaces and devices, and starts the emulator.
    pub fn set_up(link: Link, precise: bool, observer: O) -> Result<Self, Failure> {
        let (near, inside) = Host::set_up(0)?;
        let (far, outside) = Host::set_up(1)?;
        let (control, controls) = control()?;
        let mut kernel = Kernel::new(&controls)?;
        if precise {
            kernel = kernel.precise();
        }
        let mut port = |fd| kernel.add(Port::new(fd, Layer::Ip, Segments::Split, MTU.into()));
        let (inside, outside) = (port(inside)?, port(outside)?);
        let mut emulator = Emulator::new(kernel, observer);
        emulator.add_link(link, [inside, outside]);
        let emulating =
            thread::Builder::new().name("emulator".into()).spawn(move || emulator.run(&controls))?;
        Ok(Self { hosts: [near, far], control, emulating: Some(emulating) })
    }

    /// Returns two connected sockets in this direction: the sender's and the receiver's.
    pub fn sockets(&self, direction: Direction) -> Result<(UdpSocket, UdpSocket), Failure> {
        let (from, to) = self.ends(direction);
        let (sender, receiver) = (from.socket()?, to.socket()?);
        sender.connect(receiver.local_addr()?)?;
        receiver.connect(sender.local_addr()?)?;
        Ok((sender, receiver))
    }

    /// Returns the UDP counters at the receiving end of this direction.
    pub fn udp_counters(&self, direction: Direction) -> Result<UdpCounters, Failure> {
        self.ends(direction).1.udp_counters()
    }

    /// Stops the emulator, takes everything down and returns the results.
    pub fn take_down(mut self) -> Result<Remains<O>, Failure> {
        let mut packets = 0;
        for host in &self.hosts {
            packets += host.tun.statistics()?.tx_dropped + host.udp_counters()?.no_room;
        }
        let ending = self.stop().ok_or("the emulator had already ended")??;
        packets += ending.refused.map_or(0, |(count, _)| count);
        let lost = (packets > 0).then_some(Overload::DroppedByKernel { packets });
        let overload = lost.or_else(|| ending.punctuality.verdict());
        Ok(Remains { observer: ending.observer, overload })
    }
}

impl<O> BenchLink<O> {
    /// Returns the sending and the receiving host.
    fn ends(&self, direction: Direction) -> (&Host, &Host) {
        let [near, far] = &self.hosts;
        match direction {
            Direction::Up => (near, far),
            Direction::Down => (far, near),
        }
    }

    fn stop(&mut self) -> Option<io::Result<Ending<Kernel, O>>> {
        self.control.tell(Command::Stop);
        let emulating = self.emulating.take()?;
        Some(emulating.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl<O> Drop for BenchLink<O> {
    fn drop(&mut self) {
        self.control.tell(Command::Stop);
        if let Some(emulating) = self.emulating.take() {
            // A measurement has failed, and its error is the one reported.
            let _ = emulating.join();
        }
    }
}

impl Host {
    /// Creates a namespace with one TUN device that is up and has an address and a route to the
    /// other host.
    fn set_up(place: usize) -> Result<(Self, OwnedFd), Failure> {
        let (address, peer) = (ADDRESSES[place], ADDRESSES[1 - place]);
        let namespace = Namespace::new()?;
        // Without IPv6 the kernel sends nothing on its own.
        for which in ["all", "default"] {
            if sysctl::has_ipv6(&namespace) {
                sysctl::write(&namespace, &format!("net.ipv6.conf.{which}.disable_ipv6"), "1")?;
            }
        }
        let options = TunOptions {
            name: "check0".into(),
            mtu: MTU.into(),
            queue_length: DEVICE_QUEUE,
            ..TunOptions::default()
        };
        let tun = Tun::open(&namespace, &options)?;
        let index = tun.index();
        address::add(&namespace, Address { index, address, prefix_length: 32 })?;
        // No TCP runs here. Reno exists in every kernel.
        let metrics = Metrics { congestion_control: "reno".into(), ..Metrics::default() };
        route::add(&namespace, &Route::on_link(Prefix::host(peer), index, metrics))?;
        let descriptor = tun.descriptor()?;
        Ok((Self { namespace, tun, address }, descriptor))
    }

    /// Opens a UDP socket in the namespace, on a free port.
    fn socket(&self) -> Result<UdpSocket, Failure> {
        let address = self.address;
        let socket = self
            .namespace
            .enter(|| Ok(UdpSocket::bind((address, 0))))?
            .map_err(|error| format!("cannot open a UDP socket on {address}: {error}"))?;
        // Beyond the system's limit if permitted, else up to it.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
            rustix::net::sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
        }
        Ok(socket)
    }

    fn udp_counters(&self) -> Result<UdpCounters, Failure> {
        // `/proc/net` shows the namespace of the main thread, this path that of the reading thread.
        let path = "/proc/thread-self/net/snmp";
        let text = self.namespace.enter(|| Ok(std::fs::read_to_string(path)))?;
        let text = text.map_err(|error| format!("cannot read {path}: {error}"))?;
        udp_counters(&text).ok_or_else(|| format!("cannot read {path}: it has no Udp lines").into())
    }
}

/// Parses the UDP counters of `/proc/net/snmp`: a line of names, and a line of numbers.
fn udp_counters(text: &str) -> Option<UdpCounters> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let counter = |wanted: &str| {
        let (_, number) = names.split(' ').zip(numbers.split(' ')).find(|(name, _)| *name == wanted)?;
        number.parse().ok()
    };
    Some(UdpCounters { wrong_checksum: counter("InCsumErrors")?, no_room: counter("RcvbufErrors")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts InErrors RcvbufErrors InCsumErrors\n\
                    Udp: 10 0 7 3 4\nUdpLite: InDatagrams\nUdpLite: 0\n";
        assert_eq!(udp_counters(text), Some(UdpCounters { wrong_checksum: 4, no_room: 3 }));
        assert_eq!(udp_counters("Udp: InDatagrams\nUdp: 1\n"), None);
    }
}
