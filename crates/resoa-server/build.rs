//! Compiles the eBPF programs that hold FINs with clang, and generates the Rust code that loads
//! them.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::PathBuf;

const SOURCE: &str = "src/bpf/fin_hold.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("fin_hold.skel.rs");
    // Debian keeps the kernel's asm/ headers in a folder per architecture.
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let headers = format!("-I/usr/include/{architecture}-linux-gnu");
    let mut builder = SkeletonBuilder::new();
    // v3 gives 32-bit registers and atomic instructions that return a value (Linux 5.12). Unless
    // the loader has CAP_PERFMON, a stack slot that has held a pointer may not hold half of a
    // number later. So slots are not shared.
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
