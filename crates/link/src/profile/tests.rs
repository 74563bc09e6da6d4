//! Tests of the built-in profiles, of their format, and of parameters that change them.

mod bytes;
mod claims;
mod form;
mod goodput;
mod losses;
mod parameters;
mod transfer;

use super::*;
use std::io;

/// Parses a profile without trace files.
fn parsed(text: &str) -> Result<Profile, ProfileError> {
    Profile::parse("test.toml", text, &mut no_file)
}

fn no_file(name: &str) -> io::Result<String> {
    Err(io::Error::new(io::ErrorKind::NotFound, format!("nobody has {name}")))
}

/// Returns the built-in profile of this name.
fn named(name: &str) -> Profile {
    let file = format!("{name}.toml");
    let (file, text) = builtin().find(|(known, _)| *known == file).expect("a built-in profile");
    Profile::parse(file, text, &mut no_file).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns both directions of a profile. A loss profile is put into a perfect link.
fn link_of(profile: &Profile) -> LinkProfile {
    match &profile.content {
        Content::Link(link) => link.clone(),
        Content::Loss(loss) => {
            let mut link = LinkProfile::default();
            link.add_losses(loss);
            link
        }
    }
}
