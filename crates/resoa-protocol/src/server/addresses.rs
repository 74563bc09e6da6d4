//! Source addresses of clients' connections (5.3.4): one that clients share, one of a pool for each
//! client, or one that a client brings.

use crate::message::{AddressMode, Modes};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The addresses that a server has for its clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Addresses {
    /// The address that clients share (n-1).
    pub shared: Option<IpAddr>,
    /// Addresses of which each serves one client (1-1).
    pub pool: Vec<IpAddr>,
    /// Addresses that clients may bring, each for one client (1-1).
    pub brought: Vec<IpAddr>,
}

impl Addresses {
    /// Offers only this address, which all clients share.
    #[must_use]
    pub fn shared(address: IpAddr) -> Self {
        Self { shared: Some(address), ..Self::default() }
    }

    fn modes(&self) -> Modes {
        Modes { shared: self.shared.is_some(), own: !self.pool.is_empty(), brought: !self.brought.is_empty() }
    }

    /// Chooses an address for a client. `taken` are the addresses that other clients have to
    /// themselves. Returns `None` if no address is left.
    ///
    /// # Errors
    /// The modes that are offered, if this one is not.
    pub(super) fn lease(&self, mode: AddressMode, taken: &BTreeSet<IpAddr>) -> Result<Option<IpAddr>, Modes> {
        let modes = self.modes();
        let free = || self.pool.iter().find(|address| !taken.contains(address)).copied();
        match mode {
            AddressMode::Shared if modes.shared => Ok(self.shared),
            AddressMode::Own if modes.own => Ok(free()),
            AddressMode::Brought(address) if self.brought.contains(&address) => {
                Ok((!taken.contains(&address)).then_some(address))
            }
            // Prefer an address of its own, at which a client that offers services can be reached.
            AddressMode::Any if modes.shared || modes.own => Ok(free().or(self.shared)),
            _ => Err(modes),
        }
    }
}
