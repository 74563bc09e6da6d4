//! Both layers together (MultiTracer): a connection at the ends of TCP and of the link, as text,
//! JSON, figure or graphs; or a directory of runs as a table of link utilization.

mod drawing;
mod inputs;
mod json;
mod records;
mod runs;
mod text;

use super::arguments::{AnalyzeArguments, Clocks};
use crate::failure::Failure;
use crate::notice::Notice;
use capture_analysis::TraceError;
use capture_analysis::layers::time::Alignment;
use capture_analysis::layers::{Sources, Tracing, xpl};
use capture_analysis::spurious::pair;
use inputs::Inputs;
use std::fs;
use std::io::{BufWriter, StdoutLock};
use std::path::Path;

/// Prints or writes the requested results.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    if arguments.files.iter().all(|path| path.is_dir()) {
        return runs::print(arguments, output);
    }
    let inputs = Inputs::read(arguments, &arguments.files)?;
    let (tracing, others) = trace(arguments, &inputs)?;
    let notice = Notice::new(false);
    if let Some(path) = &arguments.svg {
        drawing::write(path, &tracing, span(arguments))?;
        notice.say(format_args!("figure: {}", path.display()));
    }
    if let Some(path) = &arguments.html {
        report::layers::write(path, &tracing.view)?;
        notice.say(format_args!("page: {}", path.display()));
    }
    if let Some(folder) = &arguments.xpl {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let path = folder.join("layers.xpl");
        xpl::write(&path, &tracing.view)?;
        notice.say(format_args!("graphs: {}", path.display()));
    }
    if arguments.json {
        json::print(output, &tracing)?;
    } else {
        text::print(output, &tracing, others)?;
    }
    Ok(())
}

/// Analyses the requested direction of a connection, or else the direction with the most bytes.
/// Also returns the number of other directions.
fn trace(arguments: &AnalyzeArguments, inputs: &Inputs) -> Result<(Tracing, usize), Failure> {
    let all = pair(&inputs.interfaces);
    let wanted = |number: usize| arguments.connection.is_none_or(|wanted| wanted as usize == number);
    let chosen = all.iter().filter(|sides| wanted(sides.sender.1.connection));
    let bytes = |sides: &&pair::Sides<'_>| -> u64 {
        sides.sender.1.transmissions.iter().map(|sent| sent.end - sent.first).sum()
    };
    let Some(sides) = chosen.max_by_key(bytes) else {
        let path = arguments.files.first().cloned().unwrap_or_default();
        let there = all.iter().map(|sides| sides.sender.1.connection).max().unwrap_or(0);
        return Err(match arguments.connection {
            Some(wanted) => TraceError::NoConnection { path, wanted: wanted as usize, there }.into(),
            None => format!("{}: no TCP connection with data", path.display()).into(),
        });
    };
    let flow = sides.sender.1;
    let alignment = match arguments.clocks {
        Clocks::Syn => Alignment::Syn,
        Clocks::Common => Alignment::Common,
        Clocks::Estimate => Alignment::Estimated,
    };
    let sources = Sources {
        sides: *sides,
        ends: &inputs.ends(flow.began),
        limiters: &inputs.limiters,
        states: inputs.states.get(&flow.ends).map_or(&[], Vec::as_slice),
        receiver_window: inputs.window(sides),
        alignment,
        span: span(arguments),
    };
    let mut tracing = capture_analysis::layers::view(&sources);
    // A figure may be published, so it must not reveal the directories of captures.
    for path in &arguments.files {
        tracing.view.title = tracing.view.title.replace(&path.display().to_string(), &name(path));
    }
    Ok((tracing, all.len() - 1))
}

/// Returns the requested time span, in nanoseconds since time zero.
fn span(arguments: &AnalyzeArguments) -> Option<(i64, i64)> {
    let nanos = |span: link::units::Span| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    let (from, to) = (arguments.from.map(nanos), arguments.to.map(nanos));
    (from.is_some() || to.is_some()).then(|| (from.unwrap_or(0), to.unwrap_or(i64::MAX)))
}

/// Returns the file name of a path.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
