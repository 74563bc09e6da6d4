//! NAT between the caller's network and the program behind a link.
//!
//! Everything is in one nftables table of its own, so that one command removes it, and no rule of anybody else is touched.

use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use std::fmt::Write as _;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

/// The rules of one link.
#[derive(Debug, Clone)]
pub struct Nat<'a> {
    /// Name of the table.
    pub table: &'a str,
    /// The interface of the link in the caller's namespace.
    pub interface: &'a str,
    /// Address of the program behind the link.
    pub inside: Ipv4Addr,
    /// TCP and UDP ports of the caller's addresses that lead to the same port behind the link.
    pub publish: &'a [u16],
}

impl Nat<'_> {
    /// The table as nft reads it.
    fn rules(&self) -> String {
        let Self { table, interface, inside, publish } = self;
        let mut rules = format!(
            "table inet {table} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {inside} oifname != \"{interface}\" masquerade
    ip saddr 127.0.0.0/8 oifname \"{interface}\" masquerade
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    iifname \"{interface}\" accept
    oifname \"{interface}\" accept
  }}
"
        );
        if !publish.is_empty() {
            let ports: Vec<_> = publish.iter().map(u16::to_string).collect();
            let ports = ports.join(", ");
            for (chain, hook) in [("prerouting", "prerouting"), ("local", "output")] {
                // Writing to a String cannot fail.
                let _ = write!(
                    rules,
                    "  chain {chain} {{
    type nat hook {hook} priority dstnat; policy accept;
    iifname != \"{interface}\" fib daddr type local meta l4proto {{ tcp, udp }} th dport {{ {ports} }} dnat ip to {inside}
  }}
"
                );
            }
        }
        rules.push_str("}\n");
        rules
    }

    /// Makes the table in `namespace`.
    pub fn make(&self, namespace: &Namespace) -> Result<(), NetlabError> {
        run(namespace, &self.rules(), &format!("make the NAT table {}", self.table))
    }
}

/// Removes a table; it is no error if there is none.
pub fn remove(namespace: &Namespace, table: &str) -> Result<(), NetlabError> {
    // Adding a table that is there changes nothing, so that deleting it always finds one.
    run(
        namespace,
        &format!("add table inet {table}\ndelete table inet {table}\n"),
        &format!("remove the NAT table {table}"),
    )
}

/// Whether a table is there.
pub fn exists(namespace: &Namespace, table: &str) -> Result<bool, NetlabError> {
    namespace.enter(|| {
        let listed = Command::new("nft").args(["list", "tables", "inet"]).output().attempt("run nft")?;
        let tables = String::from_utf8_lossy(&listed.stdout);
        Ok(tables.lines().any(|line| line.split_whitespace().last() == Some(table)))
    })
}

fn run(namespace: &Namespace, script: &str, attempted: &str) -> Result<(), NetlabError> {
    namespace.enter(|| {
        let mut nft = Command::new("nft")
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .attempt(format!("{attempted}: run nft"))
            .map_err(|error| error.or_else_do("install nftables (apt-get install nftables)"))?;
        if let Some(mut input) = nft.stdin.take() {
            input.write_all(script.as_bytes()).attempt(attempted)?;
        }
        let output = nft.wait_with_output().attempt(attempted)?;
        if output.status.success() {
            return Ok(());
        }
        Err(NetlabError::new(attempted, String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    })
}
