//! Compiles the crate anew when a file is added to or taken from `kernel/` or the congestion
//! controls, whose files are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../kernel");
    println!("cargo::rerun-if-changed=../congestion/algorithms");
}
