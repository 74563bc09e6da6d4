//! File format of a policy.
//!
//! ```toml
//! address = "192.0.2.1"           # where connections come from, unless a client has its own; without: any address of the server
//! pool = ["192.0.2.16"]           # addresses for clients with address = "pool"
//! clients-at-a-time = 100
//!
//! [defaults]                      # what holds for clients that say nothing else
//! allow = ["any"]                 # NETWORK [PORTS]
//! deny = ["any 25", "10.0.0.0/8"]
//! bind = "1024-65535"             # ports that may be bound by number, or "none"
//! listen = true
//! accept-from = ["any"]           # networks that may connect to it and send it datagrams that it has not asked for
//! names = ["any"]                 # names that it may look up: NAME, *.NAME for all below; without: all, if `allow` has anything
//! sockets = 4096
//! socket-buffer = "4MiB"          # bytes of a socket that the far host has not acknowledged
//! buffers = "256MiB"              # the same of all its sockets
//!
//! [clients.laptop]
//! key = "dyp61-B_y5vZTyi52gbHAeVJcSE6t_Ln7USRPmiYpRA"     # lasthop resoa pair
//! address = "192.0.2.7"           # its own; or "shared", "pool"
//! brings = ["203.0.113.9"]        # addresses of its own that it may use here
//! ```

use super::written::{Address, Bind, Octets, Origin, PolicyError, Source};
use super::{Client, Policy};
use resoa_carrier::keys::PublicKey;
use resoa_protocol::server::{Addresses, Grant};
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PolicyFile {
    address: Option<Spanned<String>>,
    #[serde(default)]
    pool: Vec<Spanned<String>>,
    clients_at_a_time: Option<Spanned<usize>>,
    #[serde(default)]
    defaults: ClientFile,
    #[serde(default)]
    clients: BTreeMap<String, Spanned<ClientFile>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClientFile {
    key: Option<Spanned<String>>,
    address: Option<Spanned<String>>,
    brings: Option<Vec<Spanned<String>>>,
    allow: Option<Vec<Spanned<String>>>,
    deny: Option<Vec<Spanned<String>>>,
    bind: Option<Spanned<String>>,
    listen: Option<bool>,
    accept_from: Option<Vec<Spanned<String>>>,
    names: Option<Vec<Spanned<String>>>,
    sockets: Option<Spanned<u32>>,
    socket_buffer: Option<Spanned<String>>,
    buffers: Option<Spanned<String>>,
}

impl Policy {
    /// Reads a policy from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid policy. The error names the place, the mistake
    /// and a correct form.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| PolicyError {
            file: file.clone(),
            at: None,
            message: error.to_string(),
        })?;
        Self::parse(&file, &text)
    }

    /// Parses the text of a policy; `file` is its name in errors.
    ///
    /// # Errors
    /// If it is not a valid policy.
    pub fn parse(file: &str, text: &str) -> Result<Self, PolicyError> {
        let source = Source { file, text };
        let written: PolicyFile = toml::from_str(text).map_err(|error| source.toml(&error))?;
        let mut base = Client::named("anybody");
        if let Some(address) = &written.address {
            base.grant.addresses.shared = Some(source.read::<Address>("address", address)?.0);
        } else {
            base.grant.addresses.shared = Some(Ipv4Addr::UNSPECIFIED.into());
        }
        let pool = source
            .read_all::<Address>("pool", &written.pool)?
            .into_iter()
            .map(|Address(ip)| ip)
            .collect::<Vec<_>>();
        if let Some(key) = &written.defaults.key {
            return Err(source.error(
                &key.span(),
                "key: not allowed in [defaults]: a key belongs to one client, [clients.NAME]",
            ));
        }
        // Also used for clients with address = "shared" if the defaults have addresses of their
        // own.
        let common = (base.grant.addresses.shared, pool.as_slice());
        let defaults = written.defaults.client(&source, &base, common, "anybody")?;
        let mut clients = BTreeMap::new();
        for (name, entry) in &written.clients {
            let Some(key) = &entry.get_ref().key else {
                let message = format!(
                    "client `{name}` has no key: add the 43 characters that `lasthop resoa pair` shows on the client"
                );
                return Err(source.error(&entry.span(), message));
            };
            let public: PublicKey = source.read("key", key)?;
            let client = entry.get_ref().client(&source, &defaults, common, name)?;
            if let Some(other) = clients.insert(public, Arc::new(client)) {
                let message = format!(
                    "key: clients `{}` and `{name}` have the same key: each client needs its own",
                    other.name
                );
                return Err(source.error(&key.span(), message));
            }
        }
        let most = written.clients_at_a_time.map_or(1 << 10, Spanned::into_inner);
        Ok(Self { clients, defaults: Arc::new(defaults), open: false, most })
    }
}

