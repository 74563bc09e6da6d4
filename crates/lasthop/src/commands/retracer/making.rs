//! The subcommands `lasthop retracer make`, `even` and `blocks`, which write traces.

use super::arguments::{BlocksArguments, EvenArguments, MakeArguments};
use super::reading;
use crate::failure::Failure;
use crate::outputs;
use link::blocks::{BitTrace, BlockTrace, Format, RlpTrace};
use link::units::{Probability, Span};
use retracer::synthetic::{Recipe, sets};
use std::io::{self, Write};
use std::path::Path;

/// Makes a synthetic trace.
pub fn make(arguments: &MakeArguments) -> Result<(), Failure> {
    let MakeArguments { set, duration, bler, burst, law, seed, output } = arguments;
    let set =
        set.as_ref().and_then(|name| sets().into_iter().find(|set| set.name.eq_ignore_ascii_case(name)));
    // Without a set, the command line requires all of these.
    let usual = set.map_or((Span::ZERO, Probability::ZERO, 1.0), |set| {
        (set.recipe.duration, set.recipe.erased, set.recipe.burst)
    });
    let recipe = Recipe {
        duration: duration.unwrap_or(usual.0),
        erased: bler.unwrap_or(usual.1),
        burst: burst.unwrap_or(usual.2),
        law: *law,
    };
    let trace = match set {
        Some(set) => set.make(&recipe, *seed)?,
        None => recipe.make(*seed)?,
    };
    write(&trace, output.as_deref())
}

/// Makes the even trace of another trace.
pub fn even(arguments: &EvenArguments) -> Result<(), Failure> {
    let trace = reading::blocks(&arguments.trace, arguments.block)?;
    let name = arguments.trace.file_name().unwrap_or(arguments.trace.as_os_str()).to_string_lossy();
    outputs::check([arguments.output.as_ref()])?;
    write(&retracer::even::of_trace(&trace, &name), arguments.output.as_deref())
}

/// Makes blocks from bits, or from the received blocks of an RLP trace.
pub fn blocks(arguments: &BlocksArguments) -> Result<(), Failure> {
    let BlocksArguments { trace, bits, correct, block, output } = arguments;
    outputs::check([output.as_ref()])?;
    let (name, text) = (trace.display().to_string(), reading::text(trace)?);
    let made = match (Format::of(&text), bits) {
        (Some(Format::Rlp), _) => RlpTrace::parse(&name, &text)?.blocks(),
        (Some(Format::BitErrors), Some(bits)) => {
            let trace = BitTrace::parse(&name, &text)?;
            let (wrong, all, ratio) = (trace.errors(), trace.bits(), trace.bit_error_ratio());
            anstream::eprintln!("{wrong} of {all} bits wrong: bit error ratio {ratio}");
            let erased = trace.blocks(*bits, *correct).ok_or_else(|| {
                format!("{name} has more than {} blocks of {bits} bits", BitTrace::MOST_BLOCKS)
            })?;
            let mut header = trace.header;
            let said = format!("blocks of {bits} bits, erased with more than {correct} wrong");
            header.notes.push(("generator".to_owned(), said));
            BlockTrace { header, period: *block, payload: BlockTrace::GSM_PAYLOAD, erased }
        }
        (Some(Format::BitErrors), None) => {
            return Err(format!("{name} is a bit error trace: give the bits of a block with --bits").into());
        }
        (Some(Format::BlockErasures), _) => {
            return Err(format!("{name} is already a block erasure trace").into());
        }
        (None, _) => {
            return Err(format!(
                "{name} does not state its format: begin it with a line `# format: bit-errors` or `# format: rlp`"
            )
            .into());
        }
    };
    write(&made, output.as_deref())
}

fn write(trace: &BlockTrace, output: Option<&Path>) -> Result<(), Failure> {
    let text = trace.to_string();
    match output {
        Some(path) => {
            capture::output::write(path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        None => io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(())
}
