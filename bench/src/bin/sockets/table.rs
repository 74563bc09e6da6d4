//! Medians and ranges of what each world has measured, and ratios to one of the worlds. Ratios are
//! taken within a round, because a disturbance of some seconds affects measurements that are close
//! in time.

use comfy_table::{Table, presets};
use std::io::{self, Write};
use std::path::Path;

/// Values per world and metric, in the order of the rounds.
type Series = Vec<((String, String), Vec<f64>)>;

fn read(text: &str) -> io::Result<Series> {
    let mut series: Series = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let words: Vec<_> = text.split_whitespace().collect();
        let value = words.get(2).and_then(|value| value.parse().ok());
        let (&[world, metric, _], Some(value)) = (&words[..], value) else {
            let what = format!("line {}: `{text}` is not `world metric value`", line + 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        };
        let key = (world.to_owned(), metric.to_owned());
        match series.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => series.push((key, vec![value])),
        }
    }
    Ok(series)
}

fn spread(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    };
    (sorted[0], median, sorted[sorted.len() - 1])
}

pub fn print(file: &Path, against: &str) -> io::Result<()> {
    let series = read(&std::fs::read_to_string(file)?)?;
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["metric", "world", "median", "range", "n", &format!("over {against}")]);
    let mut metrics: Vec<&str> = Vec::new();
    for ((_, metric), _) in &series {
        if !metrics.contains(&metric.as_str()) {
            metrics.push(metric);
        }
    }
    for metric in metrics {
        let reference = series.iter().find(|((world, of), _)| world == against && of == metric);
        for ((world, _), values) in series.iter().filter(|((_, of), _)| of == metric) {
            let (lowest, median, highest) = spread(values);
            let ratios: Vec<_> =
                reference.iter().flat_map(|(_, base)| values.iter().zip(base)).map(|(a, b)| a / b).collect();
            let ratio = if ratios.is_empty() { String::new() } else { format!("{:.2}", spread(&ratios).1) };
            table.add_row([
                metric.to_owned(),
                world.clone(),
                format!("{median:.4}"),
                format!("{lowest:.4}-{highest:.4}"),
                values.len().to_string(),
                ratio,
            ]);
        }
    }
    writeln!(io::stdout(), "{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values keep the order of their rounds; the error for an invalid line names the line.
    #[test]
    fn lines_are_read() {
        let series = read("direct ping 1\nresoa ping 4\ndirect ping 3\n").expect("lines");
        assert_eq!(series[0], (("direct".into(), "ping".into()), vec![1.0, 3.0]));
        assert_eq!(spread(&series[0].1), (1.0, 2.0, 3.0));
        let error = read("direct ping 1\ndirect ping fast\n").expect_err("no number");
        assert!(error.to_string().contains("line 2: `direct ping fast`"), "{error}");
    }
}