impl ClientFile {
    /// Applies the settings of this entry to those of `base`.
    fn client(
        &self,
        source: &Source,
        base: &Client,
        (shared, pool): (Option<IpAddr>, &[IpAddr]),
        name: &str,
    ) -> Result<Client, PolicyError> {
        let mut client = Client { name: name.to_owned(), ..base.clone() };
        let Client { grant: Grant { addresses, sockets, send_space }, buffers, rules, .. } = &mut client;
        if let Some(address) = &self.address {
            let own =
                |pool: Vec<IpAddr>| Addresses { shared: None, pool, brought: addresses.brought.clone() };
            *addresses = match address.get_ref().as_str() {
                "shared" => Addresses { shared, pool: Vec::new(), brought: addresses.brought.clone() },
                "pool" if pool.is_empty() => {
                    return Err(source.error(
                        &address.span(),
                        "address: there is no pool: add pool = [\"192.0.2.16\", ...] at the top",
                    ));
                }
                "pool" => own(pool.to_vec()),
                _ => match source.read::<Address>("address", address) {
                    Ok(Address(ip)) => own(vec![ip]),
                    Err(error) => {
                        let message = format!("{}; \"shared\" and \"pool\" are also valid", error.message);
                        return Err(PolicyError { message, ..error });
                    }
                },
            };
        }
        if let Some(brings) = &self.brings {
            addresses.brought =
                source.read_all::<Address>("brings", brings)?.into_iter().map(|Address(ip)| ip).collect();
        }
        if let Some(allow) = &self.allow {
            rules.allow = source.read_all("allow", allow)?;
        }
        if let Some(deny) = &self.deny {
            rules.deny = source.read_all("deny", deny)?;
        }
        if let Some(bind) = &self.bind {
            rules.bind = source.read::<Bind>("bind", bind)?.0;
        }
        rules.listen = self.listen.unwrap_or(rules.listen);
        if let Some(networks) = &self.accept_from {
            // `None` for all networks, if one of the entries is `any`.
            let networks = source.read_all::<Origin>("accept-from", networks)?;
            rules.accept_from = networks.into_iter().map(|Origin(network)| network).collect();
        }
        if let Some(names) = &self.names {
            rules.names = Some(source.read_all("names", names)?);
        }
        if let Some(count) = &self.sockets {
            *sockets = *count.get_ref();
        }
        if let Some(octets) = &self.socket_buffer {
            let Octets(count) = source.read("socket-buffer", octets)?;
            let count = u32::try_from(count).ok().filter(|count| (4096..=1 << 30).contains(count));
            let count = count.ok_or_else(|| {
                source.error(
                    &octets.span(),
                    format!("socket-buffer: {} is out of range: expected 4KiB to 1GiB", octets.get_ref()),
                )
            });
            *send_space = count?;
        }
        if let Some(octets) = &self.buffers {
            *buffers = source.read::<Octets>("buffers", octets)?.0;
        }
        if *buffers < u64::from(*send_space) {
            let place =
                self.buffers.as_ref().or(self.socket_buffer.as_ref()).map(Spanned::span).unwrap_or_default();
            let message = format!(
                "buffers: {buffers} bytes are too few: expected at least the socket-buffer of one socket, {send_space}"
            );
            return Err(source.error(&place, message));
        }
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::lhp::Identity;

    const KEY: &str = "dyp61-B_y5vZTyi52gbHAeVJcSE6t_Ln7USRPmiYpRA";

    fn identity() -> Identity {
        Identity(KEY.parse::<PublicKey>().expect("a key").0.to_vec())
    }

    /// Settings that a client lacks come from the defaults. Settings that those lack are built in.
    #[test]
    fn clients_on_top_of_defaults() {
        let text = format!(
            "address = \"192.0.2.1\"\npool = [\"192.0.2.16\"]\n[defaults]\nsockets = 10\ndeny = [\"any 25\"]\nbind = \"none\"\n\
             [clients.laptop]\nkey = \"{KEY}\"\naddress = \"pool\"\nbrings = [\"203.0.113.9\"]\nbuffers = \"8MiB\"\n"
        );
        let policy = Policy::parse("p.toml", &text).expect("a policy");
        let client = policy.client(&identity()).expect("may come");
        assert_eq!((client.name.as_str(), client.grant.sockets, client.buffers), ("laptop", 10, 8 << 20));
        assert_eq!(client.rules.deny.len(), 1);
        assert!(!client.rules.bind.contain(8080));
        assert_eq!((&client.rules.accept_from, &client.rules.names), (&None, &None));
        let [pool, brought]: [IpAddr; 2] = [[192, 0, 2, 16].into(), [203, 0, 113, 9].into()];
        assert_eq!(
            client.grant.addresses,
            Addresses { shared: None, pool: vec![pool], brought: vec![brought] }
        );
        assert_eq!(policy.client(&Identity(vec![0; 32])), None, "it is not open");
        assert!(policy.needs_foreign_addresses() && !policy.needs_low_ports());
        let open = policy.open();
        let other = open.client(&Identity(Vec::new())).expect("whoever comes");
        assert_eq!(other.grant.addresses, Addresses::shared([192, 0, 2, 1].into()));
    }

    /// A client can use the shared address although the others have their own by default.
    #[test]
    fn shared_beside_a_pool() {
        let text = format!(
            "address = \"192.0.2.1\"\npool = [\"192.0.2.16\"]\n[defaults]\naddress = \"pool\"\n[clients.a]\nkey = \"{KEY}\"\naddress = \"shared\"\n"
        );
        let policy = Policy::parse("p.toml", &text).expect("a policy");
        let client = policy.client(&identity()).expect("may come");
        assert_eq!(client.grant.addresses, Addresses::shared([192, 0, 2, 1].into()));
    }

    /// A client's own lists replace those of the defaults. If a list contains `any`, it matches
    /// everything.
    #[test]
    fn who_may_connect_and_which_names() {
        let rules = |rest: &str| {
            let text = format!(
                "[defaults]\naccept-from = [\"192.0.2.0/24\"]\nnames = [\"*.example.org\"]\n[clients.a]\nkey = \"{KEY}\"\n{rest}"
            );
            let policy = Policy::parse("p.toml", &text).unwrap_or_else(|error| panic!("{error}"));
            policy.client(&identity()).expect("may come").rules.clone()
        };
        let default = rules("");
        assert!(
            default.admits([192, 0, 2, 7].into()).is_ok() && default.admits([192, 0, 3, 7].into()).is_err()
        );
        assert!(default.may_look_up("www.example.org") && !default.may_look_up("example.net"));
        let open = rules("accept-from = [\"192.0.2.0/24\", \"any\"]\nnames = [\"any\"]\n");
        assert!(open.admits([192, 0, 3, 7].into()).is_ok() && open.may_look_up("example.net"));
        let closed = rules("accept-from = []\nnames = []\n");
        assert!(closed.admits([192, 0, 2, 7].into()).is_err() && !closed.may_look_up("www.example.org"));
    }

    /// The example in the documentation above is a valid policy.
    #[test]
    fn the_example_is_a_policy() {
        let documentation = include_str!("file.rs").lines().take_while(|line| line.starts_with("//!"));
        let text = documentation.skip_while(|line| !line.contains("```toml")).skip(1);
        let text: String = text
            .take_while(|line| !line.contains("```"))
            .map(|line| line.trim_start_matches("//!").to_owned() + "\n")
            .collect();
        let policy = Policy::parse("example", &text).unwrap_or_else(|error| panic!("{error}"));
        let client = policy.client(&identity()).expect("may come");
        assert_eq!(client.grant.addresses.pool, [IpAddr::from([192, 0, 2, 7])]);
    }

    /// Errors name the place, the mistake and a correct form.
    #[test]
    fn errors_name_their_place() {
        let client = |rest: &str| format!("[clients.a]\nkey = \"{KEY}\"\n{rest}");
        for (text, place, reason) in [
            ("adress = \"192.0.2.1\"".to_owned(), "p:1:1", "expected one of"),
            ("address = \"192.0.2\"".to_owned(), "p:1:11", "`192.0.2` is not an IP address"),
            ("[clients.a]\nsockets = 3".to_owned(), "p:1:", "client `a` has no key"),
            ("[clients.a]\nkey = \"abc\"".to_owned(), "p:2:7", "`abc` is not a public key"),
            (format!("[defaults]\nkey = \"{KEY}\""), "p:2:7", "a key belongs to one client"),
            (client("allow = [\"any\", \"10.0.0.1/8\"]"), "p:3:17", "write 10.0.0.0/8 for the network"),
            (client("bind = \"80-\""), "p:3:8", "is neither a port"),
            (client("address = \"mine\""), "p:3:11", "\"shared\" and \"pool\""),
            (client("address = \"pool\""), "p:3:11", "there is no pool"),
            (client("sockets = -1"), "p:3:11", "-1"),
            (
                client("accept-from = [\"any\", \"192.0.2.1/24\"]"),
                "p:3:23",
                "accept-from: `192.0.2.1/24` has bits",
            ),
            (client("accept-from = [\"192.0.2.0/24 80\"]"), "p:3:16", "accept-from: `192.0.2.0/24 80`"),
            (client("accept-from = \"any\""), "p:3:15", "expected a sequence"),
            (client("names = [\"*.example.org\", \"w*.net\"]"), "p:3:27", "names: `w*.net` is not a name"),
            (client("names = [7]"), "p:3:10", "7"),
            (client("buffers = \"64MB\""), "p:3:11", "4MiB"),
            (client("buffers = \"1KiB\""), "p:3:11", "expected at least the socket-buffer"),
            (client("socket-buffer = \"2GiB\""), "p:3:17", "4KiB to 1GiB"),
            (client(&format!("[clients.b]\nkey = \"{KEY}\"")), "p:4:7", "`a` and `b`"),
            (client("key = \"x\""), "p:3:1", "duplicate"),
        ] {
            let error = Policy::parse("p", &text).expect_err(&text).to_string();
            assert!(error.starts_with(place) && error.contains(reason), "{text}\n{error}");
        }
        let error = Policy::read(Path::new("/nowhere/policy.toml")).expect_err("no file").to_string();
        assert!(error.starts_with("/nowhere/policy.toml: No such file"), "{error}");
    }
}
