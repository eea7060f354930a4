//! The dependencies that the program may have: the rules of `deny.toml`, held against `Cargo.lock` and the
//! manifests, even if cargo-deny is not installed. Advisories need a network: `tests/advisories.sh` looks
//! them up, and is tried here with programs that stand for Cargo and Git.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use agentx_tests::workspace_root;
use serde_json::Value;

use crate::none;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn read(file: &str) -> String {
    std::fs::read_to_string(workspace_root().join(file)).unwrap()
}

/// The strings of a list in `deny.toml`: the items themselves, or what their key `crate` says.
fn listed(key: &str) -> BTreeSet<String> {
    let rules = read("deny.toml");
    let list = rules
        .split_once(&format!("\n{key} = [\n"))
        .map(|(_, after)| after);
    let list = list.and_then(|after| after.split_once("\n]")).unwrap().0;
    let names = list.lines().filter(|line| !line.trim_start().starts_with('#'));
    names
        .filter_map(|line| line.split('"').nth(1))
        .map(str::to_owned)
        .collect()
}

/// Name, version and source of each package in a lock file; those of the workspace have no source.
fn locked() -> Vec<(String, String, Option<String>)> {
    let lock = read("Cargo.lock");
    let packages = lock.split("[[package]]\n").skip(1);
    let field = |package: &str, name: &str| {
        let mut lines = package.lines();
        lines.find_map(|line| {
            Some(
                line.strip_prefix(name)?
                    .strip_prefix(" = \"")?
                    .trim_end_matches('"')
                    .to_owned(),
            )
        })
    };
    packages
        .map(|package| {
            let (name, version) = (field(package, "name"), field(package, "version"));
            (name.unwrap(), version.unwrap(), field(package, "source"))
        })
        .collect()
}

/// Whether an expression of SPDX (`MIT OR Apache-2.0`, in older manifests `MIT/Apache-2.0`) can be met with
/// these licences.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (met, rest) = any_of(&words, allowed);
    met && rest.is_empty()
}

fn any_of<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut met, mut rest) = all_of(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (other, left) = all_of(after, allowed);
        (met, rest) = (met || other, left);
    }
    (met, rest)
}

fn all_of<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut met, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (other, left) = one(after, allowed);
        (met, rest) = (met && other, left);
    }
    (met, rest)
}

fn one<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    match words {
        ["(", inside @ ..] => match any_of(inside, allowed) {
            (met, [")", rest @ ..]) => (met, rest),
            (_, rest) => (false, rest),
        },
        [licence, "WITH", exception, rest @ ..] => {
            (allowed.contains(&format!("{licence} WITH {exception}")), rest)
        }
        [licence, rest @ ..] => (allowed.contains(*licence), rest),
        [] => (false, &[]),
    }
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let wrong: Vec<String> = locked()
        .into_iter()
        .filter(|(name, _, source)| match source {
            Some(source) => source != REGISTRY,
            None => !name.starts_with("agentx"),
        })
        .map(|(name, version, source)| format!("{name} {version}: {source:?}"))
        .collect();
    none(&wrong, "packages that do not come from the registry");
}

#[test]
fn no_dependency_is_one_that_deny_toml_forbids() {
    let forbidden = listed("deny");
    assert!(forbidden.contains("openssl-sys"), "{forbidden:?}");
    let wrong: Vec<String> = locked()
        .into_iter()
        .filter(|(name, ..)| forbidden.contains(name))
        .map(|(name, version, _)| format!("{name} {version}"))
        .collect();
    none(&wrong, "packages that deny.toml forbids");
}

#[test]
fn every_second_version_of_a_dependency_is_a_known_one() {
    let known = listed("skip");
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version, _) in locked() {
        versions.entry(name).or_default().push(version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let mut wrong: Vec<String> = versions
        .iter()
        .filter(|(name, _)| !known.contains(*name))
        .map(|(name, versions)| format!("{name} {}", versions.join(" and ")))
        .collect();
    let over = known.iter().filter(|name| !versions.contains_key(*name));
    wrong.extend(over.map(|name| format!("{name} is there once")));
    none(
        &wrong,
        "second versions that `skip` in deny.toml does not name, or that are gone",
    );
}

#[test]
fn every_licence_is_an_allowed_one() {
    let host = Command::new(env!("CARGO")).arg("-vV").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    // Crates that only other platforms need are not on this machine.
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
            host,
        ])
        .current_dir(workspace_root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    let allowed = listed("allow");
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| !is_met(package["license"].as_str().unwrap_or_default(), &allowed))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    none(&wrong, "licences that deny.toml does not allow");
}

