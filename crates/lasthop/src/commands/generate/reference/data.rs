//! Pages of data: profiles, metrics, tables, causes of loss, congestion controls, parameters of a
//! direction.

use super::{Page, table, wrapped};
use crate::failure::Failure;
use capture::{Cause, Loss, Schema};
use congestion::algorithms::CATALOGUE;
use experiment::catalogue;
use link::Direction;
use link::profile::{Content, Profile};
use results::Metric;
use std::fmt::Write as _;

/// Returns the page of the profiles that are shipped.
pub fn profiles() -> Result<Page, Failure> {
    let profiles = catalogue::all()?;
    let is_link = |profile: &&Profile| matches!(profile.content, Content::Link(_));
    let mut body = String::new();
    for (title, links) in [("Link profiles", true), ("Loss profiles", false)] {
        let _ = writeln!(body, "## {title}\n");
        for profile in profiles.iter().filter(|profile| is_link(profile) == links) {
            body += &described(profile);
        }
    }
    Ok(Page {
        file: "profiles.md".to_owned(),
        title: "Profiles that are shipped".to_owned(),
        about: "This page lists every link and loss profile that lasthop contains, with its stages and its \
                source. You need it to choose a profile, or to cite where its numbers come from; \
                [Profiles](../../profiles/README.md) describes the file format."
            .to_owned(),
        body,
    })
}

fn described(profile: &Profile) -> String {
    let mut text = format!("### {}\n\n{}.\n\n", profile.name, profile.title.trim_end_matches('.'));
    let ways: Vec<(&str, String)> = match &profile.content {
        Content::Link(link) => Direction::BOTH.map(|way| (way.name(), link.described(way))).into(),
        Content::Loss(loss) => {
            loss.directions.iter().map(|way| (way.name(), loss.errors.to_string())).collect()
        }
    };
    text += &table(["direction", "stages"], ways.into_iter().map(|(way, stages)| [way.to_owned(), stages]));
    if let Content::Link(link) = &profile.content
        && let Some(mtu) = link.mtu
    {
        let _ = writeln!(text, "\nMTU: {mtu} bytes.");
    }
    let _ = writeln!(text, "\n{}\n", wrapped(&format!("Source: {}", profile.source)));
    if let Some(note) = &profile.note {
        let _ = writeln!(text, "{}\n", wrapped(note));
    }
    text
}

/// Returns the page of the metrics.
pub fn metrics() -> Page {
    let rows = Metric::ALL.map(|metric| {
        [
            format!("`{}`", metric.name()),
            metric.title().to_owned(),
            metric.unit().to_owned(),
            metric.meaning().to_owned(),
        ]
    });
    Page {
        file: "metrics.md".to_owned(),
        title: "Metrics".to_owned(),
        about: "This page lists the metrics: one number for each run. You need it to read a report, and to \
                name a metric in `[[expect]]`, `[[require]]` or `lasthop compare`."
            .to_owned(),
        body: format!(
            "{}\n{}\n\n{}\n",
            table(["metric", "title", "unit", "meaning"], rows),
            wrapped(
                "A metric is computed over the connections of one workload. For several connections, bytes \
                 and counts are added, rates are those of all segments together, and delays are the median \
                 over the connections, weighted by their samples. Metrics of TCP Lite describe the whole run, \
                 and have a value only if a node accepts damage. A run without the necessary data has no value."
            ),
            wrapped(
                "The metric `figure.NAME` is a figure that a program reported: a `command` workload that prints \
                 the line `lasthop: load_s=1.25` has the metric `figure.load_s`. The last word of the name is the \
                 unit: `_s`, `_ms`, `_bytes`, `_bps` or `_percent`; other figures are plain numbers."
            )
        ),
    }
}

