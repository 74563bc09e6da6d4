//! `[series]` of a plan: its fields, checked against the plan's factors.

use super::error::{PlanError, Source, unknown};
use super::file::SeriesFile;
use super::text::Text;
use link::units::Span;
use results::{Factor, Series};

/// Reads how the runs follow each other.
pub fn read(
    source: Source<'_>,
    written: Option<&SeriesFile>,
    factors: &[Factor],
) -> Result<Option<Series>, PlanError> {
    let Some(SeriesFile { gap, together }) = written else { return Ok(None) };
    let wrong = |text: &Text, field: &str, message: String| {
        source.error(&text.place, format!("`series`: `{field}`: {message}"))
    };
    let time = |text: &Text| {
        let parsed: Result<Span, _> = text.value.parse();
        parsed.map(Span::as_nanos).map_err(|error| wrong(text, "gap", error.to_string()))
    };
    let gap_ns = [time(&gap[0])?, time(&gap[1])?];
    if gap_ns[0] > gap_ns[1] {
        let (first, second) = (&gap[0].value, &gap[1].value);
        let message = format!("{first} is longer than {second}: write the shortest gap first");
        return Err(wrong(&gap[0], "gap", message));
    }
    let known = |text: &Text| {
        if factors.iter().any(|factor| factor.name == text.value) {
            return Ok(text.value.clone());
        }
        let names = factors.iter().map(|factor| factor.name.as_str());
        Err(wrong(text, "together", unknown("factor", &text.value, names)))
    };
    let together = together.iter().map(known).collect::<Result<_, _>>()?;
    Ok(Some(Series { gap_ns, together }))
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use results::Series;

    const PLAN: &str = r#"
[[factors]]
name = "system"
levels = ["reno", "cubic"]
[[scenario.links]]
between = ["mobile", "server"]
profile = "wifi-b"
[[workloads]]
name = "page"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "1kB"
[series]
gap = ["1s", "10s"]
together = ["system"]
"#;

    #[test]
    fn a_series_has_gaps_and_groups() {
        let plan = Plan::parse("plan.toml", PLAN).unwrap_or_else(|error| panic!("{error}"));
        let expected = Series { gap_ns: [1_000_000_000, 10_000_000_000], together: vec!["system".into()] };
        assert_eq!(plan.series, Some(expected));
    }

    #[test]
    fn errors_name_line_field_value_and_what_would_be_right() {
        let cases = [
            (r#""1s", "#, r#""1", "#),
            (r#""1s", "#, r#""1min", "#),
            (r#"["system"]"#, r#"["systm"]"#),
            (r#"["system"]"#, r#"["size"]"#),
        ];
        let mut all = String::new();
        for (from, to) in cases {
            let error = Plan::parse("plan.toml", &PLAN.replacen(from, to, 1)).expect_err("a wrong plan");
            all = format!("{all}{error}\n\n");
        }
        insta::assert_snapshot!(all);
    }
}
