//! Compiles the crate anew when a file is added to or taken from `kernel/`, whose files are embedded.

fn main() {
    println!("cargo::rerun-if-changed=../../kernel");
}
