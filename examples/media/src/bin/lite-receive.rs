//! Receives a picture or sound over HTTP, its headers whole and the rest with damage, and says what
//! came.

use clap::{Parser, ValueEnum};
use media_examples::receive::{HEADER_ROOM, Options, Received, receive};
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Receive a picture or sound over HTTP, damage welcome
///
/// The headers of HTTP and of the medium come whole; what follows may be damaged (TCP Lite, see
/// tcp_lite(7)). Media are image/jpeg, audio/wav and audio/L16.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  lasthop tcp-lite run --on-request -- lite-receive http://198.51.100.1/picture.jpg --out picture.jpg
  lite-receive http://198.51.100.1/song.wav --out song.wav --lite off --json")]
struct Arguments {
    /// URL: http://HOST/PATH or http://HOST:PORT/PATH
    url: String,
    /// Where to write it
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Whether to ask for damage
    #[arg(long, value_enum, default_value = "on")]
    lite: Lite,
    /// Bytes of the stream that are never damaged: room for both headers. If they need more, the
    /// transfer begins anew with more
    #[arg(long, value_name = "BYTES", default_value_t = HEADER_ROOM)]
    header_room: usize,
    /// Say what came as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Lite {
    Off,
    On,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lite-receive: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let options = Options { lite: arguments.lite == Lite::On, header_room: arguments.header_room };
    let Received { body, account } = receive(&arguments.url, &options)?;
    fs::write(&arguments.out, body)
        .map_err(|error| format!("cannot write {}: {error}", arguments.out.display()))?;
    if arguments.json {
        println!("{}", serde_json::to_string(&account)?);
        return Ok(());
    }
    let seconds = account.nanoseconds as f64 / 1e9;
    println!("{} bytes of {} in {seconds:.3} s", account.bytes, account.content_type);
    if let Some(segments) = account.segments.as_ref().filter(|_| account.lite) {
        let may_be: u64 = account.damaged_ranges.iter().map(|range| range.end - range.start).sum();
        println!(
            "{} damaged segments, {} accepted, {} of them with intact data; {may_be} bytes may be damaged",
            segments.damaged, segments.accepted, segments.confirmed
        );
    }
    Ok(())
}
