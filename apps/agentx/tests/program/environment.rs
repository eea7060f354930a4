//! The environment of programs: the agent's commands, the user's own, and the command of the status row.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;

use crate::common::Sandbox;

/// Made up.
const KEY: &str = "made-up-key-of-a-model-0123456789";
const NOBODY: u32 = 65534;

/// A sandbox with a key under a name that says nothing, a copy of it, and other secrets.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new()
        .env("MODEL_ACCESS", KEY)
        .env("COPIED", &format!("Bearer {KEY}"))
        .env("DATABASE_URL", "postgres://me:hunter2@db/x")
        .env("GITLAB_PAT", "made-up-pat")
        .env("KEPT_TOKEN", "kept on purpose")
        .env("PLAIN", "seen");
    sandbox.config(
        "providers:\n  work:\n    base_url: http://127.0.0.1:9/v1\n    api_key: ${MODEL_ACCESS}\n\
         tools:\n  environment: [KEPT_TOKEN, MODEL_ACCESS, COPIED]\n",
    );
    sandbox
}

#[test]
fn no_key_that_the_agent_runs_on_reaches_a_command() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["run", "--model", "scripted", "--yes", "run env > agents"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let ran = sandbox.run_with_input(&["chat", "--model", "scripted"], "!env > own\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    for file in ["ws/agents", "ws/own"] {
        let seen = std::fs::read_to_string(sandbox.path(file)).unwrap();
        assert!(seen.contains("PLAIN=seen"), "{file}: {seen}");
        assert!(seen.contains("KEPT_TOKEN=kept on purpose"), "{file}: {seen}");
        for hidden in [KEY, "hunter2", "made-up-pat"] {
            assert!(!seen.contains(hidden), "{file}: {seen}");
        }
    }
}

/// A trusted folder names another variable for a provider, and wants the old one passed on: both stay keys.
#[test]
fn a_trusted_folder_does_not_make_a_key_an_ordinary_variable() {
    let sandbox = sandbox()
        .env("OPENAI_API_KEY", "made-up-openai-0123456789")
        .env("PLAIN_COPY", "made-up-openai-0123456789");
    sandbox.write(
        "ws/.agentx/config.yaml",
        "providers:\n  openai: {api_key_env: OTHER, base_url: 'http://127.0.0.1:9/'}\n  work: {api_key_env: OTHER}\n\
         tools: {environment: [OPENAI_API_KEY, ANTHROPIC_API_KEY, MODEL_ACCESS, PLAIN_COPY]}\n",
    );
    let ran = sandbox.run(&["run", "--model", "scripted", "--yes", "run env > agents"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stderr
            .contains("note: `providers.openai.base_url` is ignored"),
        "{ran}"
    );
    let seen = std::fs::read_to_string(sandbox.path("ws/agents")).unwrap();
    assert!(seen.contains("PLAIN=seen"), "{seen}");
    for hidden in ["made-up-openai", KEY] {
        assert!(!seen.contains(hidden), "{seen}");
    }
}

/// Root may read every process, so this test runs the program as another user; and without a sandbox, in
/// which a command does not see the program.
#[test]
fn a_command_cannot_read_the_environment_of_the_program_that_runs_it() {
    let sandbox = sandbox().env("AGENTX_SANDBOX", "none");
    let mut command = sandbox.command(&[
        "run",
        "--model",
        "scripted",
        "--yes",
        "run cat /proc/$PPID/environ /proc/$PPID/mem | tr '\\0' ' '",
    ]);
    if nix::unistd::geteuid().is_root() {
        for folder in ["", "home", "home/.config", "home/.config/agentx", "ws"] {
            let folder = sandbox.path(folder);
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("environ: Permission denied"), "{said}");
    assert!(said.contains("mem: Permission denied"), "{said}");
    assert!(!said.contains(KEY), "{said}");
}
