//! A server in a thread of its own, for one client in the same process.

use crate::Host;
use resoa_carrier::memory::Memory;
use resoa_policy::{Client, Policy};
use resoa_protocol::lhp::Identity;
use resoa_protocol::{ServerSettings, server};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Capacity in bytes between client and server, each way.
const CAPACITY: usize = 4 << 20;

/// A running [`Host`] whose thread ends when this is dropped; see the [module](self).
#[derive(Debug)]
pub struct ServerThread {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Starts a server that lets its client do what `client` says. Returns the carrier on which the
    /// client registers.
    ///
    /// A confined process calls [`keep_kernel_lists`](crate::keep_kernel_lists) before it is
    /// confined, and this function afterwards: the thread has the rights of the one that starts it.
    ///
    /// # Errors
    /// If the kernel has no descriptor or no thread left.
    pub fn start(client: Client) -> io::Result<(Self, Memory)> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let carrier = Memory::server(CAPACITY)?;
        let memory = carrier.client(Identity(client.name.clone().into_bytes()))?;
        let settings = ServerSettings::new(server::Addresses::shared(Ipv4Addr::UNSPECIFIED.into()));
        let mut host = Host::with_policy(settings, carrier, Arc::new(Policy::anybody(client)))?;
        host.wait_for(stop.as_fd())?;
        let thread = thread::Builder::new().name("local".to_owned()).spawn(move || {
            // `Ok(true)` is the stop, the only descriptor that the host waits for besides its own.
            while matches!(host.turn(None), Ok(false)) {}
            host.stop();
        })?;
        Ok((Self { stop, thread: Some(thread) }, memory))
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        // A counter that is full stops the thread as well.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
