//! Attachments that outlive their process: their programs are pinned in the BPF file system, one
//! folder per attachment.
//!
//! All information on an attachment comes from the kernel, so it is never out of date.

use crate::attach::{Lite, tracked};
use crate::{LiteError, Mode, Totals};
use libbpf_rs::query::{LinkTypeInfo, ProgInfoIter};
use libbpf_rs::{Link, MapHandle};
use netlab::bpf_files;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Our folder in the BPF file system.
const PLACE: &str = "lasthop-lite";
/// Files of an attachment's folder besides links.
const TOTALS: &str = "totals";
const TRACKS: &str = "tracks";

/// A pinned attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// The rules by which it judges.
    pub mode: Mode,
    /// The kernel's id of the control group, which is the inode number of its directory.
    pub control_group: u64,
    /// Indexes of the interfaces, in the network namespace in which they were attached.
    pub interfaces: Vec<u32>,
    /// Counters of damaged segments.
    pub totals: Totals,
    /// Number of known connections.
    pub connections: u64,
    /// Number of these connections that accept damage.
    pub lite: u64,
}

/// Pins an attachment under this name, so that it stays when the process ends.
///
/// # Errors
/// If the name is taken or invalid, or if there is no BPF file system and none can be mounted.
pub fn keep(mut lite: Lite, name: &str) -> Result<(), LiteError> {
    let folder = folder_of(name)?;
    bpf_files::create(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            LiteError::Pin(format!("attachment `{name}` already exists: choose another --name, or detach it"))
        }
        _ => LiteError::Pin(format!("cannot create {}: {error}", folder.display())),
    })?;
    lite.pin(&folder, TOTALS, TRACKS).inspect_err(|_| {
        // Leave no partly pinned attachment behind.
        let _ = bpf_files::remove(&folder);
    })
}

/// Returns all attachments.
///
/// # Errors
/// If the BPF file system cannot be read.
pub fn list() -> Result<Vec<Attachment>, LiteError> {
    let names = bpf_files::list(PLACE).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => LiteError::Rights(error.to_string()),
        _ => LiteError::Pin(format!("cannot read {}/{PLACE}: {error}", bpf_files::ROOT)),
    })?;
    let attachments = names.iter().filter_map(|name| {
        let folder = bpf_files::folder(PLACE, name);
        bpf_files::settled(&folder, || read(&folder, name))
    });
    attachments.collect()
}

/// Detaches the attachment of this name.
///
/// # Errors
/// If there is no such attachment.
pub fn detach(name: &str) -> Result<(), LiteError> {
    let folder = folder_of(name)?;
    bpf_files::remove(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LiteError::Pin(format!(
            "there is no attachment `{name}`: `lasthop tcp-lite status` lists all attachments"
        )),
        io::ErrorKind::PermissionDenied => LiteError::Rights(error.to_string()),
        _ => LiteError::Pin(format!("cannot remove {}: {error}", folder.display())),
    })
}

fn folder_of(name: &str) -> Result<PathBuf, LiteError> {
    if bpf_files::is_name(name, 64) {
        Ok(bpf_files::folder(PLACE, name))
    } else {
        Err(LiteError::Pin(format!(
            "`{name}` cannot be the name of an attachment: use letters, digits, - and _, 64 at most"
        )))
    }
}

fn read(folder: &Path, name: &str) -> Result<Attachment, LiteError> {
    let wrong =
        |error: libbpf_rs::Error| LiteError::Pin(format!("cannot read {}: {error:#}", folder.display()));
    let mut control_group = 0;
    let mut interfaces = Vec::new();
    let mut judge = None;
    for entry in bpf_files::check(folder)
        .and_then(|()| fs::read_dir(folder))
        .map_err(|error| LiteError::Pin(format!("cannot read {}: {error}", folder.display())))?
        .flatten()
    {
        if entry.file_name() == TOTALS || entry.file_name() == TRACKS {
            continue;
        }
        let info = Link::open(entry.path()).and_then(|link| link.info()).map_err(wrong)?;
        match info.info {
            LinkTypeInfo::Cgroup(group) => control_group = group.cgroup_id,
            LinkTypeInfo::Tcx(tcx) => {
                interfaces.push(tcx.ifindex);
                judge = Some(info.prog_id);
            }
            _ => {}
        }
    }
    interfaces.sort_unstable();
    let is_thesis = ProgInfoIter::default().any(|program| {
        Some(program.id) == judge && program.name.to_string_lossy().starts_with("lite_thesis")
    });
    let map = |name| MapHandle::from_pinned_path(folder.join(name)).map_err(wrong);
    let (connections, lite) = tracked(&map(TRACKS)?).map_err(wrong)?;
    Ok(Attachment {
        name: name.to_owned(),
        mode: if is_thesis { Mode::Thesis } else { Mode::Recovery },
        control_group,
        interfaces,
        totals: crate::attach::totals_in(&map(TOTALS)?)?,
        connections,
        lite,
    })
}
