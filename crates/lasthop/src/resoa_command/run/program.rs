//! Whether the loader will load a library before a program: not if the program has no loader, is of another kind of machine, or gains rights when it starts (ld.so(8), "Secure-execution mode").

use crate::link_command::Failure;
use std::env;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Interpreters of interpreters that the kernel follows (`BINPRM_MAX_RECURSION`).
const DEEPEST: usize = 5;
/// Program header of an interpreter (`elf.h`).
const PT_INTERP: u32 = 3;

/// What a file is, as far as that matters to the loader.
#[derive(Debug, PartialEq, Eq)]
pub enum Program {
    /// It names a loader.
    Dynamic,
    /// It names none.
    Static,
    /// For another machine or with pointers of another size: this one's library does not fit.
    Foreign,
    /// Another program runs it.
    Script(PathBuf),
    /// Neither: the kernel will say so.
    Unknown,
}

/// The file that a name means, as a shell finds it.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|place| is_program(place))
        .ok_or_else(|| format!("there is no command `{}` in PATH", name.display()).into())
}

impl Program {
    /// Looks at a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let at = |error| format!("{}: {error}", path.display());
        let mut head = Vec::new();
        let mut file = File::open(path).map_err(at)?;
        file.by_ref().take(256).read_to_end(&mut head).map_err(at)?;
        Ok(Self::of(&head, |offset, octets| file.read_exact_at(octets, offset).is_ok()))
    }

    /// By its first octets, and others where they are needed.
    fn of(head: &[u8], read: impl Fn(u64, &mut [u8]) -> bool) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|octet| *octet == b'\n').next().unwrap_or_default();
            let mut words = line.split(|octet| b" \t".contains(octet)).filter(|word| !word.is_empty());
            return words.next().map_or(Self::Unknown, |word| Self::Script(OsStr::from_bytes(word).into()));
        }
        if !head.starts_with(b"\x7fELF") {
            return Self::Unknown;
        }
        let number = |octets: &[u8], at: usize| {
            octets.get(at..).and_then(<[u8]>::first_chunk).map(|octets| u16::from_le_bytes(*octets))
        };
        // 64 bits, little-endian, and this machine.
        let (Some(&[2, 1]), Some(machine)) = (head.get(4..6), number(head, 18)) else { return Self::Foreign };
        if machine != MACHINE {
            return Self::Foreign;
        }
        let offset = head.get(32..).and_then(<[u8]>::first_chunk).map(|octets| u64::from_le_bytes(*octets));
        let (Some(offset), Some(size), Some(count)) = (offset, number(head, 54), number(head, 56)) else {
            return Self::Unknown;
        };
        for header in 0..u64::from(count) {
            let mut kind = [0; 4];
            if !read(offset + header * u64::from(size), &mut kind) {
                return Self::Unknown;
            }
            if u32::from_le_bytes(kind) == PT_INTERP {
                return Self::Dynamic;
            }
        }
        Self::Static
    }
}

/// This machine's number in ELF.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    183
} else if cfg!(target_arch = "riscv64") {
    243
} else {
    62
};

/// Says what stands in the way, if anything does.
pub fn check(program: &Program, path: &Path) -> Result<(), Failure> {
    checked(program, path, DEEPEST)
}

fn checked(program: &Program, path: &Path, deepest: usize) -> Result<(), Failure> {
    let shown = path.display();
    match program {
        Program::Static => Err(format!(
            "{shown} is statically linked: no library can be loaded before it\n`lasthop resoa run --seccomp` asks the kernel for its calls instead"
        )
        .into()),
        Program::Foreign => {
            Err(format!("{shown} is for another kind of machine than this command, and so is its loader").into())
        }
        Program::Script(interpreter) if deepest > 0 => {
            checked(&Program::read(interpreter)?, interpreter, deepest - 1)
        }
        Program::Dynamic if path.metadata().is_ok_and(|data| gains_rights(path, &data)) => Err(format!(
            "{shown} gains rights when it starts (a set-user-ID bit or capabilities), and the loader then loads no other libraries\nrun it as the user that it becomes"
        )
        .into()),
        Program::Dynamic | Program::Script(_) | Program::Unknown => Ok(()),
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

    /// The octets of a file of ELF with these program headers.
    fn elf(headers: &[u32]) -> Vec<u8> {
        let mut octets = vec![0; 64];
        octets[..6].copy_from_slice(b"\x7fELF\x02\x01");
        octets[18..20].copy_from_slice(&MACHINE.to_le_bytes());
        octets[32..40].copy_from_slice(&64u64.to_le_bytes());
        octets[54..56].copy_from_slice(&56u16.to_le_bytes());
        octets[56..58].copy_from_slice(&(headers.len() as u16).to_le_bytes());
        for header in headers {
            octets.extend(header.to_le_bytes());
            octets.extend([0; 52]);
        }
        octets
    }

    fn of(octets: &[u8]) -> Program {
        Program::of(&octets[..octets.len().min(256)], |offset, place| {
            let from = octets.get(offset as usize..).and_then(|rest| rest.get(..place.len()));
            from.is_some_and(|from| {
                place.copy_from_slice(from);
                true
            })
        })
    }

    /// A program with a loader, one without, one of 32 bits, a file that is cut off, and scripts.
    #[test]
    fn programs_by_their_octets() {
        assert_eq!(of(&elf(&[6, PT_INTERP, 1])), Program::Dynamic);
        assert_eq!(of(&elf(&[6, 1])), Program::Static);
        assert_eq!(of(&elf(&[6, 1])[..100]), Program::Unknown);
        let mut other = elf(&[PT_INTERP]);
        other[4] = 1;
        assert_eq!(of(&other), Program::Foreign);
        assert_eq!(of(b"#! /usr/bin/env python3\nprint()"), Program::Script("/usr/bin/env".into()));
        assert_eq!(of(b"#!\n"), Program::Unknown);
        assert_eq!(of(b""), Program::Unknown);
    }

    /// This test is a program with a loader, and what runs it finds it.
    #[test]
    fn this_program() {
        let path = env::current_exe().expect("a path");
        let program = Program::read(&path).expect("a program");
        assert_eq!(program, Program::Dynamic);
        check(&program, &path).expect("it could be run");
        let said = check(&Program::Static, &path).expect_err("there is no loader").to_string();
        assert!(said.contains("--seccomp"), "{said}");
        assert!(find(OsStr::new("no such command")).is_err());
    }
}
