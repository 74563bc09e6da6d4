//! Verdicts and true causes as a text table.

use results::Confusion;
use results::confusion::{OfCause, Share};
use std::fmt;

/// Displays a confusion matrix.
pub struct Matrix<'a>(pub &'a Confusion);

/// Displays a share, for example `12  80.0 % (54.8 to 93.0)`.
struct Column(Share);

impl fmt::Display for Column {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(share), Some(interval)) = (self.0.value, self.0.interval) else {
            return write!(to, "{:>6}{:>24}", "-", "");
        };
        let interval = format!("({:.1} to {:.1})", interval.low * 100.0, interval.high * 100.0);
        write!(to, "{:>6}{:>7.1} % {interval:<15}", self.0.of, share * 100.0)
    }
}

impl fmt::Display for Matrix<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.rows();
        if rows.is_empty() {
            return writeln!(to, "  no loss");
        }
        let (wireless, congestion) = ("wireless (95 %)", "congestion (95 %)");
        writeln!(
            to,
            "  {:<12}{wireless:>22}{:8}{congestion:>22}{:8}{:>10}{:>9}{:>12}",
            "true cause", "", "", "no verdict", "timeout", "reductions"
        )?;
        for row in rows {
            let OfCause { cause, wireless, congestion, unjudged, timeouts, reductions } = row;
            let (name, wireless, congestion) = (cause.name(), Column(wireless), Column(congestion));
            writeln!(to, "  {name:<12}{wireless}{congestion}{unjudged:>10}{timeouts:>9}{reductions:>12}")?;
        }
        Ok(())
    }
}
