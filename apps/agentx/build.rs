//! Puts the C++ library, which Luau needs, into the program: it then starts without loading and binding one, and runs where
//! none is installed. Where the compiler has no such archive, the library is loaded as usual.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "libstdc++.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CXX");
    let Some(directory) = env::var_os("OUT_DIR") else {
        return;
    };
    if is_native_gnu_linux() && archive().is_some_and(|archive| offer(&archive, Path::new(&directory))) {
        // The linker looks here before it looks where the shared library is.
        println!(
            "cargo:rustc-link-search=native={}",
            Path::new(&directory).display()
        );
    }
}

fn is_native_gnu_linux() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let same_target = env::var("HOST").is_ok_and(|host| is("TARGET", &host));
    is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && same_target
}

/// Where the C++ compiler has its library as an archive.
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
