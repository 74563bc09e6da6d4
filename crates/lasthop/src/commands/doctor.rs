//! `lasthop doctor`: checks what works on this machine, and tells how to get the rest.

use netlab::checks::{self, Check, Places};

/// Runs every check and prints its outcome. Returns 1 if a link would not work.
pub fn run() -> i32 {
    let checks = checks::all(&Places::default());
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

fn verdict(missing: usize, without: usize) -> String {
    match (missing, without) {
        (0, 0) => "Everything works here.".to_owned(),
        (0, 1) => "Links work here; 1 optional feature is unavailable.".to_owned(),
        (0, _) => format!("Links work here; {without} optional features are unavailable."),
        (1, _) => "Links do not work here: 1 requirement is missing.".to_owned(),
        _ => format!("Links do not work here: {missing} requirements are missing."),
    }
}
