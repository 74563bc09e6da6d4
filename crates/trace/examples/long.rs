use std::path::Path;
use trace::analysis::{self, Options, Unwatched};
use trace::long::Long;
fn main() {
    for path in std::env::args().skip(1) {
        let trace = analysis::read(Path::new(&path), &Options::default(), &mut Unwatched).unwrap();
        for interface in &trace.interfaces {
            for (index, connection) in interface.connections.all().iter().enumerate() {
                if index > 0 {
                    println!("================================");
                }
                print!("{}", Long { connection, number: index + 1, end: interface.end(), file: &path });
            }
        }
    }
}
