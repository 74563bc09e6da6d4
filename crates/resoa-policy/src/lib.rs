//! Policy of a server: the clients that may connect, and the rights of each.
//!
//! A client is identified by its public key, which its carrier has verified. For a carrier that
//! verifies nothing, a policy can be [open](Policy::open): any client may connect, with the rights
//! of the defaults.

mod file;
mod incoming;
mod look_ups;
mod network;
mod rules;
mod written;

pub use incoming::reached;
pub use look_ups::{NamePattern, reverse};
pub use network::{Destination, Network, Ports, Unreadable};
pub use rules::{Guarded, Refusal, Rules, meant};
pub use written::PolicyError;

use resoa_carrier::keys::PublicKey;
use resoa_protocol::lhp::Identity;
use resoa_protocol::server::{Addresses, Grant};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Rights and limits of one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its name in the policy.
    pub name: String,
    /// Its addresses, the maximum number of sockets, and the maximum bytes in flight of each.
    pub grant: Grant,
    /// Maximum bytes of all its sockets that far hosts have not acknowledged. Above it, the server
    /// reads nothing from the client until there are fewer.
    pub buffers: u64,
    /// Destinations and ports that it may use.
    pub rules: Rules,
}

/// Clients that may connect, with their rights; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    clients: BTreeMap<PublicKey, Arc<Client>>,
    defaults: Arc<Client>,
    open: bool,
    /// Maximum number of concurrent clients.
    pub most: usize,
}

impl Policy {
    /// Creates a policy in which any client may connect, with these rights.
    #[must_use]
    pub fn anybody(client: Client) -> Self {
        Self { clients: BTreeMap::new(), defaults: Arc::new(client), open: true, most: 1 << 10 }
    }

    /// Opens the policy to clients without an entry.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Makes connections of all clients come from this address, except for clients with an address
    /// of their own.
    #[must_use]
    pub fn sharing(mut self, address: IpAddr) -> Self {
        let shared = |client: &mut Arc<Client>| {
            let addresses = &mut Arc::make_mut(client).grant.addresses;
            addresses.shared = addresses.shared.map(|_| address);
        };
        self.clients.values_mut().for_each(shared);
        shared(&mut self.defaults);
        self
    }

    /// Returns the rights of a client; `None` if it may not connect.
    #[must_use]
    pub fn client(&self, identity: &Identity) -> Option<&Arc<Client>> {
        let key = identity.0.as_slice().try_into().ok().map(PublicKey);
        key.and_then(|key| self.clients.get(&key)).or_else(|| self.open.then_some(&self.defaults))
    }

    /// Whether clients without an entry may connect.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the owner of a key may connect.
    #[must_use]
    pub fn has(&self, key: &PublicKey) -> bool {
        self.open || self.clients.contains_key(key)
    }

    /// Clients with an entry, with their keys.
    #[must_use]
    pub fn clients(&self) -> impl ExactSizeIterator<Item = (&PublicKey, &Client)> {
        self.clients.iter().map(|(key, client)| (key, &**client))
    }

    /// Whether binding the ports that clients may bind needs a privilege.
    #[must_use]
    pub fn needs_low_ports(&self) -> bool {
        self.all().any(|client| client.rules.bind.are_privileged())
    }

    /// Whether using the addresses that clients bring needs a privilege.
    #[must_use]
    pub fn needs_foreign_addresses(&self) -> bool {
        self.all().any(|client| !client.grant.addresses.brought.is_empty())
    }

    fn all(&self) -> impl Iterator<Item = &Client> {
        let defaults = self.open.then_some(&self.defaults);
        self.clients.values().chain(defaults).map(|client| &**client)
    }
}

impl Client {
    /// Creates a client with the built-in defaults, which have room for a busy desktop.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let addresses = Addresses::shared(Ipv4Addr::UNSPECIFIED.into());
        Self {
            name: name.to_owned(),
            grant: Grant { addresses, sockets: 4096, send_space: 4 << 20 },
            buffers: 256 << 20,
            rules: Rules::default(),
        }
    }

    /// Creates a client for programs of this host, with the same rights as any of them.
    #[must_use]
    pub fn local(name: &str) -> Self {
        let everywhere =
            ["any", "127.0.0.0/8", "::1", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8"];
        let everywhere = everywhere.iter().filter_map(|text| text.parse().ok()).collect();
        let rules = Rules { allow: everywhere, own: true, ..Rules::default() };
        Self { rules, grant: Grant { sockets: 1 << 16, ..Self::named(name).grant }, ..Self::named(name) }
    }
}
