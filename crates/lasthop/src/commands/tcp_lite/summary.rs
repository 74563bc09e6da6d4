//! Summary of damaged segments as text.

use tcp_lite::{Reason, Totals};

/// Returns lines about accepted segments, discarded segments, and segments whose damage could not
/// be detected.
pub fn lines(totals: &Totals) -> Vec<String> {
    let mut lines = Vec::new();
    let Totals { damaged, accepted, confirmed, bytes, unverifiable, untracked, .. } = *totals;
    if damaged == 0 {
        lines.push("no damaged segment arrived for a connection that accepts damage".to_owned());
    } else {
        let share = 100.0 * accepted as f64 / damaged as f64;
        lines.push(format!(
            "{damaged} damaged segments, {accepted} accepted ({share:.1} %), {confirmed} of them with intact data; {bytes} bytes may be damaged"
        ));
        let reasons: Vec<_> = Reason::ALL
            .into_iter()
            .map(|reason| (reason.name(), totals.discarded_for(reason)))
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        if !reasons.is_empty() {
            lines.push(format!("discarded: {}", reasons.join(", ")));
        }
    }
    // One in 65 536 damaged segments looks as if it had a partial checksum.
    if unverifiable > damaged {
        lines.push(format!(
            "{unverifiable} segments arrived with a partial checksum, which shows no damage: their sender leaves checksums to a device that does not exist; disable that at the sender (ethtool -K INTERFACE tx off)"
        ));
    }
    if untracked > 0 {
        lines.push(format!("{untracked} connections were not tracked: there is room for 32768"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damaged_segment_is_in_the_summary() {
        let mut totals = Totals { damaged: 10, accepted: 8, confirmed: 1, bytes: 7000, ..Totals::default() };
        totals.discarded[Reason::Position as usize] = 2;
        assert_eq!(
            lines(&totals),
            [
                "10 damaged segments, 8 accepted (80.0 %), 1 of them with intact data; 7000 bytes may be damaged",
                "discarded: position 2"
            ]
        );
        assert_eq!(
            lines(&Totals::default()),
            ["no damaged segment arrived for a connection that accepts damage"]
        );
    }
}
