//! The event loop that suits the machine: in this process on a host, in the kernel of a guest.

use crate::control::Controls;
use crate::event_loop::{Emulator, Ending, Observer};
use crate::guest::{Form, Remote};
use crate::kernel::{Kernel, Port};
use link::arq::hop::Watch;
use link::{Link, LinkSpec, Seed};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

/// A link that is built, and the data that it was built from.
pub struct Planned {
    /// The link.
    pub link: Link,
    /// Its specification.
    pub spec: LinkSpec,
    /// Its seed.
    pub seed: Seed,
    /// The records of its link layer that are reported to the observer.
    pub watch: Watch,
}

impl Planned {
    /// Builds a link.
    ///
    /// # Errors
    /// As [`LinkSpec::build`].
    pub fn build(spec: LinkSpec, seed: Seed, watch: Watch) -> Result<Self, link::spec::BuildError> {
        let mut link = spec.build(&seed)?;
        link.watch(watch);
        Ok(Self { link, spec, seed, watch })
    }
}

/// Number of packets dropped because the kernel handed them over in a form that cannot be cut into
/// MTU-sized packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unusable(pub u64);

/// An event loop in either place.
pub enum Host<O> {
    /// In this process, on epoll.
    Here(Emulator<Kernel, O>, Controls),
    /// In the kernel of this guest.
    InKernel(Remote<O>),
}

impl<O: Observer> Host<O> {
    /// Creates the loop, without links: in the guest's kernel whose device file `guest` is, or in
    /// this process. Its time starts now. `precise` is for the real clock; see [`Kernel::precise`].
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn new(guest: Option<File>, observer: O, controls: Controls, precise: bool) -> io::Result<Self> {
        if let Some(device) = guest {
            return Ok(Self::InKernel(Remote::new(device, observer, controls)));
        }
        let kernel = Kernel::new(&controls)?;
        let kernel = if precise { kernel.precise() } else { kernel };
        Ok(Self::Here(Emulator::new(kernel, observer), controls))
    }

    /// Adds a link between two devices with this MTU: first the wireless host's, then the
    /// network's.
    ///
    /// # Errors
    /// If the loop cannot use the devices' descriptors.
    pub fn add_link(
        &mut self,
        planned: Planned,
        ends: [BorrowedFd<'_>; 2],
        form: Form,
        mtu: u16,
    ) -> io::Result<()> {
        match self {
            Self::Here(emulator, _) => {
                let mut port = |end: BorrowedFd<'_>| {
                    let port = Port::new(end.try_clone_to_owned()?, form.layer, form.segments, mtu.into());
                    emulator.driver_mut().add(port)
                };
                let ports = [port(ends[0])?, port(ends[1])?];
                emulator.add_link(planned.link, ports);
                Ok(())
            }
            Self::InKernel(remote) => remote.add(planned, ends, form),
        }
    }

    /// Runs until [`Command::Stop`](crate::Command::Stop).
    ///
    /// # Errors
    /// If the loop can no longer wait or read.
    pub fn run(self) -> io::Result<Ending<Unusable, O>> {
        match self {
            Self::Here(emulator, controls) => {
                Ok(emulator.run(&controls)?.map(|kernel| Unusable(kernel.unusable())))
            }
            Self::InKernel(remote) => remote.run(),
        }
    }
}
