//! Interfaces and namespaces that are behind a link like the program ([`attachment`]).
//!
//! The wireless host routes between them and the link, and the caller masquerades their packets, as
//! it does for the wireless host.

use super::build::End;
use crate::attachment::{self, Attached};
use crate::error::Result;
use crate::plan::Addresses;
use crate::route::{self, Metrics, Route};
use crate::state::Run;
use crate::{nat, sysctl};

/// Attaches all of them, and makes the wireless host their router.
pub(super) fn attach(
    run: &mut Run,
    [inside, outside]: [End<'_>; 2],
    addresses: Addresses,
    metrics: &Metrics,
    attached: &[Attached],
) -> Result<()> {
    for one in attached {
        attachment::attach(run, inside.namespace, outside.namespace, metrics, one)?;
        for (block, gateway) in one.blocks() {
            let router = if gateway.is_ipv4() { addresses.inside.into() } else { addresses.inside6.into() };
            route::add(outside.namespace, &Route::by_way_of(block, router, outside.index, metrics.clone()))?;
        }
    }
    if !attached.is_empty() {
        for (key, value) in nat::sysctls(attached.iter().any(|one| one.ipv6)) {
            sysctl::write(inside.namespace, key, value)?;
        }
    }
    Ok(())
}
