//! Compiles the eBPF programs with clang: the recorder with the Rust code that loads it, and an
//! object for each congestion control.

use libbpf_cargo::SkeletonBuilder;
use libbpf_rs::Linker;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDER: &str = "bpf/sender_state.bpf.c";
const ALGORITHMS: &str = "algorithms";
const USER_SIDE: &str = "tests/user_side";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed={ALGORITHMS}");
    println!("cargo:rerun-if-changed={USER_SIDE}/user.h");
    println!("cargo:rerun-if-changed={USER_SIDE}/registry.c");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let recorder =
        SkeletonBuilder::new().source(RECORDER).build_and_generate(output.join("sender_state.skel.rs"));
    recorder.unwrap_or_else(|error| complain(Path::new(RECORDER), &format!("{error:#}")));
    let headers = output.join("headers");
    fs::create_dir_all(headers.join("bpf")).expect("cargo's directory can be written");
    for (name, text) in libbpf_sys::API_HEADERS {
        fs::write(headers.join("bpf").join(name), text).expect("cargo's directory can be written");
    }
    let sources = fs::read_dir(ALGORITHMS).expect("it is beside this file");
    for source in sources.map(|entry| entry.expect("it can be read").path()) {
        if source.extension().is_some_and(|extension| extension == "c") {
            compile(&source, &headers, &output);
            for_tests(&source);
        }
    }
    for_tests(&Path::new(USER_SIDE).join("registry.c"));
}

/// Compiles a source for user space and links it only to the tests.
fn for_tests(source: &Path) {
    let name = source.file_stem().expect("it is a file").to_string_lossy();
    let mut build = cc::Build::new();
    build.file(source).include(USER_SIDE).include(ALGORITHMS).define("LASTHOP_USER_SIDE", None);
    build.define("FILE_NAME", format!("\"{name}\"").as_str());
    build.warnings(true).extra_warnings(true).flag("-Wno-unused-parameter").cargo_metadata(false);
    for object in build.compile_intermediates() {
        println!("cargo:rustc-link-arg-tests={}", object.display());
    }
}

/// Compiles an algorithm. It gets no skeleton, because all algorithms are loaded by the same code,
/// by the names of their parameters.
fn compile(source: &Path, headers: &Path, output: &Path) {
    let name = PathBuf::from(source.file_name().expect("it is a file")).with_extension("o");
    let object = output.join(&name);
    let with_debug = output.join(name.with_extension("debug.o"));
    // Debian puts asm/ of the kernel's headers into a directory of the architecture.
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let mut clang = Command::new("clang");
    clang.args([
        "-g",
        "-O2",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-fno-stack-protector",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    // BPF_PROG declares all arguments of a hook, used or not.
    clang.args(["-Wno-unused-parameter", &format!("-D__TARGET_ARCH_{}", kernels_name(&architecture))]);
    clang.arg("-I").arg(headers).arg(format!("-I/usr/include/{architecture}-linux-gnu"));
    clang.arg("-c").arg(source).arg("-o").arg(&with_debug);
    match clang.output() {
        Ok(done) if done.status.success() => {}
        Ok(done) => complain(source, &String::from_utf8_lossy(&done.stderr)),
        Err(error) => complain(source, &error.to_string()),
    }
    // Linking removes the debug information, which has paths of this machine, and keeps BTF.
    let linked = Linker::new(&object).and_then(|mut linker| {
        linker.add_file(&with_debug)?;
        linker.link()
    });
    linked.unwrap_or_else(|error| complain(source, &format!("{error:#}")));
}

/// Returns the kernel's name of an architecture; `bpf_tracing.h` uses it to find the registers.
fn kernels_name(architecture: &str) -> &str {
    match architecture {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        "powerpc64" => "powerpc",
        "s390x" => "s390",
        other => other,
    }
}

fn complain(source: &Path, error: &str) -> ! {
    panic!(
        "{} cannot be compiled; it needs clang 14 or later (Debian: apt-get install clang): {error}",
        source.display()
    )
}
