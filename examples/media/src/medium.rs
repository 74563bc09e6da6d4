//! What a medium's header is: the part that must come whole, since one wrong bit in it spoils
//! everything after it.

pub mod jpeg;
pub mod wav;

/// What damage can be borne of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// `image/jpeg`
    Jpeg,
    /// `audio/wav`
    Wav,
    /// `audio/L16` (RFC 2586): samples and nothing else
    L16,
}

/// Where the header ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderEnd {
    /// Its length in bytes.
    At(usize),
    /// Behind the bytes that were looked at.
    Later,
    /// There are headers up to the end: nothing of it bears damage.
    Nowhere,
}

/// Why it is not what it was said to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no {medium}: {reason}")]
pub struct NotThis {
    /// What it was said to be.
    pub medium: &'static str,
    /// What it has that this medium has not.
    pub reason: String,
}

impl Medium {
    /// By the value of a `Content-Type` field; `None` for what bears no damage.
    #[must_use]
    pub fn of_content_type(value: &str) -> Option<Self> {
        let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "image/jpeg" => Some(Self::Jpeg),
            // Four names of one thing; Python's server says the second.
            "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some(Self::Wav),
            "audio/l16" => Some(Self::L16),
            _ => None,
        }
    }

    /// Where the header ends, by the first bytes of it.
    ///
    /// # Errors
    /// If they are not this medium's.
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
