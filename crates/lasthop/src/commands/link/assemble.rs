//! Builds a link from the command line: a profile, losses, and parameters on top.

use super::Failure;
use crate::arguments::LinkArguments;
use experiment::catalogue::Catalogue;
use link::profile::{LinkProfile, Parameters};
use link::{Direction, Seed};

/// MTU of a link whose profile has none, in bytes.
const USUAL_MTU: u16 = 1500;

/// A link as requested on the command line.
pub struct Assembled {
    /// Names of the profile and the loss profile, for display.
    pub name: String,
    /// Parameters of both directions.
    pub link: LinkProfile,
    /// MTU in bytes.
    pub mtu: u16,
}

/// Builds the link from profile, loss profile and parameters.
pub fn assemble(arguments: &LinkArguments) -> Result<Assembled, Failure> {
    let mut catalogue = Catalogue::default();
    let mut names = Vec::new();
    let mut link = match &arguments.profile {
        Some(name) => {
            let (profile, link) = catalogue.link(name)?;
            names.push(profile.name);
            link
        }
        None => LinkProfile::default(),
    };
    if let Some(name) = &arguments.loss {
        let (profile, loss) = catalogue.loss(name)?;
        names.push(profile.name);
        link.add_losses(&loss);
    }
    for (direction, texts, option) in
        [(Direction::Up, &arguments.up, "--up"), (Direction::Down, &arguments.down, "--down")]
    {
        for text in texts {
            let parameters: Parameters = text.parse().map_err(|error| format!("{option}: {error}"))?;
            parameters
                .apply(link.direction_mut(direction), &mut catalogue)
                .map_err(|error| format!("{option}: {error}"))?;
        }
    }
    if let Some(text) = &arguments.arq {
        link.set_arq(text).map_err(|error| format!("--arq: {error}"))?;
    }
    if link.arq.is_some() {
        // Reports here, and not in a guest, stages that cannot be below a link layer.
        link.build(&Seed::campaign(0))?;
    }
    let mtu = arguments.mtu.or(link.mtu).unwrap_or(USUAL_MTU);
    let name = if names.is_empty() { "link".to_owned() } else { names.join("+") };
    Ok(Assembled { name, link, mtu })
}
