//! The socket that packets go through: UDP, or an Ethernet interface. Over UDP, the kernel takes
//! and hands over many packets of a connection in one system call (UDP_SEGMENT, UDP_GRO; udp(7)).

use super::ether::Ether;
use crate::MacAddress;
use crate::noise::TAG;
use crate::strangers::Source;
use crate::udp::{DATAGRAM, TOGETHER, Udp, enlarge, headers, route_mtu};
use quinn_udp::Transmit;
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::Range;

/// Shortest IP packet that is filled, even if the route claims to carry less.
const SHORTEST: usize = 128;
/// Length of an IP packet that most paths carry, and that is tried.
const ETHERNET: usize = 1500;
/// Runs of packets that wait for the kernel. More would be as good as lost.
const WAITING: usize = 64;
/// Bytes of the buffer for one receive call.
pub(super) const LOOK: usize = crate::udp::ROOM;

/// Address of a packet's sender or receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    Udp(SocketAddr),
    Ether(MacAddress),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => address.fmt(f),
            Self::Ether(address) => address.fmt(f),
        }
    }
}

impl From<Address> for Source {
    fn from(address: Address) -> Self {
        match address {
            Address::Udp(address) => address.into(),
            Address::Ether(address) => Self::Ether(address),
        }
    }
}

/// A socket, and the packets that wait for it; see the [module](self).
#[derive(Debug)]
pub(super) struct Port {
    kind: PortSocket,
    waiting: VecDeque<Run>,
    /// Buffer for the run that is being written, kept for reuse.
    scratch: Run,
}

/// Consecutive packets to one address. All have the same length, except the last, which may be
/// shorter.
#[derive(Debug, Default)]
pub(super) struct Run {
    to: Option<Address>,
    octets: Vec<u8>,
    each: usize,
}

#[derive(Debug)]
enum PortSocket {
    Udp(Udp),
    Ether(Ether),
}

