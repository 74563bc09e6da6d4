//! Writes a synthetic multi-layer view, to look at its page while working on `web/src/layers/`:
//! `cargo run -p report --example layers -- FOLDER [--packets N]`. N (default 100 000) is the
//! number of packets in both captures together.

#[path = "../tests/multilayer/mod.rs"]
mod multilayer;

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: layers FOLDER [--packets N]";
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (folder, packets) = match arguments.as_slice() {
        [folder] => (folder, 100_000),
        [folder, option, packets] if option == "--packets" => (folder, packets.parse().map_err(|_| usage)?),
        _ => return Err(usage.into()),
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let view = multilayer::view(packets);
    let points: usize = view.graphs.iter().map(|graph| graph.points.len()).sum();
    let file = folder.join("layers.html");
    let start = Instant::now();
    report::layers::write(&file, &view)?;
    let bytes = std::fs::metadata(&file)?.len();
    println!(
        "{}  {packets} packets, {points} points, {:.1} MB, written in {:.1} s",
        file.display(),
        bytes as f64 / 1e6,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
