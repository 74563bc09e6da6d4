//! Where the connections of clients come from (5.3.4): an address that they share, one of a pool
//! for each, or the one that a client brings.

use crate::message::{AddressMode, Modes};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The addresses that a server has for its clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Addresses {
    /// The one that clients share (n-1).
    pub shared: Option<IpAddr>,
    /// One for each of so many (1-1).
    pub pool: Vec<IpAddr>,
    /// Those that clients may bring, each for one of them (1-1).
    pub brought: Vec<IpAddr>,
}

impl Addresses {
    /// Only the address that all clients share.
    #[must_use]
    pub fn shared(address: IpAddr) -> Self {
        Self { shared: Some(address), ..Self::default() }
    }

    fn modes(&self) -> Modes {
        Modes { shared: self.shared.is_some(), own: !self.pool.is_empty(), brought: !self.brought.is_empty() }
    }

    /// An address for a client, given those that others have for themselves; `None` if there is
    /// none left.
    ///
    /// # Errors
    /// If the mode is not offered: those that are.
    pub(super) fn lease(&self, mode: AddressMode, taken: &BTreeSet<IpAddr>) -> Result<Option<IpAddr>, Modes> {
        let modes = self.modes();
        let free = || self.pool.iter().find(|address| !taken.contains(address)).copied();
        match mode {
            AddressMode::Shared if modes.shared => Ok(self.shared),
            AddressMode::Own if modes.own => Ok(free()),
            AddressMode::Brought(address) if self.brought.contains(&address) => {
                Ok((!taken.contains(&address)).then_some(address))
            }
            // Those that offer services can be found at an address of their own.
            AddressMode::Any if modes.shared || modes.own => Ok(free().or(self.shared)),
            _ => Err(modes),
        }
    }
}
