//! Parameters of congestion controls, set for the kernel of a run.
//!
//! A parameter applies to the whole kernel. So runs with the virtual clock may set them, because
//! each has its own kernel. Runs on a host leave them alone: there they are given when a congestion
//! control is loaded (`lasthop cc load newzag gain=5`).

use std::fs;
use std::path::PathBuf;

/// A parameter of a congestion control's kernel module, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The module, such as `newzag` or `tcp_vegas`.
    pub module: String,
    /// The parameter, such as `gain`.
    pub name: String,
    /// The value in the kernel's format.
    pub value: String,
}

impl Parameter {
    /// Returns the parameter that `key` names as `MODULE.PARAMETER`; `None` if it names none.
    #[must_use]
    pub fn new(key: &str, value: String) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let (module, name) = key.split_once('.').filter(|(module, name)| is_word(module) && is_word(name))?;
        Some(Self { module: module.to_owned(), name: name.to_owned(), value })
    }

    fn path(&self) -> PathBuf {
        format!("/sys/module/{}/parameters/{}", self.module, self.name).into()
    }
}

/// Sets the parameters in the kernel of a guest.
///
/// # Errors
/// If this kernel has no such module or parameter, or if it refuses the value.
pub fn set(parameters: &[Parameter]) -> Result<(), String> {
    for parameter in parameters {
        let Parameter { module, name, value } = parameter;
        fs::write(parameter.path(), value).map_err(|error| match fs::read_dir(format!("/sys/module/{module}/parameters")) {
            Err(_) => format!("congestion-parameters `{module}.{name}`: this kernel has no module `{module}` with parameters"),
            Ok(entries) => {
                let mut known: Vec<_> =
                    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
                known.sort();
                format!("cannot set congestion-parameters `{module}.{name}` to `{value}`: {error} (parameters of `{module}`: {})", known.join(", "))
            }
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_a_module_and_a_parameter_and_no_path() {
        let parameter = Parameter::new("newzag.gain", "5".to_owned()).expect("a parameter");
        assert_eq!(parameter.path(), PathBuf::from("/sys/module/newzag/parameters/gain"));
        for key in ["gain", "newzag.", ".gain", "a/b.c", "..x", "a.b.c", "a. b"] {
            assert_eq!(Parameter::new(key, "5".to_owned()), None, "{key}");
        }
    }
}
