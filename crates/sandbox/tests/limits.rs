//! Limits of memory and processes: a command is held to them, or does not run. On a machine where control
//! groups cannot be made, the tests say so and check that nothing runs.

use std::path::Path;

use agentx_sandbox::{SandboxLauncher, SandboxMode, SandboxProfile};

use crate::held::{HELD, World, said, steps};

/// Forty shells, one within the other.
const DEEP: &str = "down() { if [ $1 = 0 ]; then echo deep; else (down $(($1 - 1)); true); fi; }; down 40";
/// `tail` keeps in memory what it will print.
const LARGE: &str = "head -c 300000000 /dev/zero | tail -c 299000000 | wc -c";

#[test]
fn a_command_is_held_to_its_limits_or_does_not_run() {
    let launcher = SandboxLauncher::new(HELD, SandboxMode::Auto, SandboxProfile::default());
    let support = launcher.limits_support();
    if let Err(why) = &support {
        eprintln!("limits are not held here: {why}");
    }
    let world = World::new();
    for step in steps() {
        for (variable, most, line, got_through) in [
            ("HELD_TASKS", "16", DEEP, "deep"),
            ("HELD_MEMORY", "67108864", LARGE, "299000000"),
        ] {
            let mut command = world.command(step, &["sh", "-c", line]);
            let without = said(&command.output().unwrap());
            assert!(without.contains(got_through), "{step} {line}: {without}");
            let within = said(&command.env(variable, most).output().unwrap());
            assert!(!within.contains(got_through), "{step} {line}: {within}");
            let refused = within.contains("cannot be held to `sandbox.memory` or `sandbox.processes`");
            assert_eq!(refused, support.is_err(), "{step} {line}: {within}");
        }
    }
}

#[test]
fn best_effort_runs_a_command_that_cannot_be_held() {
    let world = World::new();
    for step in steps() {
        let mut command = world.command(step, &["echo", "ran"]);
        command
            .env("HELD_MEMORY", "1073741824")
            .env("HELD_BEST_EFFORT", "1");
        let within = said(&command.output().unwrap());
        assert!(within.contains("ran"), "{step}: {within}");
    }
}

#[test]
fn a_program_that_is_no_helper_has_no_limits() {
    let gone = Path::new("/made-up/helper");
    let launcher = SandboxLauncher::new(gone, SandboxMode::Auto, SandboxProfile::default());
    let why = launcher.limits_support().unwrap_err();
    assert!(why.contains("could not be started"), "{why}");
}
