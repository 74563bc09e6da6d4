//! `lasthop resoa pair`: introduces a client and a server to each other with two lines that people
//! carry over.
//!
//! ```text
//! resoa-server laptop udp:192.0.2.1:4000 KEY CHECK      from the server: where it is and what it is known by
//! resoa-client laptop KEY CHECK                         from the client: what it is known by
//! ```
//!
//! The checksum detects transmission errors, not manipulation. People must make sure that each line
//! comes from the right sender.

use super::arguments::PairArguments;
use super::config::{ClientConfig, Local};
use crate::failure::Failure;
use resoa_carrier::CarrierAddress;
use resoa_carrier::keys::{PublicKey, SecretKey};
use resoa_policy::Policy;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Server { name: String, place: CarrierAddress, key: PublicKey },
    Client { name: String, key: PublicKey },
}

/// Runs the requested side.
pub fn run(arguments: &PairArguments) -> Result<i32, Failure> {
    let PairArguments { line, policy, key, at, name, out } = arguments;
    let line = line.as_deref().map(Line::read).transpose()?;
    match (line, policy, out) {
        (None, Some(policy), _) => {
            let missing = |option: &str, what: &str| format!("{option} is missing: {what}, for the client's line");
            let key = key.as_deref().ok_or_else(|| missing("--key FILE", "the server's secret key"))?;
            let place = at.clone().ok_or_else(|| missing("--at [CARRIER:]ADDRESS", "the address at which the client reaches the server"))?;
            let name = name.clone().ok_or_else(|| missing("--name NAME", "the name of the client"))?;
            offer(policy, key, place, name)
        }
        (Some(Line::Server { name, place, key }), None, Some(out)) => answer(name, place, key, out),
        (Some(Line::Client { name, key }), Some(policy), None) => enter(policy, &name, key),
        (Some(Line::Server { name, .. }), ..) => {
            Err(format!("this line is for the client: run `lasthop resoa pair LINE --out {name}.toml` there").into())
        }
        (Some(Line::Client { .. }), ..) => {
            Err("this line is for the server: run `lasthop resoa pair LINE --policy FILE` there".into())
        }
        (None, None, _) => Err(
            "no line and no policy given: begin at the server with --policy FILE, --key, --at and --name; then give the client the line that it prints, and --out FILE".into(),
        ),
    }
}

/// At the server: prints the line for the client.
fn offer(policy: &Path, key: &Path, place: CarrierAddress, name: String) -> Result<i32, Failure> {
    let name = named(name)?;
    if policy.exists() && Policy::read(policy)?.clients().any(|(_, client)| client.name == name) {
        return Err(taken(policy, &name).into());
    }
    if !place.is_secure() {
        anstream::eprintln!(
            "lasthop: {place} is not authenticated: the keys exchanged here prove nothing there"
        );
    }
    let secret = match SecretKey::generate()?.write(key) {
        Ok(()) => {
            anstream::eprintln!("lasthop: wrote the server's new secret key to {}", key.display());
            SecretKey::read(key)?
        }
        // An existing key is expected, and used.
        Err(_) => SecretKey::read(key)?,
    };
    let line = Line::Server { name: name.clone(), place, key: secret.public() };
    anstream::println!("{}", line.text());
    anstream::eprintln!("lasthop: at the client: lasthop resoa pair 'THE LINE' --out {name}.toml");
    Ok(0)
}

/// At the client: creates the key and the configuration, and prints the line for the server.
fn answer(name: String, place: CarrierAddress, server_key: PublicKey, out: &Path) -> Result<i32, Failure> {
    let key_path = out.with_extension("key");
    if out.exists() {
        let which = ClientConfig::read(out)
            .map(|known| format!(", for the server at {}", known.server))
            .unwrap_or_default();
        let out = out.display();
        return Err(format!("{out}: file exists{which}; name another file, or remove it").into());
    }
    let secret = match SecretKey::read(&key_path) {
        Ok(secret) => secret,
        Err(_) if !key_path.exists() => {
            let secret = SecretKey::generate()?;
            secret.write(&key_path)?;
            secret
        }
        Err(error) => return Err(error.into()),
    };
    let key = key_path.file_name().map(Into::into).unwrap_or_default();
    let config = ClientConfig { server: place, server_key, key, local: Local::default() };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(out)
        .map_err(|error| format!("{}: {error}", out.display()))?;
    write!(file, "# lasthop resoa agent --config {}\n{}", out.display(), config.text()?)?;
    anstream::eprintln!("lasthop: configuration in {}, secret key in {}", out.display(), key_path.display());
    anstream::println!("{}", Line::Client { name, key: secret.public() }.text());
    anstream::eprintln!("lasthop: at the server: lasthop resoa pair 'THE LINE' --policy FILE");
    Ok(0)
}

