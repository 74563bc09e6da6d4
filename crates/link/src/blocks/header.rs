//! The header that the three formats share.

use crate::stage::spec::{Line, TraceError};
use std::fmt;

/// Version of the formats that is written, and the only one that is read.
const VERSION: &str = "1";

/// Which of the formats a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// [`super::BlockTrace`].
    BlockErasures,
    /// [`super::BitTrace`].
    BitErrors,
    /// [`super::RlpTrace`].
    Rlp,
}

/// What a file says of its trace, whatever the format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// Where it was taken: `stationary`, `mobile`, ...
    pub category: Option<String>,
    /// What the telephone showed.
    pub signal_strength: Option<SignalStrength>,
    /// When it was started, in the writer's words.
    pub start: Option<String>,
    /// Whether anybody measured it.
    pub origin: Option<Origin>,
    /// Every other key and its value, in order.
    pub notes: Vec<(String, String)>,
}

/// Where a trace comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A generator.
    Synthetic,
    /// A channel.
    Measured,
}

/// The bars of a telephone's display while a trace was taken, 1 (poor) to 5 (Ludwig 3.1.1): the
/// least and the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalStrength {
    /// The least.
    pub least: u8,
    /// The most.
    pub most: u8,
}

/// Header lines of a file that is being read, and what of them was not asked for yet.
pub(super) struct Fields<'a> {
    lines: Vec<(Line<'a>, &'a str, &'a str)>,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::BlockErasures, Self::BitErrors, Self::Rlp];

    /// The word in the header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockErasures => "block-erasures",
            Self::BitErrors => "bit-errors",
            Self::Rlp => "rlp",
        }
    }

    /// The format that the header of `text` names, if it names one.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (_, _, name) = Fields::of("", text).take("format")?;
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    const fn wanted(self) -> &'static str {
        match self {
            Self::BlockErasures => "must be block-erasures here",
            Self::BitErrors => "must be bit-errors here",
            Self::Rlp => "must be rlp here",
        }
    }
}

impl Origin {
    /// The word in the header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Synthetic => "synthetic",
            Self::Measured => "measured",
        }
    }
}

impl fmt::Display for SignalStrength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most } = self;
        if least == most { write!(f, "{least}") } else { write!(f, "{least}-{most}") }
    }
}

impl SignalStrength {
    fn read(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse::<u8>().ok().filter(|bars| (1..=5).contains(bars));
        let (least, most) = match text.split_once('-') {
            Some((least, most)) => (number(least)?, number(most)?),
            None => (number(text)?, number(text)?),
        };
        (least <= most).then_some(Self { least, most })
    }
}

impl<'a> Fields<'a> {
    /// The header lines of `text`: those above the first line with data.
    pub fn of(file: &'a str, text: &'a str) -> Self {
        let comments = Line::of(file, text)
            .map(|line| (line, line.text.trim()))
            .take_while(|(_, text)| text.is_empty() || text.starts_with('#'));
        let lines = comments.filter_map(|(line, text)| {
            let (key, value) = text.trim_start_matches('#').split_once(':')?;
            let (key, value) = (key.trim(), value.trim());
            is_key(key).then_some((line, key, value))
        });
        Self { lines: lines.collect() }
    }

    /// The first line with this key, with its value.
    pub fn take(&mut self, key: &str) -> Option<(Line<'a>, &'a str, &'a str)> {
        let place = self.lines.iter().position(|line| line.1 == key)?;
        Some(self.lines.remove(place))
    }

    /// The value of the line with this key, as `read` makes it.
    pub fn value<T>(
        &mut self,
        key: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, TraceError> {
        let Some((line, _, text)) = self.take(key) else { return Ok(None) };
        if let Some((again, _, text)) = self.take(key) {
            return Err(again.wrong(key, text, "is already in the header: remove one of the two"));
        }
        read(text).map(Some).ok_or_else(|| line.wrong(key, text, wanted))
    }

    /// What the formats share. `format` is the one that is being read; a format of its own must
    /// have taken its keys before.
    pub fn header(mut self, format: Format) -> Result<Header, TraceError> {
        let is = |name: &str| (name == format.name()).then_some(());
        self.value("format", format.wanted(), is)?;
        self.value("version", "must be 1: the file comes from a later version of lasthop", |text| {
            (text == VERSION).then_some(())
        })?;
        let text = |text: &str| Some(text.to_owned());
        Ok(Header {
            category: self.value("category", "", text)?,
            signal_strength: self.value(
                "signal-strength",
                "must be 1 to 5 bars, such as 3 or 3-4",
                SignalStrength::read,
            )?,
            start: self.value("start", "", text)?,
            origin: self.value("origin", "must be synthetic or measured", |text| {
                [Origin::Synthetic, Origin::Measured].into_iter().find(|origin| origin.name() == text)
            })?,
            notes: self.lines.iter().map(|&(_, key, value)| (key.to_owned(), value.to_owned())).collect(),
        })
    }
}

/// Whether `text` can be a key: what else stands before a colon is prose.
fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

impl Header {
    /// Writes the header of a file of `format`, whose own keys are `own`.
    pub(super) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        format: Format,
        own: &[(&str, String)],
    ) -> fmt::Result {
        writeln!(f, "# format: {}\n# version: {VERSION}", format.name())?;
        for (key, value) in own {
            writeln!(f, "# {key}: {value}")?;
        }
        let texts = [
            ("category", self.category.clone()),
            ("signal-strength", self.signal_strength.map(|bars| bars.to_string())),
            ("start", self.start.clone()),
            ("origin", self.origin.map(|origin| origin.name().to_owned())),
        ];
        let known = texts.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
        // A key of this format may be a note of the trace that this one was made of.
        let notes = self.notes.iter().filter(|note| own.iter().all(|(key, _)| *key != note.0));
        let notes = notes.map(|(key, value)| (key.as_str(), value.as_str()));
        for (key, value) in known.chain(notes) {
            // A line break in a value would end the header.
            writeln!(f, "# {key}: {}", value.replace('\n', " ").trim())?;
        }
        Ok(())
    }

    /// The value of the note with this key.
    #[must_use]
    pub fn note(&self, key: &str) -> Option<&str> {
        self.notes.iter().find(|note| note.0 == key).map(|note| note.1.as_str())
    }
}
