//! Who may come to a server, and what each may do there.
//!
//! A client is known by its public key, which its carrier has verified. Where the carrier verifies
//! nothing, a policy can be [open](Policy::open): whoever comes may do what the defaults say.

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

/// What one client may have and do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// What people call it.
    pub name: String,
    /// Its addresses, how many sockets, and how many octets of each.
    pub grant: Grant,
    /// Octets of all its sockets that the far hosts have not acknowledged: at more, nothing is read
    /// from it until there are fewer.
    pub buffers: u64,
    /// Where it may go.
    pub rules: Rules,
}

/// Who may come, and what each may do; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    clients: BTreeMap<PublicKey, Arc<Client>>,
    defaults: Arc<Client>,
    open: bool,
    /// Clients at a time.
    pub most: usize,
}

impl Policy {
    /// Whoever comes may have and do this.
    #[must_use]
    pub fn anybody(client: Client) -> Self {
        Self { clients: BTreeMap::new(), defaults: Arc::new(client), open: true, most: 1 << 10 }
    }

    /// The same for those that have no entry.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Connections of all clients come from this address, but for those that have one of their own.
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

    /// What a client may have and do; `None` if it may not even come.
    #[must_use]
    pub fn client(&self, identity: &Identity) -> Option<&Arc<Client>> {
        let key = identity.0.as_slice().try_into().ok().map(PublicKey);
        key.and_then(|key| self.clients.get(&key)).or_else(|| self.open.then_some(&self.defaults))
    }

    /// Whether whoever comes may.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the owner of a key may come.
    #[must_use]
    pub fn has(&self, key: &PublicKey) -> bool {
        self.open || self.clients.contains_key(key)
    }

    /// Who may come.
    #[must_use]
    pub fn clients(&self) -> impl ExactSizeIterator<Item = (&PublicKey, &Client)> {
        self.clients.iter().map(|(key, client)| (key, &**client))
    }

    /// Whether it takes a privilege to bind what clients may bind.
    #[must_use]
    pub fn needs_low_ports(&self) -> bool {
        self.all().any(|client| client.rules.bind.are_privileged())
    }

    /// Whether it takes a privilege to use the addresses that clients bring.
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
    /// What a client has of which a policy says nothing: room for a busy desktop.
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

    /// A program of this host: it may do what any of them may.
    #[must_use]
    pub fn local(name: &str) -> Self {
        let everywhere =
            ["any", "127.0.0.0/8", "::1", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8"];
        let everywhere = everywhere.iter().filter_map(|text| text.parse().ok()).collect();
        let rules = Rules { allow: everywhere, own: true, ..Rules::default() };
        Self { rules, grant: Grant { sockets: 1 << 16, ..Self::named(name).grant }, ..Self::named(name) }
    }
}
