//! Groups of fuzz targets: each group is one program, and the environment variable `FUZZ_TARGET`
//! selects the target.

use std::env;
use std::process;

/// Runs one input; panics if a property does not hold.
pub type Target = fn(&[u8]);

/// Returns the target that `FUZZ_TARGET` names; exits the process if the name is unknown.
pub fn chosen(targets: &[(&str, Target)]) -> Target {
    let wanted = env::var("FUZZ_TARGET").unwrap_or_default();
    if let Some((_, target)) = targets.iter().find(|(name, _)| *name == wanted) {
        return *target;
    }
    let names: Vec<_> = targets.iter().map(|(name, _)| *name).collect();
    eprintln!("FUZZ_TARGET is \"{wanted}\": expected one of {}", names.join(", "));
    process::exit(2)
}

/// Defines a group of modules, each with a function `run` that is a [`Target`].
#[macro_export]
macro_rules! group {
    ($($target:ident),+ $(,)?) => {
        static TARGET: std::sync::LazyLock<$crate::Target> = std::sync::LazyLock::new(|| {
            $crate::chosen(&[$((stringify!($target), self::$target::run as $crate::Target)),+])
        });

        libfuzzer_sys::fuzz_target!(|octets: &[u8]| TARGET(octets));
    };
}
