//! `lasthop doctor`: checks what works on this machine, and tells how to get the rest.

use crate::library::{LINKS, Library, PRELOAD};
use netlab::checks::{self, Check, Places};
use virtual_time::kernel::{self, Cache};

/// Runs every check and prints its outcome. Returns 1 if a link would not work.
pub fn run() -> i32 {
    let mut checks = checks::all(&Places::default());
    checks.extend([
        virtual_time_kernel(),
        library("links of the virtual clock", &LINKS),
        library("preload library of `lasthop resoa run`", &PRELOAD),
    ]);
    for Check { name, essential, outcome } in &checks {
        let (mark, detail) = match outcome {
            Ok(detail) => ("ok     ", detail),
            Err(detail) if *essential => ("MISSING", detail),
            Err(detail) => ("without", detail),
        };
        anstream::println!("{mark}  {name}");
        for line in detail.lines() {
            anstream::println!("           {line}");
        }
    }
    let missing = checks.iter().filter(|check| check.essential && check.outcome.is_err()).count();
    let without = checks.iter().filter(|check| !check.essential && check.outcome.is_err()).count();
    anstream::println!("\n{}", verdict(missing, without));
    i32::from(missing > 0)
}

/// Looks for the kernel of the virtual clock.
fn virtual_time_kernel() -> Check {
    let outcome = match Cache::of_user().and_then(|cache| kernel::find(&cache)) {
        Ok(Some(kernel)) => Ok(format!("{} at {}", kernel.release, kernel.path.display())),
        Ok(None) => Err("there is none, so `--clock virtual` does not work\n\
                         install the package lasthop-kernel, or run `lasthop kernel build`"
            .to_owned()),
        Err(error) => Err(error.to_string()),
    };
    Check { name: "virtual-time kernel".to_owned(), essential: false, outcome }
}

/// Looks for a library.
fn library(name: &str, library: &Library) -> Check {
    let outcome = library.find().map(|path| path.display().to_string()).map_err(|error| error.to_string());
    Check { name: name.to_owned(), essential: false, outcome }
}

fn verdict(missing: usize, without: usize) -> String {
    match (missing, without) {
        (0, 0) => "Everything works here.".to_owned(),
        (0, 1) => "Links work here; 1 optional feature is unavailable.".to_owned(),
        (0, _) => format!("Links work here; {without} optional features are unavailable."),
        (1, _) => "Links do not work here: 1 requirement is missing.".to_owned(),
        _ => format!("Links do not work here: {missing} requirements are missing."),
    }
}
