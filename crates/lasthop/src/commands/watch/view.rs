//! State of the view: the chosen direction, the rows of the table, and what the user enters.

use crate::outputs;
use crate::remote::{Status, WayStatus};
use experiment::catalogue;
use link::profile::Content;
use ratatui::crossterm::event::KeyCode;
use std::path::PathBuf;

/// State of the view besides the link's.
#[derive(Default)]
pub struct View {
    /// Direction that keys change.
    pub chosen: Chosen,
    /// Rows of the table.
    pub shown: Shown,
    /// Parameters or profile that the user enters.
    pub input: Option<Input>,
    /// Result of the last change.
    pub message: Option<String>,
    /// Directory for captures.
    pub folder: PathBuf,
}

impl View {
    /// Returns a name for a capture that no file has yet: `link-1.pcapng`, `link-1-2.pcapng` and so
    /// on.
    pub fn capture_file(&self, id: &str) -> PathBuf {
        outputs::free_capture(&self.folder, &format!("link-{id}"))
    }
}

/// Direction that keys change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Chosen {
    /// Both.
    #[default]
    Both,
    /// The uplink.
    Up,
    /// The downlink.
    Down,
}

/// Rows of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shown {
    /// Every flow.
    #[default]
    Flows,
    /// Sums over the flows of each address on the wireless side.
    Devices,
}

/// Parameters or profile that the user enters.
pub enum Input {
    /// Parameters, as for `lasthop link set`.
    Parameters(String),
    /// One of the link profiles.
    Profile {
        /// Names and titles.
        names: Vec<(String, String)>,
        /// Place of the chosen one.
        chosen: usize,
        /// First letters of its name that were written.
        typed: String,
    },
}

impl Chosen {
    /// Returns the next direction in the order of the Tab key.
    pub fn next(self) -> Self {
        match self {
            Self::Both => Self::Up,
            Self::Up => Self::Down,
            Self::Down => Self::Both,
        }
    }

    /// Returns the name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// Returns the chosen directions with their names.
    pub fn ways(self, status: &Status) -> impl Iterator<Item = (&'static str, &WayStatus)> {
        let all = [(Self::Up, &status.up), (Self::Down, &status.down)];
        let chosen = all.into_iter().filter(move |(way, _)| self == Self::Both || self == *way);
        chosen.map(|(way, status)| (way.name(), status))
    }
}

impl Input {
    /// Starts to choose a link profile.
    pub fn profile() -> Self {
        let all = catalogue::all().unwrap_or_default().into_iter();
        let links = all.filter(|profile| matches!(profile.content, Content::Link(_)));
        Self::Profile {
            names: links.map(|profile| (profile.name, profile.title)).collect(),
            chosen: 0,
            typed: String::new(),
        }
    }

    /// Handles a key other than Enter and Esc.
    pub fn press(&mut self, code: KeyCode) {
        match self {
            Self::Parameters(text) => match code {
                KeyCode::Char(letter) => text.push(letter),
                KeyCode::Backspace => drop(text.pop()),
                _ => {}
            },
            Self::Profile { names, chosen, typed } => match code {
                KeyCode::Down => *chosen = (*chosen + 1).min(names.len() - 1),
                KeyCode::Up => *chosen = chosen.saturating_sub(1),
                KeyCode::Backspace => drop(typed.pop()),
                KeyCode::Char(letter) => {
                    typed.push(letter);
                    match names.iter().position(|(name, _)| name.starts_with(typed.as_str())) {
                        Some(place) => *chosen = place,
                        None => drop(typed.pop()),
                    }
                }
                _ => {}
            },
        }
    }
}