/// Returns the page of the columns of all tables.
pub fn tables() -> Page {
    let mut body = String::new();
    let mut section = |title: &str, about: &str, table: String| {
        let _ = writeln!(body, "## {title}\n\n{}\n\n{table}", wrapped(about));
    };
    section(
        "results.parquet",
        "A row for each connection of a campaign. The levels of the factors are in columns `factor.NAME` \
         after `cell`. Figures that programs reported are in columns `figure.NAME`, the last ones.",
        table(
            ["column", "unit", "meaning"],
            results::table::columns()
                .map(|[name, unit, meaning]| [format!("`{name}`"), unit.to_owned(), meaning.to_owned()]),
        ),
    );
    section(
        "losses.parquet",
        "A row for each loss event of a TCP sender (`[capture] losses`). `cell` and the columns \
         `factor.NAME` come first.",
        table(
            ["column", "meaning"],
            results::loss_table::columns().into_iter().map(|(name, meaning)| [format!("`{name}`"), meaning]),
        ),
    );
    section(
        "points.parquet",
        "A row for each flow at each end of a link (`[capture] points`): one direction of a TCP connection, \
         of a pair of UDP ports, or of another protocol. `cell` and the columns `factor.NAME` come first.",
        table(
            ["column", "meaning"],
            results::points::columns().into_iter().map(|(name, meaning)| [format!("`{name}`"), meaning]),
        ),
    );
    section(
        "Packet event log",
        "A row for each packet on each link: `events/*.parquet` of a campaign, `--events FILE` of \
         `lasthop link`.",
        columns::<capture::Fate>(),
    );
    section(
        "Log of TCP sender states",
        "A row for each acknowledgement: `events/*-senders.parquet` (`[capture] senders`).",
        columns::<capture::senders::SenderState>(),
    );
    section(
        "Link-layer log",
        "A row for each record of a link layer with retransmissions: `events/*-link-layer.parquet` \
         (`[capture] link-layer`), or beside `--events FILE`.",
        columns::<capture::link_layer::Row>(),
    );
    section(
        "Connections of captures",
        "Two rows for each connection, one for each direction: `lasthop analyze --parquet FILE`.",
        table(
            ["column", "meaning"],
            capture_analysis::table::table(&[])
                .columns
                .into_iter()
                .map(|column| [format!("`{}`", column.name), column.meaning]),
        ),
    );
    Page {
        file: "tables.md".to_owned(),
        title: "Columns of the Parquet tables".to_owned(),
        about: "This page lists the columns of every Parquet table that lasthop writes. You need it to read \
                results in pandas, Polars, DuckDB or R; each file also has these texts in its metadata, \
                under `lasthop.columns`."
            .to_owned(),
        body,
    }
}

fn columns<S: Schema>() -> String {
    let rows = S::COLUMNS.iter().map(|column| {
        [format!("`{}`", column.name), column.type_name().to_owned(), column.meaning.to_owned()]
    });
    table(["column", "type", "meaning"], rows)
}

/// Returns the page of the causes of packet loss.
pub fn losses() -> Page {
    let rows = Loss::ALL.map(|loss| {
        let cause = loss.cause().map_or("", Cause::name);
        [format!("`{}`", loss.name()), loss.to_string(), cause.to_owned()]
    });
    Page {
        file: "losses.md".to_owned(),
        title: "Causes of packet loss".to_owned(),
        about: "This page lists why a link can lose a packet. You need it to read event logs, summaries and \
                comments in captures."
            .to_owned(),
        body: table(["name in logs and tables", "words in summaries and captures", "true cause"], rows),
    }
}

/// Returns the page of the congestion controls that can be loaded.
pub fn congestion_controls() -> Page {
    let mut body = String::new();
    for algorithm in CATALOGUE {
        let _ = writeln!(
            body,
            "## {}\n\n{}\n\n{}\n\n{}\n",
            algorithm.name,
            wrapped(&format!("{}.", upper_first(algorithm.what))),
            wrapped(&format!("Published: {}.", algorithm.reference)),
            wrapped(&format!("Recovery: {}.", algorithm.recovery)),
        );
        let rows = algorithm.parameters.iter().map(|parameter| {
            [
                format!("`{}`", parameter.name),
                parameter.default.to_string(),
                format!("{} to {}", parameter.least, parameter.most),
                parameter.meaning.to_owned(),
            ]
        });
        if !algorithm.parameters.is_empty() {
            let _ = writeln!(body, "{}", table(["parameter", "default", "range", "meaning"], rows));
        }
    }
    Page {
        file: "congestion-controls.md".to_owned(),
        title: "Congestion controls that can be loaded".to_owned(),
        about: "This page lists the congestion controls of `lasthop cc load` and their parameters. You need \
                it to load one, or to set its parameters in a plan; \
                [Congestion controls](../congestion-control.md) explains how they work."
            .to_owned(),
        body,
    }
}

/// Returns the page of the parameters of a direction.
pub fn parameters() -> Page {
    let rows = link::profile::PARAMETERS.iter().map(|(name, help)| {
        let (values, meaning) = help.split_once(": ").unwrap_or((help, ""));
        [format!("`{name}`"), values.to_owned(), meaning.to_owned()]
    });
    Page {
        file: "parameters.md".to_owned(),
        title: "Parameters of a direction".to_owned(),
        about: "This page lists the parameters of `--up` and `--down`, of `up` and `down` in plans, and of \
                `lasthop link set`. You need it to describe a link without writing a profile."
            .to_owned(),
        body: format!(
            "Parameters are separated by commas: `--down rate=2mbit,delay=40ms,loss=1%`.\n\n{}",
            table(["parameter", "values", "meaning"], rows)
        ),
    }
}

fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
