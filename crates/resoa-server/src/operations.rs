//! Calls that wait for the server's answer, carried out on a kernel socket.

use crate::kernel::{Phase, Socket, name};
use crate::{errors, options, own, sys};
use resoa_protocol::Errno;
use resoa_protocol::message::{Family, Operation, Reply, RsockType};
use rustix::fd::AsFd;
use rustix::net;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

impl Socket {
    /// Carries out an operation. Returns `None` if it is pending (`connect`).
    pub(crate) fn execute(&mut self, operation: Operation) -> Option<Result<Reply, Errno>> {
        match operation {
            Operation::Bind(address) => Some(self.bind(address)),
            Operation::Connect(address) => self.connect(address),
            Operation::Disconnect => {
                let outcome = net::connect_unspec(&self.fd).map(|()| Reply::Done).map_err(errors::of);
                // Disconnecting releases a port that the kernel had chosen.
                self.bound = name(&self.fd).is_some_and(|local| local.port() != 0);
                Some(outcome)
            }
            Operation::Listen { backlog } => Some(self.listen(backlog)),
            Operation::SetOption { level, name, value } => {
                let outcome = options::set(self.fd.as_fd(), level, name, &value);
                if (level, name) == (libc::IPPROTO_IPV6, libc::IPV6_ADDRFORM) && outcome.is_ok() {
                    self.create.family = Family::V4;
                }
                Some(outcome)
            }
            Operation::GetOption { level, name, length } => {
                Some(options::get(self.fd.as_fd(), level, name, length))
            }
            // The client answers requests about sockets itself. Those about interfaces would reveal
            // the server's.
            Operation::Ioctl { .. } => Some(Err(Errno::EINVAL)),
        }
    }

    /// Family of the socket and address of its client.
    pub(crate) fn own(&self) -> (Family, IpAddr) {
        (self.create.family, self.source)
    }

    fn bind(&mut self, wanted: SocketAddr) -> Result<Reply, Errno> {
        let address = own::bound(self.create.family, self.source, wanted)?;
        if self.bound {
            // The socket has the client's address without a port: it was connected and is not any
            // more. Now it needs a port.
            let off = 0_i32.to_ne_bytes();
            sys::set_option(self.fd.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &off)
                .map_err(|error| errors::errno(&error))?;
        }
        if address.port() == 0 {
            self.bind_alone(address)?;
        } else {
            net::bind(&self.fd, &address).map_err(errors::of)?;
        }
        (self.bound, self.named) = (true, !wanted.ip().is_unspecified());
        self.local()
    }

    /// Binds an unbound socket to the client's address, with any port.
    pub(crate) fn bind_own(&mut self) -> Result<(), Errno> {
        if self.bound {
            return Ok(());
        }
        match (self.create.kind, own::source(self.create.family, self.source)?) {
            (RsockType::Stream, None) => {}
            (RsockType::Stream, Some(own)) => {
                // The port is chosen at the connect, when the destination is known, so that one
                // port can serve many far hosts.
                let on = 1_i32.to_ne_bytes();
                sys::set_option(self.fd.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &on)
                    .map_err(|error| errors::errno(&error))?;
                net::bind(&self.fd, &SocketAddr::new(own, 0)).map_err(errors::of)?;
            }
            (RsockType::Datagram | RsockType::Lite, own) => {
                let any = match self.create.family {
                    Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
                    Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
                };
                self.bind_alone(SocketAddr::new(own.unwrap_or(any), 0))?;
            }
        }
        self.bound = true;
        Ok(())
    }

    /// Binds to a port that the kernel chooses and that no other client and no process of the host
    /// has.
    ///
    /// The kernel may choose a port in use: for datagrams if both sockets may share theirs
    /// (SO_REUSEADDR, SO_REUSEPORT), for streams if net.ipv4.ip_autobind_reuse is set. To the
    /// kernel all clients are one user (C10). So this socket shares nothing during the bind.
    fn bind_alone(&self, address: SocketAddr) -> Result<(), Errno> {
        let shares = self.sharing();
        let set = |on: i32| {
            shares.iter().try_for_each(|&option| {
                sys::set_option(self.fd.as_fd(), libc::SOL_SOCKET, option, &on.to_ne_bytes())
            })
        };
        set(0).map_err(|error| errors::errno(&error))?;
        let bound = net::bind(&self.fd, &address).map_err(errors::of);
        set(1).map_err(|error| errors::errno(&error))?;
        bound
    }

    fn connect(&mut self, peer: SocketAddr) -> Option<Result<Reply, Errno>> {
        if let Err(error) = self.bind_own() {
            return Some(Err(error));
        }
        match net::connect(&self.fd, &peer) {
            // The connection may exist at once, as on loopback. epoll reports that, too.
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) if self.create.kind == RsockType::Stream => {
                self.phase = Phase::Connecting(peer);
                None
            }
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {
                let local = name(&self.fd).ok_or(Errno::ENOTCONN);
                // The peer is the kernel's: an IPv6 socket has a mapped IPv4 address, and the
                // unspecified address becomes the loopback one. With port 0 the kernel returns no
                // peer.
                let named = net::getpeername(&self.fd).ok().flatten();
                let peer = named.and_then(|named| SocketAddr::try_from(named).ok()).unwrap_or(peer);
                Some(local.map(|local| Reply::Connected { local, peer }))
            }
            Err(error) => Some(Err(errors::of(error))),
        }
    }

    fn listen(&mut self, backlog: u32) -> Result<Reply, Errno> {
        self.bind_own()?;
        net::listen(&self.fd, backlog.min(i32::MAX as u32).cast_signed()).map_err(errors::of)?;
        let accepts = !matches!(self.phase, Phase::Listening { accepts: false, .. });
        self.phase = Phase::Listening { accepts, backlog };
        self.local()
    }

    fn local(&self) -> Result<Reply, Errno> {
        let local = name(&self.fd).ok_or(Errno::EINVAL)?;
        Ok(Reply::Local(own::told(self.create.family, self.named, local)))
    }
}
