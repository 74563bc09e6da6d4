//! Compiles the eBPF programs that hold FINs with clang and writes the Rust that loads them.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::PathBuf;

const SOURCE: &str = "src/bpf/fin_hold.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("fin_hold.skel.rs");
    // Debian keeps asm/ of the kernel's headers by architecture.
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let headers = format!("-I/usr/include/{architecture}-linux-gnu");
    let mut builder = SkeletonBuilder::new();
    // v3: 32-bit registers, and atomic instructions that answer (Linux 5.12). A place on the stack
    // that has held a pointer may not hold half a number later, unless the loader has CAP_PERFMON:
    // so places are not shared.
    let places = ["-mllvm", "-no-stack-slot-sharing"];
    builder
        .source(SOURCE)
        .clang_args([headers.as_str(), "-mcpu=v3", "-Wall", "-Werror"].iter().chain(&places));
    if let Err(error) = builder.build_and_generate(output) {
        panic!(
            "{SOURCE} cannot be compiled; it needs clang 14 or later (Debian: apt-get install clang): {error:#}"
        );
    }
}
