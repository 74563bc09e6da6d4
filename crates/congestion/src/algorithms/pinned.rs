//! Loaded congestion controls: each name has a folder in the BPF file system with the link that
//! registers it and its parameters.

use super::{Algorithm, AlgorithmError, CATALOGUE, available};
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle, MapType, Object};
use netlab::bpf_files;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Our folder in the BPF file system.
const PLACE: &str = "lasthop/congestion";
/// Files in a name's folder.
const LINK: &str = "link";
const PARAMETERS: &str = "parameters";
/// Longest wait for the kernel to unregister a name after its last pin is removed (RCU).
const PATIENCE: Duration = Duration::from_secs(5);

/// A registered congestion control that lasthop loaded.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Name under which it is registered.
    pub name: String,
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// All its parameters.
    pub parameters: Vec<(&'static str, u32)>,
    /// Number of connections that use it, and of namespaces that have it as default. Listening
    /// sockets count too.
    pub users: u32,
}

/// Pins a registered algorithm, so that it stays registered when the process ends.
pub(super) fn keep(object: &mut Object, mut link: Link, name: &str) -> Result<(), AlgorithmError> {
    let folder = folder_of(name);
    bpf_files::create(&folder)
        .map_err(|error| AlgorithmError::Pin(format!("cannot create {}: {error}", folder.display())))?;
    let wrong = |error: libbpf_rs::Error| {
        AlgorithmError::Pin(format!("cannot pin objects in {}: {error:#}", folder.display()))
    };
    let mut pin = || {
        let data = object.maps_mut().find(|map| map.map_type() == MapType::Array);
        data.expect("each of them has parameters").pin(folder.join(PARAMETERS)).map_err(wrong)?;
        link.pin(folder.join(LINK)).map_err(wrong)
    };
    pin().inspect_err(|_| {
        // Leave no partly pinned algorithm behind.
        let _ = bpf_files::remove(&folder);
    })
}

/// Returns whether lasthop loaded a congestion control of this name.
pub(super) fn is_kept(name: &str) -> bool {
    folder_of(name).exists()
}

/// Returns all congestion controls that lasthop loaded.
///
/// # Errors
/// If the BPF file system cannot be read, which takes root.
pub fn loaded() -> Result<Vec<Loaded>, AlgorithmError> {
    let names = bpf_files::list(PLACE).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ => AlgorithmError::Pin(format!("cannot read {}/{PLACE}: {error}", bpf_files::ROOT)),
    })?;
    names.iter().filter_map(|name| bpf_files::settled(&folder_of(name), || info(name))).collect()
}

/// Returns the congestion control that lasthop loaded under this name.
///
/// # Errors
/// If lasthop loaded none under this name, or its objects cannot be read.
pub fn info(name: &str) -> Result<Loaded, AlgorithmError> {
    let folder = folder_of(name);
    if !super::loading::is_name(name) || !folder.exists() {
        return Err(not_loaded(name));
    }
    bpf_files::check(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ => AlgorithmError::Pin(format!("cannot read {}: {error}", folder.display())),
    })?;
    // libbpf's messages are contained in its errors.
    libbpf_rs::set_print(None);
    let wrong = |error: libbpf_rs::Error| match error.kind() {
        ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ => AlgorithmError::Pin(format!("cannot read {}: {error:#}", folder.display())),
    };
    let structure = structure_of(&folder).map_err(wrong)?;
    let algorithm = CATALOGUE.iter().find(|known| structure.name() == known.name);
    let algorithm = algorithm.ok_or_else(|| {
        AlgorithmError::Pin(format!(
            "{} was loaded by another version of lasthop: unload it",
            folder.display()
        ))
    })?;
    let data = MapHandle::from_pinned_path(folder.join(PARAMETERS))
        .and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY))
        .map_err(wrong)?
        .unwrap_or_default();
    let layout = algorithm.layout();
    let value = |name| layout.value(name, &data).unwrap_or_default();
    let parameters = algorithm.parameters.iter().map(|parameter| (parameter.name, value(parameter.name)));
    Ok(Loaded {
        name: name.to_owned(),
        algorithm,
        parameters: parameters.collect(),
        users: users_of(&structure),
    })
}

/// Unregisters a name, so that no new connection can choose it. Returns the number of users at that
/// moment: connections keep the algorithm until they are closed, namespaces until they have another
/// default.
///
/// # Errors
/// If lasthop loaded none under this name, or its objects cannot be removed.
pub fn unload(name: &str) -> Result<u32, AlgorithmError> {
    let folder = folder_of(name);
    if !super::loading::is_name(name) || !folder.exists() {
        return Err(not_loaded(name));
    }
    let users = structure_of(&folder).map_or(0, |structure| users_of(&structure));
    bpf_files::remove(&folder)
        .map_err(|error| AlgorithmError::Pin(format!("cannot remove {}: {error}", folder.display())))?;
    let end = Instant::now() + PATIENCE;
    while available()?.iter().any(|known| known == name) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(users)
}

/// Returns the map of the registered structure.
fn structure_of(folder: &Path) -> libbpf_rs::Result<MapHandle> {
    let link = Link::open(folder.join(LINK))?;
    let LinkTypeInfo::StructOps(of) = link.info()?.info else {
        return Err(libbpf_rs::Error::from(io::Error::other("the link is not a struct_ops link")));
    };
    MapHandle::from_map_id(of.map_id)
}

/// Returns the kernel's count of references to the structure, which excludes file descriptors,
/// minus one for the link.
fn users_of(structure: &MapHandle) -> u32 {
    let value = structure.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
    let count = value.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
    count.saturating_sub(1)
}

fn folder_of(name: &str) -> PathBuf {
    bpf_files::folder(PLACE, name)
}

fn not_loaded(name: &str) -> AlgorithmError {
    let names = bpf_files::list(PLACE).unwrap_or_default();
    let hint = if names.is_empty() {
        "none is loaded".to_owned()
    } else {
        format!("loaded are {}", names.join(", "))
    };
    AlgorithmError::NotLoaded { name: name.to_owned(), hint }
}
