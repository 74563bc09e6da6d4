//! Information about the run as a whole, in a log or a capture.

use super::{Capacity, SCHEMA};
use crate::units::WallTime;
use packet::Layer;
use serde::{Deserialize, Serialize};
use vocabulary::{Direction, LinkId};

/// The run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the schema: [`SCHEMA`] when written by this crate.
    pub schema: u16,
    /// Version of the program that wrote this.
    pub lasthop: String,
    /// Wall-clock time of the run's [`vocabulary::units::Time::ZERO`].
    pub started: WallTime,
    /// The campaign's seed.
    pub seed: u64,
    /// Links at the start of the run.
    pub links: Vec<LinkInfo>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// Its number.
    pub id: LinkId,
    /// Its name.
    pub name: String,
    /// Layer at which its packets start.
    pub layer: Layer,
    /// Longest packet in bytes, at IP.
    pub mtu: u32,
    /// Direction from the wireless host.
    pub up: WayInfo,
    /// Direction towards the wireless host.
    pub down: WayInfo,
}

/// A direction of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WayInfo {
    /// The profile as text: its name, or its parameters in TOML.
    pub profile: String,
    /// Rate of the limiter in bit/s, if there is one and it is constant.
    pub bits_per_second: Option<u64>,
    /// Names of the stages, in order.
    pub stages: Vec<String>,
    /// Capacity of its limiter, in the order of time. Empty without a limiter of its own, and in
    /// logs from before this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity: Vec<Capacity>,
}

impl Header {
    /// Creates the header of a run, with this version of the schema.
    #[must_use]
    pub fn new(lasthop: &str, started: WallTime, seed: u64, links: Vec<LinkInfo>) -> Self {
        Self { schema: SCHEMA, lasthop: lasthop.to_owned(), started, seed, links }
    }

    /// Returns the link with this number.
    #[must_use]
    pub fn link(&self, id: LinkId) -> Option<&LinkInfo> {
        self.links.iter().find(|link| link.id == id)
    }

    /// Adds a link, or replaces the one with its number.
    pub fn describe(&mut self, link: LinkInfo) {
        match self.links.iter_mut().find(|known| known.id == link.id) {
            Some(known) => *known = link,
            None => self.links.push(link),
        }
    }
}

impl LinkInfo {
    /// Returns one of its directions.
    #[must_use]
    pub fn way(&self, direction: Direction) -> &WayInfo {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Returns the name of a stage by its number in `direction`.
    #[must_use]
    pub fn stage(&self, direction: Direction, place: u8) -> Option<&str> {
        self.way(direction).stages.get(usize::from(place)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_link_is_described_by_the_last_word_about_its_number() {
        let mut header = example::header();
        let mut second = header.links[1].clone();
        second.name = "renamed".to_owned();
        header.describe(second.clone());
        header.describe(LinkInfo { id: LinkId(9), ..second });
        let all: Vec<_> = header.links.iter().map(|link| (link.id.0, link.name.as_str())).collect();
        assert_eq!(all, [(0, "wlan"), (1, "renamed"), (9, "renamed")]);
        assert_eq!(header.link(LinkId(9)).map(|link| link.id), Some(LinkId(9)));
        assert_eq!(header.link(LinkId(2)), None);
    }

    #[test]
    fn stages_are_those_of_their_direction() {
        let link = &example::header().links[0];
        assert_eq!(
            (link.stage(Direction::Up, 2), link.stage(Direction::Down, 2)),
            (Some("delay"), Some("errors"))
        );
        assert_eq!((link.stage(Direction::Up, 3), link.stage(Direction::Down, 3)), (None, Some("delay")));
        assert_eq!(link.way(Direction::Down).bits_per_second, Some(384_000));
    }
}
