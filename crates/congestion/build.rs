//! Compiles the eBPF program with clang and writes the Rust that loads it.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::PathBuf;

const SOURCE: &str = "bpf/sender_state.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("sender_state.skel.rs");
    if let Err(error) = SkeletonBuilder::new().source(SOURCE).build_and_generate(output) {
        panic!(
            "{SOURCE} cannot be compiled; it needs clang 14 or later (Debian: apt-get install clang): {error:#}"
        );
    }
}
