//! Determines how to intercept a program's calls: with the preload library, or only with seccomp.
//!
//! The loader preloads no library into a program that has no loader or that gains privileges when
//! it starts (ld.so(8), "Secure-execution mode"). A Go program makes system calls directly, even if
//! it is linked dynamically, so the library is loaded but intercepts nothing.

use crate::failure::Failure;
use crate::status::NotStarted;
use object::LittleEndian;
use object::elf::{EM_AARCH64, EM_RISCV, EM_X86_64, FileHeader64, Machine, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use std::env;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum depth of nested interpreters that the kernel follows (`BINPRM_MAX_RECURSION`).
const DEEPEST: usize = 5;
/// Section in which Go's linker writes the build's identity, for every link mode.
const GO_BUILD_ID: &[u8] = b".note.go.buildid";

/// Kind of an executable file, as far as interception depends on it.
#[derive(Debug, PartialEq, Eq)]
pub enum Program {
    /// An ELF file with a loader.
    Dynamic,
    /// An ELF file without a loader.
    Static,
    /// Compiled by Go, with or without a loader.
    Go,
    /// For another machine or another pointer size, which this machine's library does not fit.
    Foreign,
    /// A script, with its interpreter.
    Script(PathBuf),
    /// Anything else; the kernel reports the error.
    Unknown,
}

/// Means of intercepting a program's calls.
#[derive(Debug, PartialEq, Eq)]
pub enum Interposer {
    /// The preload library.
    Preload,
    /// Seccomp, with the reason why the library would not work.
    Seccomp(String),
}

/// Returns the file of a command, found as a shell finds it.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    env::split_paths(&path).map(|folder| folder.join(name)).find(|place| is_program(place)).ok_or_else(|| {
        NotStarted::not_found(format!("there is no command `{}` in PATH", name.display())).into()
    })
}

impl Program {
    /// Determines the kind of a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|error| NotStarted::new(&path.to_string_lossy(), &error))?;
        Ok(Self::of(file))
    }

    fn of(file: impl Read + Seek) -> Self {
        let cache = ReadCache::new(file);
        let octets = &cache;
        let length = octets.len().unwrap_or(0);
        let head = octets.read_bytes_at(0, length.min(256)).unwrap_or_default();
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|octet| *octet == b'\n').next().unwrap_or_default();
            let mut words = line.split(|octet| b" \t".contains(octet)).filter(|word| !word.is_empty());
            return words.next().map_or(Self::Unknown, |word| Self::Script(OsStr::from_bytes(word).into()));
        }
        if !head.starts_with(b"\x7fELF") {
            return Self::Unknown;
        }
        // Only 64-bit little-endian files for this machine are supported.
        let Ok(header) = FileHeader64::<LittleEndian>::parse(octets) else { return Self::Foreign };
        if header.e_machine(LittleEndian) != MACHINE {
            return Self::Foreign;
        }
        let Ok(headers) = header.program_headers(LittleEndian, octets) else { return Self::Unknown };
        let sections = header.sections(LittleEndian, octets);
        if sections.is_ok_and(|sections| sections.section_by_name(LittleEndian, GO_BUILD_ID).is_some()) {
            Self::Go
        } else if headers.iter().any(|header| header.p_type(LittleEndian) == PT_INTERP) {
            Self::Dynamic
        } else {
            Self::Static
        }
    }
}

/// This machine's number in ELF.
const MACHINE: Machine = if cfg!(target_arch = "aarch64") {
    EM_AARCH64
} else if cfg!(target_arch = "riscv64") {
    EM_RISCV
} else {
    EM_X86_64
};

/// Returns the means of intercepting this program's calls.
///
/// # Errors
/// If nothing can intercept them, with a suggestion.
pub fn interposer(program: &Program, path: &Path) -> Result<Interposer, Failure> {
    interposer_of(program, path, DEEPEST)
}

fn interposer_of(program: &Program, path: &Path, deepest: usize) -> Result<Interposer, Failure> {
    let shown = path.display();
    match program {
        Program::Foreign => {
            Err(format!("{shown} is built for another machine than this command, and so is its loader").into())
        }
        Program::Script(interpreter) if deepest > 0 => {
            interposer_of(&Program::read(interpreter)?, interpreter, deepest - 1)
        }
        Program::Dynamic | Program::Static | Program::Go
            if path.metadata().is_ok_and(|data| gains_rights(path, &data)) =>
        {
            Err(format!(
                "{shown} gains privileges when it starts (a set-user-ID bit or capabilities), so nothing can intercept its calls\nrun it as the user that it becomes"
            )
            .into())
        }
        Program::Static => Ok(Interposer::Seccomp(format!("{shown} is statically linked"))),
        Program::Go => Ok(Interposer::Seccomp(format!("{shown} was compiled by Go"))),
        Program::Dynamic | Program::Script(_) | Program::Unknown => Ok(Interposer::Preload),
    }
}

