//! Loads an algorithm with its parameters into the kernel, under a name.

use super::{Algorithm, AlgorithmError, LONGEST_NAME, available, find, pinned};
use libbpf_rs::{Error, ErrorKind, Link, MapCore, MapType, Object, ObjectBuilder};
use std::path::Path;
use std::str::FromStr;

/// The kernel's BTF, which `struct_ops` needs.
const DESCRIPTION: &str = "/sys/kernel/btf/vmlinux";

/// A setting of a parameter, such as `gain=5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: u32,
}

impl FromStr for Setting {
    type Err = AlgorithmError;

    fn from_str(text: &str) -> Result<Self, AlgorithmError> {
        let wrong = || AlgorithmError::Setting { text: text.to_owned() };
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        Ok(Self { name: name.trim().to_owned(), value: value.trim().parse().map_err(|_| wrong())? })
    }
}

/// Loads `algorithm` and registers it as `name` (by default its own name). Parameters without a
/// setting have their defaults. The algorithm stays loaded until [`unload`](super::unload) or the
/// next boot.
///
/// # Errors
/// If the algorithm, a parameter or the name is invalid, if the name is taken, or if this kernel or
/// this user cannot load it. Then no objects are left behind.
pub fn load(algorithm: &str, name: Option<&str>, settings: &[Setting]) -> Result<(), AlgorithmError> {
    let algorithm = find(algorithm)?;
    let values = checked(algorithm, settings)?;
    let name = name.unwrap_or(algorithm.name);
    if !is_name(name) {
        return Err(AlgorithmError::Name { name: name.to_owned() });
    }
    if available()?.iter().any(|known| known == name) {
        return Err(taken(name));
    }
    if !Path::new(DESCRIPTION).exists() {
        return Err(AlgorithmError::Unsupported(format!(
            "it has no BTF ({DESCRIPTION} does not exist); the virtual-time kernel has them built in and needs no loading"
        )));
    }
    // libbpf's messages are contained in its errors.
    libbpf_rs::set_print(None);
    let mut object = loaded(algorithm, name, &values).map_err(|error| explained(algorithm, &error))?;
    let link = registered(&mut object).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(name),
        _ => explained(algorithm, &error),
    })?;
    pinned::keep(&mut object, link, name)
}

fn registered(object: &mut Object) -> Result<Link, Error> {
    let mut maps = object.maps_mut();
    maps.find(|map| map.map_type() == MapType::StructOps).expect("each of them has one").attach_struct_ops()
}

fn loaded(algorithm: &Algorithm, name: &str, values: &[(&str, u32)]) -> Result<Object, Error> {
    let layout = algorithm.layout();
    // The kernel shows the first letters of this name in the name of the parameters' map.
    let mut open = ObjectBuilder::default().name(algorithm.name)?.open_memory(algorithm.object)?;
    for mut map in open.maps_mut() {
        let is_structure = map.map_type() == MapType::StructOps;
        let Some(bytes) = map.initial_value_mut() else { continue };
        if is_structure {
            // Including the terminating zero.
            let room = &mut bytes[layout.name..=layout.name + LONGEST_NAME];
            room.fill(0);
            room[..name.len()].copy_from_slice(name.as_bytes());
        } else {
            for (parameter, value) in values {
                let at = layout.parameter(parameter).expect("the catalogue is what is in the object");
                bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            }
        }
    }
    open.load()
}

/// Checks the settings, and returns them with the catalogue's names.
fn checked(algorithm: &Algorithm, settings: &[Setting]) -> Result<Vec<(&'static str, u32)>, AlgorithmError> {
    let mut values: Vec<(&'static str, u32)> = Vec::new();
    for Setting { name, value } in settings {
        let parameter = algorithm.parameter(name)?;
        if !(parameter.least..=parameter.most).contains(value) {
            return Err(AlgorithmError::Range {
                name: parameter.name,
                value: *value,
                least: parameter.least,
                most: parameter.most,
                meaning: parameter.meaning,
            });
        }
        if values.iter().any(|(known, _)| *known == parameter.name) {
            return Err(AlgorithmError::Twice { name: parameter.name });
        }
        values.push((parameter.name, *value));
    }
    Ok(values)
}

/// Returns whether both `struct_ops` (no -) and the BPF file system (no .) accept the name.
pub(super) fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn taken(name: &str) -> AlgorithmError {
    let by = if pinned::is_kept(name) {
        "by lasthop: unload it first, or choose another name (--as NAME)"
    } else {
        "by the kernel or another program: choose another name (--as NAME)"
    };
    AlgorithmError::Taken { name: name.to_owned(), by }
}

fn explained(algorithm: &Algorithm, error: &Error) -> AlgorithmError {
    match error.kind() {
        ErrorKind::PermissionDenied => AlgorithmError::Rights(error.to_string()),
        _ if format!("{error:#}").contains("struct_ops") && error.kind() == ErrorKind::NotFound => {
            AlgorithmError::Unsupported(format!("{error:#}"))
        }
        _ => AlgorithmError::Load { name: algorithm.name, reason: format!("{error:#}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(text: &str) -> Setting {
        text.parse().expect("a setting")
    }

    #[test]
    fn settings_are_names_and_numbers() {
        assert_eq!(setting("gain=5"), Setting { name: "gain".into(), value: 5 });
        for wrong in ["gain", "gain=", "gain=five", "gain=-1", "gain=4294967296"] {
            let error = wrong.parse::<Setting>().expect_err("it is none").to_string();
            assert!(error.starts_with(&format!("`{wrong}` is not a parameter setting")), "{error}");
        }
    }

    #[test]
    fn ranges_are_kept() {
        let newzag = find("newzag").expect("it is there");
        let said = |texts: &[&str]| {
            let settings: Vec<_> = texts.iter().map(|text| setting(text)).collect();
            checked(newzag, &settings).map_err(|error| error.to_string())
        };
        assert_eq!(
            said(&["gain=2", "wireless_percent=100"]),
            Ok(vec![("gain", 2), ("wireless_percent", 100)])
        );
        assert!(
            said(&["gain=9"])
                .is_err_and(|error| error.starts_with("gain=9 is out of range: expected 2 to 8"))
        );
        assert!(said(&["gain=1"]).is_err() && said(&["wireless_percent=0"]).is_err());
        assert!(said(&["gain=4", "gain=4"]).is_err_and(|error| error == "gain is given twice"));
        assert!(said(&["spike_end_us=1"]).is_err(), "it is another algorithm's");
    }

    #[test]
    fn names_that_the_kernel_takes() {
        assert!(is_name("newzag_v1") && is_name("A") && is_name("fifteen_letters"));
        for name in ["", "newzag-v1", "new.zag", "a b", "sixteen_letters_", "zäh"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
