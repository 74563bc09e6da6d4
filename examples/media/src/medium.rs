//! The header of a medium: the part that must arrive undamaged, because one wrong bit in it spoils
//! everything after it.

pub mod jpeg;
pub mod wav;

/// A medium that remains useful when it is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// `image/jpeg`
    Jpeg,
    /// `audio/wav`
    Wav,
    /// `audio/L16` (RFC 2586): only samples
    L16,
}

/// Where a medium's header ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderEnd {
    /// After this number of bytes.
    At(usize),
    /// Behind the bytes that were examined.
    Later,
    /// Nowhere: there are headers up to the end, so no part may be damaged.
    Nowhere,
}

/// Why data are not of the stated medium.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a {medium}: {reason}")]
pub struct NotThis {
    /// The stated medium.
    pub medium: &'static str,
    /// How the data differ from it.
    pub reason: String,
}

impl Medium {
    /// Returns the medium for the value of a `Content-Type` field; `None` if it must not be
    /// damaged.
    #[must_use]
    pub fn of_content_type(value: &str) -> Option<Self> {
        let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "image/jpeg" => Some(Self::Jpeg),
            // Four names for the same format; Python's server uses the second.
            "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some(Self::Wav),
            "audio/l16" => Some(Self::L16),
            _ => None,
        }
    }

    /// Returns where the header ends, given the first bytes of the medium.
    ///
    /// # Errors
    /// If the bytes are not of this medium.
    pub fn header_end(self, start: &[u8]) -> Result<HeaderEnd, NotThis> {
        match self {
            Self::Jpeg => jpeg::header_end(start),
            Self::Wav => wav::header_end(start),
            Self::L16 => Ok(HeaderEnd::At(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        let of = Medium::of_content_type;
        assert_eq!(of("image/jpeg"), Some(Medium::Jpeg));
        assert_eq!(of(" Image/JPEG ; charset=binary"), Some(Medium::Jpeg));
        assert_eq!(of("audio/x-wav"), Some(Medium::Wav));
        assert_eq!(of("audio/L16;rate=22050"), Some(Medium::L16));
        assert_eq!(of("text/html"), None);
        assert_eq!(of("image/jpegs"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn samples_alone_have_no_header() {
        assert_eq!(Medium::L16.header_end(&[]), Ok(HeaderEnd::At(0)));
    }
}
