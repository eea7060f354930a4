//! The crates that each crate may know. The table is complete: an edge that is not in it fails.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use agentx_tests::workspace_root;
use serde_json::Value;

use crate::none;

/// Package (without `agentx-`) and those that it may use. A crate that is not built yet has its place here
/// all the same.
pub(crate) const ALLOWED: &[(&str, &[&str])] = &[
    ("types", &[]),
    // The files that AgentX keeps for itself: replaced, locked and closed to others in one way.
    ("files", &[]),
    // Prompts that are run at set times: when, and by which process.
    ("schedule", &["types", "files"]),
    ("bus", &["types"]),
    ("agent", &["types"]),
    ("session", &["types", "agent"]),
    // Logs of OpenHands as facts.
    ("openhands", &["types", "session"]),
    ("llm", &["types"]),
    ("secrets", &[]),
    ("runtime", &["types", "secrets", "bus", "agent", "session"]),
    ("history", &["types", "agent", "session", "runtime"]),
    ("sqlite-log", &["types", "files", "runtime"]),
    ("sandbox", &[]),
    // One HTTP client and one guard of addresses for every crate that sends requests.
    ("http", &["types"]),
    ("tools", &["types", "runtime", "history", "sandbox"]),
    ("config", &["types", "files", "agent", "llm", "sandbox"]),
    ("agent-files", &["types", "config"]),
    // Memories of a person: a store, two tools, and the service that gives them to runs.
    (
        "memory",
        &["types", "files", "agent", "runtime", "sqlite-log", "tools"],
    ),
    // Services of a personal agent: the context of its runs, settings of persons, the list of commands.
    ("services", &["types", "files", "bus", "runtime"]),
    // The search engine that the person chose and pages of the web, as tools; the helper that reads
    // documents.
    ("web", &["types", "http", "runtime", "tools"]),
    // A process that executes for sessions elsewhere, and tools that run there.
    ("exec-server", &["types", "http", "runtime", "tools"]),
    // Chromium as tools, behind a proxy that decides about hosts by the rules of the agent.
    ("browser", &["types", "agent", "http", "runtime", "tools"]),
    // PostgreSQL databases that the person named, as a tool.
    ("postgres", &["types", "runtime", "tools"]),
    (
        "node-runtime",
        &[
            "types",
            "bus",
            "agent",
            "browser",
            "runtime",
            "history",
            "http",
            "llm",
            "memory",
            "services",
            "sandbox",
            "secrets",
            "sqlite-log",
            "tools",
            "config",
            "web",
            "postgres",
        ],
    ),
    // Servers of others as tools: they are configured, known on the disk, run as programs, and offered on the
    // bus.
    (
        "mcp",
        &["types", "files", "bus", "http", "runtime", "tools", "config"],
    ),
    ("identity", &["types", "files"]),
    ("remote-runtime", &["types", "bus", "http", "runtime", "identity"]),
    (
        "server",
        &[
            "types",
            "files",
            "bus",
            "runtime",
            "history",
            "http",
            "memory",
            "node-runtime",
            "config",
            "mcp",
            "identity",
            "schedule",
            "services",
        ],
    ),
    // The protocol of NEXUS, by requests to the API of the server; its tests run a whole one.
    (
        "nexus",
        &["types", "session", "config", "node-runtime", "identity", "server"],
    ),
    ("luau-tools", &[]),
    ("macros", &[]),
    // The file of typed lines is locked and replaced as the other files are.
    ("terminal", &["files"]),
    (
        "flows",
        &["types", "files", "http", "runtime", "luau-tools", "agent-files"],
    ),
    (
        "assembly",
        &[
            "types",
            "agent",
            "runtime",
            "config",
            "agent-files",
            "luau-tools",
            "flows",
            "node-runtime",
        ],
    ),
    ("testing", &["types", "bus", "agent", "llm", "runtime"]),
    ("agentx", LIBRARIES),
    ("chat", &["agentx", "files", "schedule", "terminal"]),
    (
        "cli",
        &["agentx", "chat", "nexus", "schedule", "server", "terminal"],
    ),
    ("mock", &["testing"]),
];

/// The re-exports of the facade: every library.
const LIBRARIES: &[&str] = &[
    "macros",
    "types",
    "bus",
    "agent",
    "session",
    "llm",
    "secrets",
    "runtime",
    "history",
    "sandbox",
    "sqlite-log",
    "tools",
    "config",
    "node-runtime",
    "mcp",
    "openhands",
    "memory",
    "services",
    "web",
    "exec-server",
    "identity",
    "remote-runtime",
    "luau-tools",
    "agent-files",
    "assembly",
    "flows",
    "server",
    "testing",
];

/// The package that spans several crates, and so may use anything.
const TESTS: &str = "tests";

/// A package of the workspace and what it uses.
pub(crate) struct Package {
    /// Without `agentx-`.
    pub(crate) name: String,
    /// Packages of the workspace that it uses: name and whether only its tests do.
    pub(crate) inside: Vec<(String, bool)>,
    /// Other packages that it uses when it runs or is built.
    pub(crate) outside: BTreeSet<String>,
    /// The text of its manifest.
    pub(crate) manifest: String,
    /// Its folder, relative to the workspace.
    pub(crate) folder: String,
}

