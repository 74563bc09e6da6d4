//! Compiles the eBPF programs with clang and writes the Rust code that loads them.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::PathBuf;

const SOURCE: &str = "bpf/lite.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed=include");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("lite.skel.rs");
    // Debian puts asm/ of the kernel's headers into a directory of the architecture.
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let headers = format!("-I/usr/include/{architecture}-linux-gnu");
    let mut builder = SkeletonBuilder::new();
    // v3: 32-bit registers, and atomic instructions that return a value (Linux 5.12).
    builder.source(SOURCE).clang_args([headers.as_str(), "-mcpu=v3", "-Wall", "-Werror"]);
    if let Err(error) = builder.build_and_generate(output) {
        panic!(
            "{SOURCE} cannot be compiled; it needs clang 14 or later (Debian: apt-get install clang): {error:#}"
        );
    }
}
