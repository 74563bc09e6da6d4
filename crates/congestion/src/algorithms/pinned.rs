//! What was loaded and stays: one folder in the BPF file system for each name, with the link that
//! registers it and its parameters.

use super::{Algorithm, AlgorithmError, CATALOGUE, available};
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle, MapType, Object};
use netlab::bpf_files;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Our place in the BPF file system.
const PLACE: &str = "lasthop/congestion";
/// What is in a folder.
const LINK: &str = "link";
const PARAMETERS: &str = "parameters";
/// The kernel unregisters a moment after the last pin is gone (RCU).
const PATIENCE: Duration = Duration::from_secs(5);

/// A congestion control of ours that is registered.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Under which name.
    pub name: String,
    /// Which one it is.
    pub algorithm: &'static Algorithm,
    /// Its parameters, all of them.
    pub parameters: Vec<(&'static str, u32)>,
    /// Connections that use it and namespaces whose default it is, listening sockets included.
    pub users: u32,
}

/// Leaves it registered when the process ends.
pub(super) fn keep(object: &mut Object, mut link: Link, name: &str) -> Result<(), AlgorithmError> {
    let folder = folder_of(name);
    bpf_files::create(&folder)
        .map_err(|error| AlgorithmError::Pin(format!("make {}: {error}", folder.display())))?;
    let wrong =
        |error: libbpf_rs::Error| AlgorithmError::Pin(format!("pin in {}: {error:#}", folder.display()));
    let mut pin = || {
        let data = object.maps_mut().find(|map| map.map_type() == MapType::Array);
        data.expect("each of them has parameters").pin(folder.join(PARAMETERS)).map_err(wrong)?;
        link.pin(folder.join(LINK)).map_err(wrong)
    };
    pin().inspect_err(|_| {
        // Half of one is none.
        let _ = bpf_files::remove(&folder);
    })
}

/// Whether a name is one of ours.
pub(super) fn is_kept(name: &str) -> bool {
    folder_of(name).exists()
}

/// All that are loaded.
///
/// # Errors
/// If the BPF file system cannot be read: it is root's.
pub fn loaded() -> Result<Vec<Loaded>, AlgorithmError> {
    let names = bpf_files::list(PLACE).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ => AlgorithmError::Pin(format!("read {}/{PLACE}: {error}", bpf_files::ROOT)),
    })?;
    names.iter().filter_map(|name| bpf_files::settled(&folder_of(name), || info(name))).collect()
}

/// What is loaded under this name.
///
/// # Errors
/// If nothing of ours is.
pub fn info(name: &str) -> Result<Loaded, AlgorithmError> {
    let folder = folder_of(name);
    if !super::loading::is_name(name) || !folder.exists() {
        return Err(not_loaded(name));
    }
    bpf_files::check(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ => AlgorithmError::Pin(error.to_string()),
    })?;
    // What libbpf would print is in its errors.
    libbpf_rs::set_print(None);
    let wrong = |error: libbpf_rs::Error| match error.kind() {
        ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ => AlgorithmError::Pin(format!("read {}: {error:#}", folder.display())),
    };
    let structure = structure_of(&folder).map_err(wrong)?;
    let algorithm = CATALOGUE.iter().find(|known| structure.name() == known.name);
    let algorithm = algorithm.ok_or_else(|| {
        AlgorithmError::Pin(format!("{} is of another version of lasthop: unload it", folder.display()))
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

/// Takes the name back: no new connection can choose it. How many still used it then: connections
/// keep it until they are closed, namespaces until they have another default.
///
/// # Errors
/// If nothing of ours has this name.
pub fn unload(name: &str) -> Result<u32, AlgorithmError> {
    let folder = folder_of(name);
    if !super::loading::is_name(name) || !folder.exists() {
        return Err(not_loaded(name));
    }
    let users = structure_of(&folder).map_or(0, |structure| users_of(&structure));
    bpf_files::remove(&folder)
        .map_err(|error| AlgorithmError::Pin(format!("remove {}: {error}", folder.display())))?;
    let end = Instant::now() + PATIENCE;
    while available()?.iter().any(|known| known == name) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(users)
}

/// The map of the structure that is registered.
fn structure_of(folder: &Path) -> libbpf_rs::Result<MapHandle> {
    let link = Link::open(folder.join(LINK))?;
    let LinkTypeInfo::StructOps(of) = link.info()?.info else {
        return Err(libbpf_rs::Error::from(io::Error::other("the link is of another kind")));
    };
    MapHandle::from_map_id(of.map_id)
}

/// The kernel counts references to the structure, but for those by descriptors; the link is one of
/// them.
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
        "nothing is loaded".to_owned()
    } else {
        format!("loaded are {}", names.join(", "))
    };
    AlgorithmError::NotLoaded { name: name.to_owned(), hint }
}