/// Every package of the workspace, as cargo sees it.
pub(crate) fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(workspace_root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(package)
        .collect()
}

fn package(value: &Value) -> Package {
    let path = std::path::Path::new(value["manifest_path"].as_str().unwrap());
    let folder = path.parent().unwrap().strip_prefix(workspace_root()).unwrap();
    let (mut inside, mut outside) = (Vec::new(), BTreeSet::new());
    for dependency in value["dependencies"].as_array().unwrap() {
        let (name, only_tests) = (dependency["name"].as_str().unwrap(), dependency["kind"] == "dev");
        if dependency["path"].is_string() {
            inside.push((short(name), only_tests));
        } else if !only_tests {
            outside.insert(name.to_owned());
        }
    }
    Package {
        name: short(value["name"].as_str().unwrap()),
        inside,
        outside,
        manifest: std::fs::read_to_string(path).unwrap(),
        folder: folder.to_string_lossy().replace('\\', "/"),
    }
}

fn short(name: &str) -> String {
    name.strip_prefix("agentx-").unwrap_or(name).to_owned()
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    ALLOWED
        .iter()
        .find(|(package, _)| *package == name)
        .map(|(_, uses)| *uses)
}

#[test]
fn every_edge_between_crates_is_in_the_table() {
    let mut wrong = Vec::new();
    for Package { name, inside, .. } in packages() {
        if name == TESTS {
            continue;
        }
        let Some(uses) = allowed(&name) else {
            wrong.push(format!("{name} is not in the table"));
            continue;
        };
        for (used, only_tests) in inside {
            // A crate may turn on its own features for its tests.
            let for_tests = only_tests && (used == "testing" || used == name);
            if !for_tests && !uses.contains(&used.as_str()) {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    none(&wrong, "edges that the table does not allow");
}

#[test]
fn testing_is_for_tests_only() {
    // The facade hands it on to the tests of others, behind a feature that nothing turns on by itself.
    let for_others = |package: &Package| {
        let manifest = &package.manifest;
        let by_a_feature = package.name == "agentx"
            && manifest.contains("agentx-testing = { workspace = true, optional = true }")
            && manifest.matches("agentx-testing").count() == 2;
        // A model server for the tests of others is not part of the program.
        by_a_feature || package.name == "mock"
    };
    let wrong: Vec<String> = packages()
        .into_iter()
        .filter(|package| package.name != TESTS && !for_others(package))
        .filter(|package| package.inside.contains(&("testing".to_owned(), false)))
        .map(|package| package.name)
        .collect();
    none(&wrong, "crates that use agentx-testing outside of their tests");
}

#[test]
fn the_runtime_that_acts_and_the_one_that_mirrors_do_not_know_each_other() {
    let edges: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let reach = |from: &'static str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(edges[next]);
            }
        }
        seen
    };
    assert!(!reach("node-runtime").contains("remote-runtime"));
    assert!(!reach("remote-runtime").contains("node-runtime"));
}

#[test]
fn the_table_has_no_cycle() {
    for (index, (name, uses)) in ALLOWED.iter().enumerate() {
        let later: Vec<&str> = ALLOWED[index..].iter().map(|(name, _)| *name).collect();
        // `server` and `agentx` come late on purpose: a used crate stands above its users.
        let wrong: Vec<&&str> = uses.iter().filter(|used| later.contains(used)).collect();
        assert!(wrong.is_empty(), "{name} stands above {wrong:?}, which it uses");
    }
}

#[test]
fn no_crate_is_a_drawer() {
    let drawers = ["core", "common", "utils", "util", "misc", "shared", "helpers"];
    let wrong: Vec<String> = packages()
        .into_iter()
        .map(|package| package.name)
        .filter(|name| drawers.contains(&name.as_str()))
        .collect();
    none(&wrong, "a crate is named for what it holds");
}

#[test]
fn every_manifest_inherits_the_rules_of_the_workspace() {
    let mut wrong = Vec::new();
    for Package { folder, manifest, .. } in packages() {
        for line in [
            "edition.workspace = true",
            "rust-version.workspace = true",
            "license.workspace = true",
        ] {
            if !manifest.contains(line) {
                wrong.push(format!("{folder}/Cargo.toml lacks {line:?}"));
            }
        }
        if !manifest.replace('\r', "").contains("[lints]\nworkspace = true") {
            wrong.push(format!("{folder}/Cargo.toml lacks \"[lints] workspace = true\""));
        }
    }
    none(&wrong, "manifests that go their own way");
}

#[test]
fn a_folder_has_the_name_of_its_package() {
    let wrong: Vec<String> = packages()
        .into_iter()
        .filter(|package| {
            package.folder.starts_with("crates/") && package.folder != format!("crates/{}", package.name)
        })
        .map(|package| package.folder)
        .collect();
    none(&wrong, "folders that are not called like their package");
}