fn gains_rights(path: &Path, data: &Metadata) -> bool {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let by_user = data.mode() & 0o4000 != 0 && data.uid() != user.as_raw();
    let by_group = data.mode() & 0o2010 == 0o2010 && data.gid() != group.as_raw();
    let has_capabilities = || {
        let mut value = [0u8; 64];
        rustix::fs::getxattr(path, c"security.capability", &mut value).is_ok_and(|octets| octets > 0)
    };
    by_user || by_group || (!user.is_root() && has_capabilities())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const LOADER: u32 = PT_INTERP.0;

    /// Returns the bytes of an ELF file with these program headers and sections of these names.
    fn elf(headers: &[u32], sections: &[&[u8]]) -> Vec<u8> {
        let mut octets = vec![0; 64];
        octets[..6].copy_from_slice(b"\x7fELF\x02\x01");
        octets[6] = 1;
        octets[18..20].copy_from_slice(&MACHINE.0.to_le_bytes());
        octets[20] = 1;
        octets[32..40].copy_from_slice(&64u64.to_le_bytes());
        octets[52..54].copy_from_slice(&64u16.to_le_bytes());
        octets[54..56].copy_from_slice(&56u16.to_le_bytes());
        octets[56..58].copy_from_slice(&(headers.len() as u16).to_le_bytes());
        for header in headers {
            octets.extend(header.to_le_bytes());
            octets.extend([0; 52]);
        }
        if sections.is_empty() {
            return octets;
        }
        // The first section is empty, and the last one has the names of all sections.
        let names: Vec<u8> = [b"\0".to_vec()]
            .into_iter()
            .chain(sections.iter().map(|name| [name, &b"\0"[..]].concat()))
            .flatten()
            .collect();
        let at_names = octets.len() as u64;
        octets.extend(&names);
        octets.resize(octets.len().next_multiple_of(8), 0);
        let (at, count) = (octets.len() as u64, sections.len() as u16 + 2);
        octets[40..48].copy_from_slice(&at.to_le_bytes());
        octets[58..60].copy_from_slice(&64u16.to_le_bytes());
        octets[60..62].copy_from_slice(&count.to_le_bytes());
        octets[62..64].copy_from_slice(&(count - 1).to_le_bytes());
        octets.extend([0; 64]);
        let mut name = 1u32;
        for section in sections {
            octets.extend(name.to_le_bytes());
            octets.extend(1u32.to_le_bytes());
            octets.extend([0; 56]);
            name += section.len() as u32 + 1;
        }
        // The section of names, SHT_STRTAB.
        octets.extend([0u32.to_le_bytes(), 3u32.to_le_bytes()].concat());
        octets.extend([0; 16]);
        octets.extend([at_names.to_le_bytes(), (names.len() as u64).to_le_bytes()].concat());
        octets.extend([0; 24]);
        octets
    }

    fn of(octets: &[u8]) -> Program {
        Program::of(Cursor::new(octets))
    }

    /// Programs with a loader, without one, of Go, of 32 bits, truncated, and scripts.
    #[test]
    fn programs_by_their_octets() {
        assert_eq!(of(&elf(&[6, LOADER, 1], &[])), Program::Dynamic);
        assert_eq!(of(&elf(&[6, LOADER], &[b".text", b".data"])), Program::Dynamic);
        assert_eq!(of(&elf(&[6, LOADER], &[b".text", GO_BUILD_ID])), Program::Go);
        assert_eq!(of(&elf(&[6], &[GO_BUILD_ID])), Program::Go);
        assert_eq!(of(&elf(&[6, 1], &[])), Program::Static);
        assert_eq!(of(&elf(&[6, 1], &[])[..100]), Program::Unknown);
        let mut other = elf(&[LOADER], &[]);
        other[4] = 1;
        assert_eq!(of(&other), Program::Foreign);
        assert_eq!(of(b"#! /usr/bin/env python3\nprint()"), Program::Script("/usr/bin/env".into()));
        assert_eq!(of(b"#!\n"), Program::Unknown);
        assert_eq!(of(b""), Program::Unknown);
    }

    /// This test is a program with a loader, and its own path leads to it.
    #[test]
    fn this_program() {
        let path = env::current_exe().expect("a path");
        let program = Program::read(&path).expect("a program");
        assert_eq!(program, Program::Dynamic);
        assert_eq!(interposer(&program, &path).expect("it could be run"), Interposer::Preload);
        for other in [Program::Static, Program::Go] {
            let chosen = interposer(&other, &path).expect("it could be run");
            assert!(matches!(chosen, Interposer::Seccomp(_)), "{chosen:?}");
        }
        assert!(interposer(&Program::Foreign, &path).is_err());
        assert!(find(OsStr::new("no such command")).is_err());
    }
}
