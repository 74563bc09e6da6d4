//! The subcommands `lasthop cc list` and `lasthop cc info`.

use crate::failure::Failure;
use congestion::algorithms::{self, Algorithm, AlgorithmError, CATALOGUE, Loaded, Parameter};
use serde_json::{Value, json};

/// Prints the algorithms that can be loaded, those that are loaded, and the kernel's own.
pub fn list(json: bool) -> Result<i32, Failure> {
    let loaded = match algorithms::loaded() {
        Ok(loaded) => Some(loaded),
        // Without the rights to see what is loaded, the rest is still shown.
        Err(AlgorithmError::Rights(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let (available, allowed) = (algorithms::available()?, algorithms::allowed()?);
    let default = algorithms::default_here()?;
    if json {
        let algorithms: Vec<_> = CATALOGUE.iter().map(described).collect();
        let loaded = loaded.map(|loaded| loaded.iter().map(as_json).collect::<Vec<_>>());
        let all = json!({
            "algorithms": algorithms,
            "loaded": loaded,
            "available": available,
            "allowed": allowed,
            "default": default,
        });
        anstream::println!("{all}");
        return Ok(0);
    }
    anstream::println!("To load (lasthop cc load NAME):");
    for algorithm in CATALOGUE {
        anstream::println!("  {:<10} {}", algorithm.name, algorithm.what);
    }
    match &loaded {
        None => anstream::println!("\nOnly root can see which of them are loaded."),
        Some(loaded) if loaded.is_empty() => anstream::println!("\nNone of them is loaded."),
        Some(loaded) => {
            anstream::println!("\nLoaded:");
            for one in loaded {
                anstream::println!("  {:<10} {}", one.name, state(one));
            }
        }
    }
    anstream::println!("\nRegistered with this kernel: {}", available.join(" "));
    anstream::println!("For every user:              {}", allowed.join(" "));
    anstream::println!("Default here:                {default}");
    Ok(0)
}

/// Prints one algorithm, loaded or not.
pub fn info(name: &str, json: bool) -> Result<i32, Failure> {
    let (algorithm, loaded) = match algorithms::info(name) {
        Ok(loaded) => (loaded.algorithm, Some(loaded)),
        Err(AlgorithmError::NotLoaded { .. }) => (algorithms::find(name)?, None),
        Err(error) => return Err(error.into()),
    };
    if json {
        let mut all = described(algorithm);
        all["loaded"] = loaded.as_ref().map_or(Value::Null, as_json);
        anstream::println!("{all}");
        return Ok(0);
    }
    anstream::println!("{}", algorithm.name);
    anstream::println!("  {}", algorithm.what);
    anstream::println!("  from:       {}", algorithm.reference);
    anstream::println!("  recovery:   {}", algorithm.recovery);
    anstream::println!("  parameters:");
    for Parameter { name, default, least, most, meaning } in algorithm.parameters {
        let range = format!("{least} to {most}");
        anstream::println!("    {name:<16} {default:>6}  ({range})  {meaning}");
    }
    if let Some(loaded) = &loaded {
        anstream::println!("  loaded:     as {}, {}", loaded.name, state(loaded));
    }
    Ok(0)
}

fn state(loaded: &Loaded) -> String {
    let parameters: Vec<_> =
        loaded.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let users = match loaded.users {
        0 => "not in use".to_owned(),
        1 => "1 connection or namespace uses it".to_owned(),
        users => format!("{users} connections or namespaces use it"),
    };
    format!("{} {}; {users}", loaded.algorithm.name, parameters.join(" "))
}

fn described(algorithm: &Algorithm) -> Value {
    let parameters: Vec<_> = algorithm
        .parameters
        .iter()
        .map(|Parameter { name, default, least, most, meaning }| {
            json!({ "name": name, "default": default, "least": least, "most": most, "meaning": meaning })
        })
        .collect();
    json!({
        "name": algorithm.name,
        "what": algorithm.what,
        "reference": algorithm.reference,
        "recovery": algorithm.recovery,
        "parameters": parameters,
    })
}

fn as_json(loaded: &Loaded) -> Value {
    let parameters: serde_json::Map<_, _> =
        loaded.parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    json!({
        "name": loaded.name,
        "algorithm": loaded.algorithm.name,
        "parameters": parameters,
        "users": loaded.users,
    })
}