/// At the server: adds the client to the policy.
fn enter(policy: &Path, name: &str, key: PublicKey) -> Result<i32, Failure> {
    let file = policy.display().to_string();
    // If the path is a symbolic link, its target is replaced and the link stays.
    let target = policy.canonicalize().unwrap_or_else(|_| policy.to_owned());
    let before = match fs::read_to_string(&target) {
        Ok(text) => text,
        Err(error) if target.is_symlink() => {
            return Err(format!("{file}: cannot read the target of this symbolic link: {error}").into());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => "# lasthop resoa serve --policy\n".to_owned(),
        Err(error) => return Err(format!("{file}: {error}").into()),
    };
    let known = Policy::parse(&file, &before)?;
    if let Some((_, client)) = known.clients().find(|(other, _)| **other == key) {
        return Err(format!("{file}: this key already belongs to client `{}`", client.name).into());
    }
    if known.clients().any(|(_, client)| client.name == name) {
        return Err(taken(policy, name).into());
    }
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    let after = format!("{before}{gap}\n[clients.{name}]\nkey = \"{key}\"\n");
    Policy::parse(&file, &after)?;
    // The file is replaced atomically, because a server may be reading it.
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(|error| format!("{file}: {error}"))?;
    new.write_all(after.as_bytes())?;
    // Readers of the old file must be able to read the new one, because the server may run as
    // another user. A new file is readable by everyone, because it contains no secrets.
    let there = fs::metadata(&target).ok();
    if let Some(there) = &there {
        let made = new.as_file().metadata()?;
        let other = |is: u32, made: u32| (is != made).then_some(is);
        fchown(new.as_file(), other(there.uid(), made.uid()), other(there.gid(), made.gid())).map_err(|error| {
            format!(
                "{file}: cannot keep its owner (user {}, group {}): {error}; run this as its owner or as root",
                there.uid(),
                there.gid()
            )
        })?;
    }
    new.as_file()
        .set_permissions(there.map_or(fs::Permissions::from_mode(0o644), |there| there.permissions()))?;
    new.persist(&target).map_err(|error| format!("{file}: {}", error.error))?;
    anstream::eprintln!(
        "lasthop: `{name}` may now connect; make a running server read the policy with SIGHUP (systemctl reload lasthop-resoa)"
    );
    Ok(0)
}

fn taken(policy: &Path, name: &str) -> String {
    format!("{}: client `{name}` exists already; choose another name, or remove its entry", policy.display())
}

/// Checks a name, which must not need quotes anywhere.
fn named(name: String) -> Result<String, Failure> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if (1..=32).contains(&name.len()) && name.chars().all(fits) {
        Ok(name)
    } else {
        Err(format!("`{name}` is not a client name: use 1 to 32 characters of A-Z, a-z, 0-9, - and _").into())
    }
}

impl Line {
    fn text(&self) -> String {
        let text = match self {
            Self::Server { name, place, key } => format!("resoa-server {name} {place} {key}"),
            Self::Client { name, key } => format!("resoa-client {name} {key}"),
        };
        format!("{text} {}", check(&text))
    }

    fn read(text: &str) -> Result<Self, Failure> {
        let words: Vec<_> = text.split_whitespace().collect();
        let incomplete = || {
            format!("`{text}` is not a complete line of `lasthop resoa pair`: paste the whole line in quotes")
        };
        let (&sum, rest) = words.split_last().ok_or_else(incomplete)?;
        let line = match *rest {
            ["resoa-server", name, place, key] => {
                Self::Server { name: named(name.to_owned())?, place: place.parse()?, key: key.parse()? }
            }
            ["resoa-client", name, key] => Self::Client { name: named(name.to_owned())?, key: key.parse()? },
            _ => return Err(incomplete().into()),
        };
        if check(&rest.join(" ")) != sum {
            return Err(format!(
                "`{text}` was altered on its way (its checksum does not match): have it sent again"
            )
            .into());
        }
        Ok(line)
    }
}

/// Returns a checksum that detects lost and changed letters.
fn check(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy that gets an entry keeps its owner and its permissions, and a link to it stays a
    /// link. A new policy is readable by everyone.
    #[test]
    fn a_policy_stays_whose_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("policy.toml"), folder.path().join("link.toml"));
        std::os::unix::fs::symlink(&file, &link).expect("made");
        let nothing = enter(&link, "a", PublicKey([1; 32])).expect_err("it names nothing").to_string();
        assert!(
            nothing.contains("cannot read the target of this symbolic link") && link.is_symlink(),
            "{nothing}"
        );

        enter(&file, "a", PublicKey([1; 32])).expect("a new one");
        assert_eq!(fs::metadata(&file).expect("is there").mode() & 0o777, 0o644);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("mine");
        let own = fs::metadata(&file).expect("is there");
        let (uid, gid) = if own.uid() == 0 { (65_534, 12_345) } else { (own.uid(), own.gid()) };
        std::os::unix::fs::chown(&file, Some(uid), Some(gid)).expect("mine, or root's");
        enter(&link, "b", PublicKey([2; 32])).expect("another one");
        let then = fs::metadata(&file).expect("is there");
        assert_eq!((then.uid(), then.gid(), then.mode() & 0o777), (uid, gid, 0o640));
        assert!(link.is_symlink());
        assert_eq!(Policy::read(&file).expect("a policy").clients().len(), 2);
    }

    /// Lines are read back whatever their white space; a changed line is rejected.
    #[test]
    fn lines_are_read_as_written() {
        let (name, key) = ("laptop".to_owned(), PublicKey([9; 32]));
        let place: CarrierAddress = "tcp:192.0.2.1:4000".parse().expect("a place");
        for line in [Line::Server { name: name.clone(), place, key }, Line::Client { name, key }] {
            let text = line.text();
            assert_eq!(Line::read(&format!("  {}\n", text.replace(' ', "  "))).expect("the same"), line);
            let changed = text.replacen("CQ", "Cg", 1);
            assert!(
                Line::read(&changed).expect_err("changed").to_string().contains("was altered"),
                "{changed}"
            );
            let (cut, _) = text.rsplit_once(' ').expect("words");
            assert!(Line::read(cut).is_err(), "{cut}");
        }
        assert!(Line::read("").is_err() && named("a b".to_owned()).is_err() && named(String::new()).is_err());
    }
}
