//! Attachments that outlive the process that made them: their programs are pinned in the BPF file system, one folder for each.
//!
//! Everything that is known of one is asked of the kernel, so that nothing can be out of date.

use crate::attach::{Lite, tracked};
use crate::{LiteError, Mode, Totals};
use libbpf_rs::query::{LinkTypeInfo, ProgInfoIter};
use libbpf_rs::{Link, MapHandle};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the BPF file system is mounted, by convention.
const FILE_SYSTEM: &str = "/sys/fs/bpf";
/// Our folder in it.
const FOLDER: &str = "lasthop-lite";
/// What a folder of ours holds besides links.
const TOTALS: &str = "totals";
const TRACKS: &str = "tracks";
/// A folder that says that the file system was mounted by us, and is to be unmounted with the last attachment.
const MOUNTED: &str = "lasthop-mounted-this";

/// An attachment, as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// By which rule it judges.
    pub mode: Mode,
    /// The kernel's number of the control group; it is the inode number of its directory.
    pub control_group: u64,
    /// Numbers of the interfaces, in the network namespace they were attached in.
    pub interfaces: Vec<u32>,
    /// What became of damaged segments.
    pub totals: Totals,
    /// Connections that are known.
    pub connections: u64,
    /// Those of them that accept damage.
    pub lite: u64,
}

/// Leaves the programs attached under this name when the process ends.
///
/// # Errors
/// If the name is taken or is no file name, or there is no BPF file system and none can be mounted.
pub fn keep(mut lite: Lite, name: &str) -> Result<(), LiteError> {
    let folder = folder_of(name)?;
    mount()?;
    let made = fs::create_dir_all(folder.parent().unwrap_or(&folder)).and_then(|()| fs::create_dir(&folder));
    made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => LiteError::Pin(format!(
            "there is an attachment `{name}` already: give this one another --name, or detach that one"
        )),
        _ => LiteError::Pin(format!("make {}: {error}", folder.display())),
    })?;
    lite.pin(&folder, TOTALS, TRACKS).inspect_err(|_| {
        // Half of one is none.
        let _ = remove(&folder);
        unmount_if_ours();
    })
}

/// All attachments.
///
/// # Errors
/// If the BPF file system cannot be read.
pub fn list() -> Result<Vec<Attachment>, LiteError> {
    let ours = Path::new(FILE_SYSTEM).join(FOLDER);
    let entries = match fs::read_dir(&ours) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LiteError::Pin(format!("read {}: {error}", ours.display()))),
    };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.into_iter().map(|name| read(&ours.join(&name), name)).collect()
}

/// Detaches what was left under this name.
///
/// # Errors
/// If there is no such attachment.
pub fn detach(name: &str) -> Result<(), LiteError> {
    let folder = folder_of(name)?;
    remove(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LiteError::Pin(format!(
            "there is no attachment `{name}`: lasthop lite status shows those that there are"
        )),
        _ => LiteError::Pin(format!("remove {}: {error}", folder.display())),
    })?;
    unmount_if_ours();
    Ok(())
}

fn folder_of(name: &str) -> Result<PathBuf, LiteError> {
    // The BPF file system allows no dots.
    let is_good = !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_good {
        Ok(Path::new(FILE_SYSTEM).join(FOLDER).join(name))
    } else {
        Err(LiteError::Pin(format!("`{name}` is no name: use letters, digits, - and _, 64 at most")))
    }
}

fn read(folder: &Path, name: String) -> Result<Attachment, LiteError> {
    let wrong = |error: libbpf_rs::Error| LiteError::Pin(format!("read {}: {error:#}", folder.display()));
    let mut control_group = 0;
    let mut interfaces = Vec::new();
    let mut judge = None;
    for entry in fs::read_dir(folder).map_err(|error| LiteError::Pin(error.to_string()))?.flatten() {
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
        name,
        mode: if is_thesis { Mode::Thesis } else { Mode::Recovery },
        control_group,
        interfaces,
        totals: crate::attach::totals_in(&map(TOTALS)?)?,
        connections,
        lite,
    })
}

fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(folder)
}

/// Mounts the file system where no system service has.
fn mount() -> Result<(), LiteError> {
    let at = Path::new(FILE_SYSTEM);
    if is_mounted(at) {
        return Ok(());
    }
    let wrong =
        |error: io::Error| LiteError::Pin(format!("mount the BPF file system at {FILE_SYSTEM}: {error}"));
    rustix::mount::mount("bpf", at, "bpf", rustix::mount::MountFlags::empty(), None)
        .map_err(|error| wrong(error.into()))?;
    fs::create_dir(at.join(MOUNTED)).map_err(wrong)
}

fn is_mounted(at: &Path) -> bool {
    /// `BPF_FS_MAGIC` (`linux/magic.h`).
    const MAGIC: i64 = 0xcafe_4a11;
    rustix::fs::statfs(at).is_ok_and(|its| its.f_type == MAGIC)
}

/// With the last attachment the folder goes, and the file system if nobody else wanted it.
fn unmount_if_ours() {
    let at = Path::new(FILE_SYSTEM);
    if fs::remove_dir(at.join(FOLDER)).is_ok() && fs::remove_dir(at.join(MOUNTED)).is_ok() {
        // Busy: somebody uses it by now.
        let _ = rustix::mount::unmount(at, rustix::mount::UnmountFlags::empty());
    }
}
