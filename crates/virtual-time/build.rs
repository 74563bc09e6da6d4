//! Recompiles the crate when a file of `kernel/` or of the congestion controls changes, because
//! these files are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../kernel");
    println!("cargo::rerun-if-changed=../congestion/algorithms");
}
