//! Calls that wait for the server, on a socket of the kernel's.

use crate::kernel::{Phase, Socket, name};
use crate::{errors, options, own, sys};
use resoa_protocol::Errno;
use resoa_protocol::message::{Family, Kind, Operation, Reply};
use rustix::fd::AsFd;
use rustix::net;
use std::net::{IpAddr, SocketAddr};

impl Socket {
    /// Does it; `None` if it is under way (`connect`).
    pub(crate) fn execute(&mut self, operation: Operation) -> Option<Result<Reply, Errno>> {
        match operation {
            Operation::Bind(address) => Some(self.bind(address)),
            Operation::Connect(address) => self.connect(address),
            Operation::Disconnect => {
                Some(net::connect_unspec(&self.fd).map(|()| Reply::Done).map_err(errors::of))
            }
            Operation::Listen { backlog } => Some(self.listen(backlog)),
            Operation::SetOption { level, name, value } => {
                Some(options::set(self.fd.as_fd(), level, name, &value))
            }
            Operation::GetOption { level, name, length } => {
                Some(options::get(self.fd.as_fd(), level, name, length))
            }
            // The client answers those of sockets; those of interfaces would tell of the server's.
            Operation::Ioctl { .. } | Operation::Resolve(_) => Some(Err(Errno::EINVAL)),
        }
    }

    /// Its family, and the client's address.
    pub(crate) fn own(&self) -> (Family, IpAddr) {
        (self.create.family, self.source)
    }

    fn bind(&mut self, wanted: SocketAddr) -> Result<Reply, Errno> {
        let address = own::bound(self.create.family, self.source, wanted)?;
        if self.bound {
            // It has the client's address without a port, was connected, and is not any more: now a port is wanted.
            let off = 0_i32.to_ne_bytes();
            sys::set_option(self.fd.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &off)
                .map_err(|error| errors::errno(&error))?;
        }
        net::bind(&self.fd, &address).map_err(errors::of)?;
        (self.bound, self.named) = (true, !wanted.ip().is_unspecified());
        self.local()
    }

    /// Its connections come from the client's address, whatever port.
    pub(crate) fn bind_own(&mut self) -> Result<(), Errno> {
        if self.bound {
            return Ok(());
        }
        if let Some(own) = own::source(self.create.family, self.source)? {
            // The port is chosen when it is known where to: one can serve many far hosts.
            let on = 1_i32.to_ne_bytes();
            sys::set_option(self.fd.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &on)
                .map_err(|error| errors::errno(&error))?;
            net::bind(&self.fd, &SocketAddr::new(own, 0)).map_err(errors::of)?;
        }
        self.bound = true;
        Ok(())
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
                Some(local.map(|local| Reply::Connected { local, peer }))
            }
            Err(error) => Some(Err(errors::of(error))),
        }
    }

    fn listen(&mut self, backlog: u32) -> Result<Reply, Errno> {
        self.bind_own()?;
        let backlog = backlog.min(i32::MAX as u32).cast_signed();
        net::listen(&self.fd, backlog).map_err(errors::of)?;
        if !matches!(self.phase, Phase::Listening { .. }) {
            self.phase = Phase::Listening { accepts: true };
        }
        self.local()
    }

    fn local(&self) -> Result<Reply, Errno> {
        let local = name(&self.fd).ok_or(Errno::EINVAL)?;
        Ok(Reply::Local(own::told(self.create.family, self.named, local)))
    }
}