#[test]
fn licences_are_read_as_they_are_written() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for met in [
        "MIT",
        "GPL-3.0-only OR MIT",
        "MIT/Apache-2.0",
        "(GPL-2.0 OR ISC) AND MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR ISC) AND Apache-2.0",
        "Apache-2.0",
        "MIT AND",
        "(MIT",
    ] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}

/// The C++ of the VM is not built for this: the file is compiled alone, and what it lacks are other errors.
#[test]
fn a_build_that_aborts_on_panics_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = |panics: &str| {
        let compiled = Command::new(&compiler)
            .args([
                "--edition",
                "2024",
                "--crate-type",
                "lib",
                "--emit",
                "metadata",
                "-C",
                panics,
            ])
            .arg("--out-dir")
            .arg(folder.path())
            .arg(workspace_root().join("crates/luau-tools/src/stack.rs"))
            .output()
            .unwrap();
        assert!(!compiled.status.success());
        String::from_utf8_lossy(&compiled.stderr).into_owned()
    };
    let refusal = "error: errors of the VM unwind through functions of Rust";
    let refused = said("panic=abort");
    assert!(refused.contains(refusal), "{refused}");
    assert!(!said("panic=unwind").contains(refusal), "only there");
}

/// The commands of a recipe of the justfile.
fn recipe(name: &str) -> Vec<String> {
    let all = read("justfile");
    let mut lines = all.lines().skip_while(|line| {
        let head = line.split_once(':').map_or("", |(head, _)| head);
        line.starts_with(char::is_whitespace) || head.split(' ').next() != Some(name)
    });
    assert!(lines.next().is_some(), "no recipe {name}");
    let commands = lines.take_while(|line| line.starts_with(' '));
    commands.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_night_fuzzes_looks_up_advisories_and_runs_the_address_sanitizer() {
    let nightly = recipe("nightly");
    for called in ["fuzz", "advisories", "asan"] {
        let call = format!("{{{{just_executable()}}}} {called}");
        let is_called = nightly.iter().any(|line| line.starts_with(&call));
        assert!(is_called, "`just nightly` does not call {called}: {nightly:?}");
        assert!(!recipe(called).is_empty(), "{called}");
    }
}

/// Runs `tests/advisories.sh` with programs that stand for Cargo and Git, and returns whether it succeeded,
/// with its output. Made-up programs: `installed` are the ones that Cargo has, `git` and `found` exit codes.
#[cfg(unix)]
fn advisories(installed: &str, git: i32, found: i32, required: bool) -> (bool, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let cargo = format!(
        "#!/bin/sh\ncase \" {installed} \" in *\" $1 \"*) ;; *) exit 101 ;; esac\n\
         [ \"$2\" = --version ] && exit 0\necho \"looked up with cargo $*\"\nexit {found}\n"
    );
    for (name, program) in [("cargo", cargo), ("git", format!("#!/bin/sh\nexit {git}\n"))] {
        let file = place.path().join(name);
        std::fs::write(&file, program).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = Command::new(workspace_root().join("tests/advisories.sh"))
        .env("PATH", format!("{}:{path}", place.path().display()))
        .env("AGENTX_ADVISORIES", if required { "required" } else { "" })
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    (ran.status.success(), said.into_owned())
}

#[cfg(unix)]
#[test]
fn advisories_are_looked_up_or_it_is_said_why_not() {
    for (installed, git, found, required, succeeds, says) in [
        (
            "deny audit",
            0,
            0,
            false,
            true,
            "looked up with cargo deny check advisories",
        ),
        (
            "deny",
            0,
            1,
            false,
            false,
            "looked up with cargo deny check advisories",
        ),
        ("audit", 0, 0, false, true, "looked up with cargo audit"),
        ("audit", 0, 1, true, false, "looked up with cargo audit"),
        (
            "",
            0,
            0,
            false,
            true,
            "neither cargo-deny nor cargo-audit is installed",
        ),
        (
            "",
            0,
            0,
            true,
            false,
            "neither cargo-deny nor cargo-audit is installed",
        ),
        ("deny", 128, 0, false, true, "cannot be reached"),
        ("deny", 128, 0, true, false, "cannot be reached"),
    ] {
        let (succeeded, said) = advisories(installed, git, found, required);
        assert!(
            succeeded == succeeds && said.contains(says),
            "{installed:?}, Git {git}, found {found}, required {required}: {succeeded}: {said}"
        );
    }
}
