//! Checks that create network objects, all in namespaces of their own.

use super::{Check, Places};
use crate::error::{Error, Result, Trying};
use crate::nat::{self, Rules};
use crate::route::{self, Metrics, Prefix, Route};
use crate::tun::{self, Tun};
use crate::{Namespace, address, interface, names, plan, sysctl};
use rustix::thread::UnshareFlags;
use std::net::IpAddr;

/// Checks a namespace, TUN devices, a route, an NFT table, sysctls, a mount namespace and IPv6.
pub(super) fn all(places: &Places) -> Vec<Check> {
    let namespace = Namespace::new();
    let made = namespace.as_ref().map(|_| "can be created".to_owned());
    let mut checks = vec![Check {
        name: "network namespace".into(),
        essential: true,
        outcome: made.map_err(ToString::to_string),
    }];
    let Ok(namespace) = namespace else { return checks };
    let end = end(&namespace, places, false);
    let opened = end.as_ref().map(|_| places.tun.display().to_string());
    checks.push(Check {
        name: "TUN device".into(),
        essential: true,
        outcome: opened.map_err(ToString::to_string),
    });
    checks.push(Check::new("route with congestion control", true, congestion_control(&namespace, places)));
    checks.push(Check::new("nftables", true, table(&namespace, places)));
    checks.push(Check::new("sysctls", true, forwarding(&namespace)));
    checks.push(Check::new("mount namespace", true, overlay()));
    let whole = end.and_then(|_| self::end(&Namespace::new()?, places, true));
    checks.push(Check::new(
        "whole segments",
        false,
        whole.map(|_| "virtio header and segmentation offload".into()),
    ));
    let six = sysctl::has_ipv6(&namespace).then(|| "enabled".to_owned());
    let no_six =
        || Error::missing("no IPv6", "to carry IPv6, enable it: sysctl -w net.ipv6.conf.all.disable_ipv6=0");
    checks.push(Check::new("IPv6", false, six.ok_or_else(no_six)));
    checks
}

fn end(namespace: &Namespace, places: &Places, whole_segments: bool) -> Result<Tun> {
    let options =
        tun::TunOptions { whole_segments, device: places.tun.clone(), ..tun::TunOptions::default() };
    Tun::open(namespace, &options)
}

fn congestion_control(namespace: &Namespace, places: &Places) -> Result<String> {
    interface::loopback_up(namespace)?;
    let own = IpAddr::V4(plan::choose(&[])?.outside);
    let index = interface::LOOPBACK;
    address::add(namespace, address::Address { index, address: own, prefix_length: 32 })?;
    let metrics = Metrics { congestion_control: places.congestion_control.clone(), ..Metrics::default() };
    let to = Prefix::host(IpAddr::V4(plan::choose(&[])?.inside));
    route::add(namespace, &Route::on_link(to, index, metrics))?;
    let available = sysctl::read(namespace, "net.ipv4.tcp_available_congestion_control")?;
    Ok(format!("{} (available: {available})", places.congestion_control))
}

fn table(namespace: &Namespace, places: &Places) -> Result<String> {
    let nft = places.nft.as_ref().filter(|path| path.is_file()).ok_or_else(nat::not_installed)?;
    let publish = ["8000".parse()?];
    let addresses = plan::choose(&[])?;
    let rules = Rules {
        table: "lasthop_check",
        device: "lo",
        addresses,
        ipv6: true,
        echo: None,
        publish: &publish,
        networks: &[],
    };
    nat::add_with(nft, namespace, &rules)?;
    if !nat::remove(namespace, rules.table)? {
        return Err(Error::missing("nft added a table, but cannot find it again", "update nftables"));
    }
    Ok(format!("{}: address translation in family inet", nft.display()))
}

fn forwarding(namespace: &Namespace) -> Result<String> {
    sysctl::calm(namespace)?;
    for (key, value) in nat::sysctls(false) {
        sysctl::write(namespace, key, value)?;
    }
    Ok("can be set per namespace".into())
}

fn overlay() -> Result<String> {
    crate::namespace::on_own_thread(|| {
        // SAFETY: CLONE_FS and CLONE_NEWNS leave the file descriptor table shared; only this
        // short-lived thread is changed.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS | UnshareFlags::NEWNS) }
            .trying(|| "create a mount namespace".into())?;
        names::Overlays::default().apply()?;
        Ok("host names behind a link can be private".into())
    })
}
