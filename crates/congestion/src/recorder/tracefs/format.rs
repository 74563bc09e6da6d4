//! The `format` file of an event, which says where its fields lie. Offsets differ between kernels,
//! and fields are added; names stay.

use std::collections::BTreeMap;

/// Format of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    /// The event's number: the first two bytes of each of its records.
    pub(super) id: u16,
    fields: BTreeMap<String, Field>,
}

/// Position of a field, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

impl Format {
    /// Parses the text of a `format` file; the error says what is missing.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"));
        let id = id.and_then(|id| id.trim().parse().ok()).ok_or("it has no `ID:`")?;
        let fields = text.lines().filter_map(|line| line.trim_start().strip_prefix("field:"));
        Ok(Self { id, fields: fields.filter_map(field).collect() })
    }

    /// Checks that the event has all these fields; the error names the first missing one.
    pub(super) fn require(&self, names: &[&str]) -> Result<(), String> {
        match names.iter().find(|name| !self.fields.contains_key(**name)) {
            None => Ok(()),
            Some(name) => Err(format!("it has no field `{name}`")),
        }
    }

    /// Returns the bytes of a field; `None` if the event has no such field, or the record is too
    /// short.
    pub(super) fn bytes<'a>(&self, record: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let Field { offset, size } = *self.fields.get(name)?;
        record.get(offset..offset.checked_add(size)?)
    }

    /// Returns a number of at most eight bytes. Negative numbers keep their bits.
    pub(super) fn number(&self, record: &[u8], name: &str) -> Option<u64> {
        let bytes = self.bytes(record, name)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }
}

/// Parses a line such as `unsigned short common_type; offset:0; size:2; signed:0;`.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    // The name comes last, before the length of an array.
    let name = declaration.split('[').next()?.split_whitespace().last()?;
    let (mut offset, mut size) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            _ => {}
        }
    }
    Some((name.to_owned(), Field { offset: offset?, size: size? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = include_str!("../../../tests/data/tcp_probe.format");

    #[test]
    fn fields_are_where_the_kernel_says() {
        let format = Format::parse(FORMAT).expect("a format");
        format.require(&["saddr", "snd_cwnd", "sock_cookie"]).expect("its fields");
        let record: Vec<u8> = (0..136).collect();
        assert_eq!(format.bytes(&record, "saddr"), Some(&record[8..36]));
        assert_eq!(format.number(&record, "snd_cwnd"), Some(0x5b5a_5958));
        assert_eq!(format.number(&record[..90], "snd_cwnd"), None);
        assert_eq!(format.number(&record, "saddr"), None);
        assert_eq!(format.require(&["snd_una", "colour"]), Err("it has no field `colour`".to_owned()));
    }

    #[test]
    fn what_is_no_format() {
        assert!(Format::parse("field:int x; offset:0; size:4;").is_err());
        assert_eq!(
            Format::parse("ID: 7\n field:int x; offset:-1; size:4;\nfield:;").expect("an ID").fields.len(),
            0
        );
    }
}
