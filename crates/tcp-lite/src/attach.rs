//! Loads and attaches the programs.

use crate::{LiteError, Localization, Mode, Parameters, Settings, Totals};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, ProgramImpl};
use netlab::{Namespace, interface};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use tcx::{Header, Refusal};

#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "written by libbpf-cargo"
)]
#[allow(clippy::undocumented_unsafe_blocks, missing_docs, reason = "written by libbpf-cargo")]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/lite.skel.rs"));
}

pub(crate) use skeleton::types;
use skeleton::{LiteMaps, LiteSkel, LiteSkelBuilder};

/// TCP Lite, attached to a control group and to interfaces. It is detached on drop, and when the
/// process ends in any way.
pub struct Lite {
    // Links come first, so that they are dropped before the programs.
    links: Vec<Link>,
    skeleton: LiteSkel<'static>,
    mode: Mode,
}

impl std::fmt::Debug for Lite {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Lite")
            .field("mode", &self.mode)
            .field("links", &self.links.len())
            .finish_non_exhaustive()
    }
}

impl Lite {
    /// Loads the programs. Attaches those that follow connections and answer the socket options to
    /// the control group (v2) in this directory. From now on they know connections that processes
    /// of the group establish, and connections whose programs ask for Lite.
    ///
    /// # Errors
    /// If this user may not attach programs, if the kernel refuses them, or if the directory is not
    /// a control group of version 2.
    pub fn attach(control_group: &Path, settings: &Settings) -> Result<Self, LiteError> {
        let skeleton = load(settings).map_err(|error| Refusal::of(&error))?;
        let refused = |reason: String| LiteError::ControlGroup { path: control_group.to_owned(), reason };
        if !control_group.join("cgroup.procs").exists() {
            return Err(refused("not the directory of a control group".into()));
        }
        if !control_group.join("cgroup.controllers").exists() {
            return Err(refused(
                "it has version 1: choose a group of version 2, below the mount of type cgroup2".into(),
            ));
        }
        let directory = File::open(control_group).map_err(|error| refused(error.to_string()))?;
        let group = directory.as_raw_fd();
        let programs = &skeleton.progs;
        let links = [&programs.lite_connection, &programs.lite_setsockopt, &programs.lite_getsockopt]
            .into_iter()
            .map(|program| program.attach_cgroup(group).map_err(|error| refused(format!("{error:#}"))))
            .collect::<Result<_, _>>()?;
        Ok(Self { links, skeleton, mode: settings.parameters.mode })
    }

    /// Attaches to an interface of the calling thread's network namespace: segments that arrive
    /// there are judged from now on.
    ///
    /// # Errors
    /// If there is no such interface, or its packets have an unknown format.
    pub fn add_interface(&mut self, name: &str) -> Result<(), LiteError> {
        let refused = |reason: String| LiteError::Interface { name: name.to_owned(), reason };
        let found = Namespace::current().and_then(|namespace| interface::find(&namespace, name));
        let interface = found.map_err(|error| refused(error.to_string()))?;
        let programs = &self.skeleton.progs;
        let program = match (Header::of(interface.link_layer).map_err(refused)?, self.mode) {
            (Header::Ethernet, Mode::Recovery) => &programs.lite_recovery_ethernet,
            (Header::None, Mode::Recovery) => &programs.lite_recovery_ip,
            (Header::Ethernet, Mode::Thesis) => &programs.lite_thesis_ethernet,
            (Header::None, Mode::Thesis) => &programs.lite_thesis_ip,
        };
        self.links.push(tcx::attach(program, interface.index).map_err(|error| refused(error.to_string()))?);
        Ok(())
    }

    /// Returns the counters of damaged segments so far.
    ///
    /// # Errors
    /// Only if the kernel's map cannot be read.
    pub fn totals(&self) -> Result<Totals, LiteError> {
        totals_in(&self.skeleton.maps.bss)
    }

