//! Calls that wait for the server, on a socket of the kernel's.

use crate::kernel::{Phase, Socket, name};
use crate::{errors, options, own, sys};
use resoa_protocol::Errno;
use resoa_protocol::message::{Family, Kind, Operation, Reply};
use rustix::fd::AsFd;
use rustix::net;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

impl Socket {
    /// Does it; `None` if it is under way (`connect`).
    pub(crate) fn execute(&mut self, operation: Operation) -> Option<Result<Reply, Errno>> {
        match operation {
            Operation::Bind(address) => Some(self.bind(address)),
            Operation::Connect(address) => self.connect(address),
            Operation::Disconnect => {
                let outcome = net::connect_unspec(&self.fd).map(|()| Reply::Done).map_err(errors::of);
                // A port that the kernel had chosen is given up.
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
            // The client answers those of sockets; those of interfaces would tell of the server's.
            Operation::Ioctl { .. } => Some(Err(Errno::EINVAL)),
        }
    }

    /// Its family, and the client's address.
    pub(crate) fn own(&self) -> (Family, IpAddr) {
        (self.create.family, self.source)
    }

    fn bind(&mut self, wanted: SocketAddr) -> Result<Reply, Errno> {
        let address = own::bound(self.create.family, self.source, wanted)?;
        if self.bound {
            // It has the client's address without a port, was connected, and is not any more: now a
            // port is wanted.
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

    /// What it sends comes from the client's address, whatever port.
    pub(crate) fn bind_own(&mut self) -> Result<(), Errno> {
        if self.bound {
            return Ok(());
        }
        match (self.create.kind, own::source(self.create.family, self.source)?) {
            (Kind::Stream, None) => {}
            (Kind::Stream, Some(own)) => {
                // The port is chosen when it is known where to: one can serve many far hosts.
                let on = 1_i32.to_ne_bytes();
                sys::set_option(self.fd.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &on)
                    .map_err(|error| errors::errno(&error))?;
                net::bind(&self.fd, &SocketAddr::new(own, 0)).map_err(errors::of)?;
            }
            (Kind::Datagram | Kind::Lite, own) => {
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

    /// Binds to a port that the kernel chooses, and that nobody has: no other client and no process
    /// of the host. Of datagrams it would choose one that is somebody's if both may share it
    /// (SO_REUSEADDR, SO_REUSEPORT), of streams where net.ipv4.ip_autobind_reuse is set; and to the
    /// kernel all clients are one user (C10). So this socket shares nothing meanwhile.
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
            // Also if it is there at once, as on loopback: epoll says so.
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) if self.create.kind == Kind::Stream => {
                self.phase = Phase::Connecting(peer);
                None
            }
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {
                let local = name(&self.fd).ok_or(Errno::ENOTCONN);
                // The kernel's word for it: an address of version 4 is mapped at a socket of
                // version 6, and any is the loopback. With port 0 it has none.
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
