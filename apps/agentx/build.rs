//! Links the program so that it starts with little work and memory on Linux with glibc.
//!
//! The C++ library, which Luau needs, becomes a part of the program: the program then starts without loading
//! and binding a library, and runs on machines without it. If the compiler has no such archive, the library
//! is loaded as usual.
//!
//! Relative relocations are packed (`DT_RELR`): the loader reads all of them at each start, and the plain
//! form has 24 bytes for each.
//!
//! The functions that a run executes lie next to each other in an optimized program (`link/record.py` says
//! why and makes the list). Without that, the program works as well and maps more memory.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "libstdc++.a";
const HOT_FUNCTIONS: &str = "link/hot_functions.ld";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CXX");
    let Some(directory) = env::var_os("OUT_DIR") else {
        return;
    };
    if is_native_gnu_linux() && archive().is_some_and(|archive| offer(&archive, Path::new(&directory))) {
        // The linker searches this directory before that of the shared library.
        println!(
            "cargo:rustc-link-search=native={}",
            Path::new(&directory).display()
        );
    }
    if is_native_gnu_linux() && glibc_reads_packed_relocations() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo:rerun-if-changed={HOT_FUNCTIONS}");
    if is_native_gnu_linux() && is_optimized() && is_linked_by_rust_lld() {
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(HOT_FUNCTIONS);
        println!("cargo:rustc-link-arg-bins=-Xlinker");
        println!("cargo:rustc-link-arg-bins=--script={}", list.display());
    }
}

fn is_optimized() -> bool {
    env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// Whether the linker is the one that comes with Rust on this platform: others may refuse the list, or take
/// minutes for it.
fn is_linked_by_rust_lld() -> bool {
    let is_usual_target = env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is_usual_target && env::var_os("RUSTC_LINKER").is_none() && !flags.contains("link")
}

/// Whether the C library of this machine is glibc 2.36 or later: earlier ones refuse a program with packed
/// relocations.
fn glibc_reads_packed_relocations() -> bool {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = asked.ok().and_then(|asked| String::from_utf8(asked.stdout).ok());
    let minor = version
        .as_deref()
        .and_then(|text| text.trim().strip_prefix("glibc 2."));
    minor
        .and_then(|minor| minor.parse::<u32>().ok())
        .is_some_and(|minor| minor >= 36)
}

fn is_native_gnu_linux() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let same_target = env::var("HOST").is_ok_and(|host| is("TARGET", &host));
    is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && same_target
}

/// Returns the path of the C++ compiler's library as an archive.
fn archive() -> Option<PathBuf> {
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let asked = Command::new(compiler)
        .arg(format!("-print-file-name={ARCHIVE}"))
        .output()
        .ok()?;
    // A compiler that has none answers with the bare name.
    let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    (path.is_absolute() && path.is_file()).then_some(path)
}

/// Names the archive in a directory that has nothing else.
fn offer(archive: &Path, directory: &Path) -> bool {
    let named = directory.join(ARCHIVE);
    let _ = std::fs::remove_file(&named);
    std::fs::copy(archive, &named).is_ok()
}