impl Port {
    pub(super) fn udp(address: SocketAddr) -> io::Result<Self> {
        let udp = Udp::bind(address)?;
        if udp.may_fragment() {
            // A packet that is too long must be lost, because that is how the path's MTU is found.
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "the kernel cannot prevent the fragmentation of datagrams",
            ));
        }
        Ok(Self::new(PortSocket::Udp(udp)))
    }

    pub(super) fn ether(interface: &str) -> io::Result<Self> {
        let ether = Ether::new(interface)?;
        enlarge(ether.descriptor());
        Ok(Self::new(PortSocket::Ether(ether)))
    }

    fn new(kind: PortSocket) -> Self {
        Self { kind, waiting: VecDeque::new(), scratch: Run::default() }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kind {
            PortSocket::Udp(udp) => udp.as_fd(),
            PortSocket::Ether(ether) => ether.descriptor(),
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        match &self.kind {
            PortSocket::Udp(udp) => Some(udp.address()),
            PortSocket::Ether(_) => None,
        }
    }

    pub(super) fn read_address(&self, text: &str) -> Option<Address> {
        match &self.kind {
            PortSocket::Udp(_) => text.parse().ok().map(Address::Udp),
            PortSocket::Ether(_) => MacAddress::read(text).map(Address::Ether),
        }
    }

    /// Returns the bytes of frames that certainly fit a packet to this address, as far as this host
    /// knows, and those that might.
    pub(super) fn rooms(&self, to: Address) -> (usize, usize) {
        let (short, long) = match (&self.kind, to) {
            (PortSocket::Udp(_), Address::Udp(to)) => {
                // The first hop may be the narrow one: LoRaWAN carries 242 bytes.
                let carried = route_mtu(to).unwrap_or(ETHERNET).clamp(SHORTEST, ETHERNET);
                let room = carried - headers(to);
                (DATAGRAM.min(room), room)
            }
            (PortSocket::Udp(_), Address::Ether(_)) => (DATAGRAM, DATAGRAM),
            (PortSocket::Ether(ether), _) => ether.rooms(),
        };
        let beside = super::packet::HEADER + TAG;
        (short - beside, long - beside)
    }

    /// Returns whether the kernel takes no packets at the moment.
    pub(super) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends a packet. If it cannot be sent it is lost, as on the way.
    pub(super) fn send(&mut self, to: Address, packet: &[u8]) {
        let mut run = std::mem::take(&mut self.scratch);
        run.begin(to);
        run.octets.extend(packet);
        run.each = packet.len();
        self.scratch = self.send_run(run);
    }

    /// Returns an empty run to this address, to be filled and given back with
    /// [`send_run`](Self::send_run) or [`keep`](Self::keep).
    pub(super) fn run(&mut self, to: Address) -> Run {
        let mut run = std::mem::take(&mut self.scratch);
        run.begin(to);
        run
    }

    /// Sends a run. What cannot be sent is lost, as on the way. Returns an empty run to the same
    /// address.
    pub(super) fn send_run(&mut self, mut run: Run) -> Run {
        if run.octets.is_empty() {
            return run;
        }
        let next = Run { to: run.to, ..Run::default() };
        if !self.is_full() && self.try_send(&mut run) {
            run.octets.clear();
            return run;
        }
        if self.waiting.len() < WAITING {
            self.waiting.push_back(run);
        }
        next
    }

    /// Keeps the buffer of a run.
    pub(super) fn keep(&mut self, run: Run) {
        self.scratch = run;
    }

    /// Returns whether one more packet of this length fits in the run.
    pub(super) fn fits(&self, run: &Run, packet: usize) -> bool {
        let most = match &self.kind {
            PortSocket::Udp(udp) => udp.most(),
            PortSocket::Ether(_) => usize::MAX,
        };
        run.octets.is_empty()
            || run.octets.len().is_multiple_of(run.each)
                && packet <= run.each
                && run.octets.len() + packet <= TOGETHER
                && run.octets.len() / run.each < most
    }

    /// Sends the runs that wait.
    pub(super) fn flush(&mut self) {
        while let Some(mut run) = self.waiting.pop_front() {
            if !self.try_send(&mut run) {
                self.waiting.push_front(run);
                return;
            }
        }
    }

    /// Returns whether the kernel took the whole run. If not, the rest stays in the run.
    fn try_send(&self, run: &mut Run) -> bool {
        let is_full =
            |outcome: io::Result<()>| outcome.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        match (&self.kind, run.to) {
            (PortSocket::Udp(udp), Some(Address::Udp(destination))) => {
                let segment_size = (run.octets.len() > run.each).then_some(run.each);
                let contents = &run.octets[..];
                let together = Transmit { destination, ecn: None, contents, segment_size, src_ip: None };
                udp.send(&together)
            }
            (PortSocket::Ether(ether), Some(Address::Ether(to))) => {
                let packets = run.octets.chunks(run.each.max(1));
                let sent = packets.take_while(|packet| !is_full(ether.send(to, packet).map(drop))).count();
                run.octets.drain(..(sent * run.each).min(run.octets.len()));
                run.octets.is_empty()
            }
            _ => true,
        }
    }

    /// Receives packets into `room`, which has [`LOOK`] bytes, and appends their positions and
    /// their senders to `found`. Returns whether there may be more.
    pub(super) fn receive(
        &self,
        room: &mut [u8],
        found: &mut Vec<(Range<usize>, Address)>,
    ) -> io::Result<bool> {
        match &self.kind {
            PortSocket::Udp(udp) => {
                udp.receive(room, |place, meta| found.push((place, Address::Udp(meta.addr))))
            }
            PortSocket::Ether(ether) => match ether.receive(room) {
                Ok((length, from)) => {
                    found.push((0..length, Address::Ether(from)));
                    Ok(true)
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

impl Run {
    fn begin(&mut self, to: Address) {
        self.to = Some(to);
        self.octets.clear();
    }

    /// Returns where to write the next packet, which has this length and [fits](Port::fits).
    pub(super) fn packet(&mut self, octets: usize) -> &mut Vec<u8> {
        if self.octets.is_empty() {
            self.each = octets;
        }
        &mut self.octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    /// Receives packets until there are `count` of them.
    fn receive(port: &Port, count: usize) -> Vec<Vec<u8>> {
        let (mut room, mut found, mut packets) = (vec![0; LOOK], Vec::new(), Vec::new());
        let begin = Instant::now();
        while packets.len() < count {
            assert!(begin.elapsed() < Duration::from_mins(1), "{} packets have come", packets.len());
            if !port.receive(&mut room, &mut found).expect("a socket") {
                std::thread::yield_now();
            }
            packets.extend(found.drain(..).map(|(place, _)| room[place].to_vec()));
        }
        packets
    }

    /// Packets that are sent in runs arrive one by one and unchanged, whatever their lengths and
    /// their number.
    #[test]
    fn runs_come_packet_by_packet() {
        let (mut from, to) =
            (Port::udp(ANY_PORT.into()).expect("loopback"), Port::udp(ANY_PORT.into()).expect("loopback"));
        let address = Address::Udp(to.address().expect("is bound"));
        let lengths =
            [[1200; 80].to_vec(), vec![300, 300, 40, 1200, 1472, 1472, 9, 9, 1], [100; 3].to_vec()].concat();
        let packets: Vec<_> =
            lengths.iter().enumerate().map(|(number, &octets)| vec![number as u8; octets]).collect();
        let mut runs = 1;
        let mut run = from.run(address);
        for packet in &packets {
            if !from.fits(&run, packet.len()) {
                run = from.send_run(run);
                runs += 1;
            }
            run.packet(packet.len()).extend(packet);
        }
        let run = from.send_run(run);
        assert!(run.octets.is_empty() && !from.is_full());
        from.keep(run);
        from.send(address, b"alone");
        assert!(runs < lengths.len() / 4 && runs > 80 * 1200 / TOGETHER, "{runs} runs");
        let found = receive(&to, packets.len() + 1);
        assert!(found[..packets.len()] == packets && found[packets.len()] == b"alone");
    }

    /// A run contains packets of one length and a shorter one, has no more bytes than one datagram,
    /// and no more packets than the kernel takes.
    #[test]
    fn what_fits_a_run() {
        let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
        let mut run = port.run(Address::Udp(([127, 0, 0, 1], 9).into()));
        assert!(port.fits(&run, 70_000), "one packet is a run");
        run.packet(1000).extend([0; 1000]);
        assert!(port.fits(&run, 1000) && port.fits(&run, 9) && !port.fits(&run, 1001));
        run.packet(9).extend([0; 9]);
        assert!(!port.fits(&run, 9) && !port.fits(&run, 1000));
        run.octets.resize(60 * 1000, 0);
        assert!(port.fits(&run, 1000));
        run.octets.resize(65 * 1000, 0);
        assert!(!port.fits(&run, 1));
        run.each = 10;
        run.octets.resize(10 * 64, 0);
        assert!(!port.fits(&run, 10), "the kernel takes 64 (UDP_MAX_SEGMENTS)");
    }
}