    pub(crate) fn maps(&self) -> &LiteMaps<'static> {
        &self.skeleton.maps
    }

    /// Returns the program that judges packets of Ethernet devices.
    pub(crate) fn ethernet_program(&self) -> &ProgramImpl<'static, libbpf_rs::Mut> {
        match self.mode {
            Mode::Recovery => &self.skeleton.progs.lite_recovery_ethernet,
            Mode::Thesis => &self.skeleton.progs.lite_thesis_ethernet,
        }
    }

    /// Pins links and maps in this folder of the BPF file system, so that they outlive `self`.
    pub(crate) fn pin(&mut self, folder: &Path, totals: &str, tracks: &str) -> Result<(), LiteError> {
        let wrong = |error: libbpf_rs::Error| {
            LiteError::Pin(format!("cannot pin objects in {}: {error:#}", folder.display()))
        };
        for (number, link) in self.links.iter_mut().enumerate() {
            link.pin(folder.join(format!("link-{number}"))).map_err(wrong)?;
        }
        let maps = &mut self.skeleton.maps;
        maps.bss.pin(folder.join(totals)).map_err(wrong)?;
        maps.tracks.pin(folder.join(tracks)).map_err(wrong)
    }
}

/// Reads the totals from the map that holds the programs' variables.
pub(crate) fn totals_in(map: &impl MapCore) -> Result<Totals, LiteError> {
    let wrong = |why: String| LiteError::Read(io::Error::other(why));
    let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|error| wrong(error.to_string()))?;
    let bytes = bytes.unwrap_or_default();
    if bytes.len() < size_of::<types::totals>() {
        return Err(wrong(format!(
            "they have {} bytes: another version of TCP Lite is attached",
            bytes.len()
        )));
    }
    // SAFETY: `totals` is plain data, valid for any bytes, and there are enough bytes.
    let totals: types::totals = unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) };
    let segments = totals.segments;
    Ok(Totals {
        damaged: segments.damaged,
        accepted: segments.accepted,
        confirmed: segments.confirmed,
        guessed: segments.guessed,
        out_of_order: segments.out_of_order,
        approximate: segments.approximate,
        bytes: segments.bytes,
        unverifiable: totals.unverifiable,
        untracked: totals.untracked,
        discarded: segments.discarded,
    })
}

/// Returns how many connections a map of tracks has, and how many of them accept damage.
pub(crate) fn tracked(map: &impl MapCore) -> libbpf_rs::Result<(u64, u64)> {
    let (mut all, mut lite) = (0, 0);
    for key in map.keys() {
        // A connection may have ended meanwhile.
        let Some(bytes) = map.lookup(&key, MapFlags::ANY)? else { continue };
        all += 1;
        lite += u64::from(bytes.get(offset_of!(types::track, lite)).is_some_and(|lite| *lite != 0));
    }
    Ok((all, lite))
}

fn load(settings: &Settings) -> libbpf_rs::Result<LiteSkel<'static>> {
    tcx::listen();
    // libbpf keeps a pointer to the object here. It must outlive the skeleton, which must not
    // borrow from a stack frame. So this leaks one pointer per attachment.
    let object = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = LiteSkelBuilder::default().open(object)?;
    let programs = &mut open.progs;
    programs.lite_recovery_ethernet.set_autoload(settings.parameters.mode == Mode::Recovery);
    programs.lite_recovery_ip.set_autoload(settings.parameters.mode == Mode::Recovery);
    programs.lite_thesis_ethernet.set_autoload(settings.parameters.mode == Mode::Thesis);
    programs.lite_thesis_ip.set_autoload(settings.parameters.mode == Mode::Thesis);
    let data = open.maps.rodata_data.as_deref_mut().expect("the programs have tunables");
    data.tunables = tunables(settings);
    open.load()
}

fn tunables(settings: &Settings) -> types::tunables {
    let Parameters { localization, window, guess_interval_ns, guess_burst, .. } = settings.parameters;
    let (localization, bits) = match localization {
        Localization::Exact => (0, 0),
        Localization::SourcePort => (1, 0),
        Localization::Bits(bits) => (2, bits),
    };
    types::tunables {
        localization,
        bits,
        window,
        guess_burst,
        guess_interval_ns,
        every_connection: u8::from(settings.every_connection.is_some()),
        policy: settings.every_connection.unwrap_or_default() as u8,
        ..types::tunables::default()
    }
}
