//! Any text is parsed as a profile or refused. The links of a valid profile can be printed and
//! measured; building them succeeds or returns an error.

use link::profile::{Content, LinkProfile, Profile};
use link::{Direction, Seed};

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    // Files that the profile names have the profile's own content, which is rarely a trace: other
    // targets cover traces.
    let Ok(profile) = Profile::parse("fuzz.toml", text, &mut |_| Ok(text.to_owned())) else { return };
    assert!(!profile.title.trim().is_empty() && !profile.source.trim().is_empty());
    let link = match profile.content {
        Content::Link(link) => link,
        Content::Loss(losses) => {
            let mut link = LinkProfile::default();
            link.add_losses(&losses);
            link
        }
    };
    let _ = link.bandwidth_delay_product();
    for direction in Direction::BOTH {
        let spec = link.direction(direction);
        let _ = spec.to_string();
        if let Ok(pipeline) = spec.build(&Seed::campaign(1).direction(direction)) {
            assert_eq!(pipeline.waiting(), 0);
        }
    }
}
