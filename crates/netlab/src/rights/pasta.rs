//! The network through pasta, which translates between a private namespace and ordinary sockets of
//! the user.
//!
//! The user must start pasta *outside* the user namespace to which it attaches. So first a shell is
//! started, which waits for a line and then becomes pasta. Its pid is known and recorded before
//! there is anything to clean up. If this process dies before it has sent the line, the shell reads
//! end of file and ends.

use crate::error::{Error, Result, Trying};
use crate::process::ProcessId;
use crate::state::{Made, Run};
use crate::{Namespace, route};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Address where pasta answers DNS for a caller whose name server listens on a loopback address.
///
/// It is link-local, so that it hides no other address.
const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 53);
/// Time limit for pasta, which reads the host's addresses and sets up the namespace in a few
/// milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A shell that waits to become pasta.
#[derive(Debug)]
pub(super) struct Waiting {
    child: Child,
    forwards_dns: bool,
}

/// A running pasta.
#[derive(Debug)]
pub(super) struct Pasta {
    child: Child,
    gateway: IpAddr,
    forwards_dns: bool,
}

/// Returns a note if pasta cannot forward echo requests here.
///
/// pasta sends them through ICMP sockets, which the kernel grants only to groups in the range of a
/// sysctl (icmp(7)). Call this while the process is still in the caller's namespaces.
pub(super) fn without_ping() -> Option<String> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ping_group_range").ok()?;
    let own = rustix::process::getegid().as_raw();
    let others = rustix::process::getgroups().unwrap_or_default();
    let groups: Vec<u32> = std::iter::once(own).chain(others.iter().map(|group| group.as_raw())).collect();
    (!is_allowed(&range, &groups)).then(|| {
        let range = range.split_whitespace().collect::<Vec<_>>().join(" ");
        format!(
            "ping reaches no further than host.lasthop: net.ipv4.ping_group_range ({range}) includes none of this user's groups; \
             as root: sysctl -w net.ipv4.ping_group_range=\"{own} {own}\""
        )
    })
}

/// Returns whether a range of groups, as the kernel writes it, contains one of `groups`.
fn is_allowed(range: &str, groups: &[u32]) -> bool {
    let mut ends = range.split_whitespace().filter_map(|end| end.parse::<u32>().ok());
    let (Some(first), Some(last)) = (ends.next(), ends.next()) else { return false };
    groups.iter().any(|group| (first..=last).contains(group))
}

impl Waiting {
    pub(super) fn start(run: &mut Run, program: &Path) -> Result<Self> {
        let resolv_conf = std::fs::read_to_string(crate::names::RESOLV_CONF).unwrap_or_default();
        let forwards_dns = crate::names::servers(&resolv_conf).first().is_some_and(IpAddr::is_loopback);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "read -r go && exec \"$0\" \"$@\" </dev/null"]).arg(program);
        // In the foreground, so that its pid stays the same; no forwarded ports in either
        // direction.
        command.args(["--foreground", "--quiet", "--config-net"]);
        command.args(["-t", "none", "-u", "none", "-T", "none", "-U", "none"]);
        if forwards_dns {
            command.args(["--dns-forward", &NAME_SERVER.to_string()]);
        }
        command.arg(std::process::id().to_string());
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .trying(|| format!("start {}", program.display()))?;
        let waiting = Self { child, forwards_dns };
        if let Some(process) = ProcessId::of(waiting.child.id()) {
            run.record(Made::Process { process, what: "pasta".into() })?;
        }
        Ok(waiting)
    }

    /// Lets pasta attach to this process's namespaces, and waits for the default route that it sets
    /// up.
    pub(super) fn attach(mut self) -> Result<Pasta> {
        let go = self.child.stdin.take().expect("piped").write_all(b"go\n");
        go.trying(|| "start pasta".into())?;
        let here = Namespace::current()?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let routes = route::list(&here)?;
            let default =
                routes.iter().find(|its| its.destination == route::Prefix::DEFAULT_V4 && its.via.is_some());
            if let Some(gateway) = default.and_then(|route| route.via) {
                return Ok(Pasta { child: self.child, gateway, forwards_dns: self.forwards_dns });
            }
            if let Some(status) = self.child.try_wait().trying(|| "wait for pasta".into())? {
                let mut message = String::new();
                let _ = self.child.stderr.take().expect("piped").read_to_string(&mut message);
                // In a container it cannot log, and says so after each message.
                let said: Vec<_> =
                    message.lines().filter(|line| !line.ends_with("bytes to syslog")).collect();
                let message = format!("{status}: {}", said.join("; "));
                return Err(Error::Program { program: "pasta".into(), message });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(Error::missing("pasta set up no default route", "check that the host has one"))
    }
}

impl Pasta {
    /// Returns the host's address behind pasta: pasta's gateway stands for the host's loopback
    /// address.
    pub(super) fn gateway(&self) -> IpAddr {
        self.gateway
    }

    /// Returns the name server to use if the caller's own is on a loopback address.
    pub(super) fn name_server(&self) -> Option<IpAddr> {
        self.forwards_dns.then_some(IpAddr::V4(NAME_SERVER))
    }
}

impl Drop for Pasta {
    /// Reaps pasta; the keeper would kill it, too.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_may_ping() {
        assert!(!is_allowed("1\t0\n", &[0, 1, 1000]), "the kernel's default is nobody");
        assert!(is_allowed("0\t2147483647\n", &[1000]));
        assert!(is_allowed("100 100", &[1000, 100]));
        assert!(!is_allowed("100 100", &[1000]));
        assert!(!is_allowed("", &[0]));
    }
}
