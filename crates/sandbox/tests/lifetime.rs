//! The end of a command in a sandbox is as it would be without one.

use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

use agentx_sandbox::{HELPER, HELPER_FAILED, SandboxStep};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::held::{HELD, World, said, steps};

#[test]
fn codes_and_signals_are_those_of_the_command() {
    let world = World::new();
    for step in steps() {
        assert_eq!(world.run(step, "exit 7").status.code(), Some(7), "{step}");
        let killed = world.run(step, "kill -9 $$").status;
        assert_eq!(killed.signal(), Some(9), "{step}");
        let output = world.run(step, "echo out; echo err >&2; pwd");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "err\n", "{step}");
        let expected = format!("out\n{}\n", world.path("work").display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{step}");
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let world = World::new();
    for step in steps() {
        let output = world.command(step, &["/made/up"]).output().unwrap();
        assert_eq!(output.status.code(), Some(HELPER_FAILED.into()), "{step}");
        assert!(said(&output).contains("/made/up"), "{step}: {}", said(&output));
    }
}

#[test]
fn a_script_without_a_first_line_runs_as_a_shell_would_run_it() {
    let world = World::new();
    world.run(
        SandboxStep::None,
        "echo 'echo by shell' > script; chmod +x script",
    );
    for step in steps() {
        let output = world.command(step, &["./script"]).output().unwrap();
        assert_eq!(said(&output), "by shell\n", "{step}");
    }
}

/// A program that a command leaves running continues, and ends with the group.
#[test]
fn what_is_left_running_goes_on_and_dies_with_its_group() {
    let world = World::new();
    for step in steps() {
        let mut command = world.command(step, &["sh", "-c", "sleep 1000 & echo left"]);
        let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        assert!(child.wait().unwrap().success(), "{step}");
        let mut first = [0; 5];
        output.read_exact(&mut first).unwrap();
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert_eq!(killpg(group, None), Ok(()), "{step}: it still runs");
        killpg(group, Signal::SIGKILL).unwrap();
        let mut rest = String::new();
        // Ends when every process that has the pipe is gone.
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "{step}");
    }
}

/// A line that starts a process in a session of its own, and ends when that process is there.
pub(crate) const DAEMON: &str =
    "setsid sh -c 'touch up; exec sleep 1000' & while [ ! -e up ]; do sleep 0.01; done; echo left";

/// Nobody sees such a process any more, and it could change files between a check and its use.
#[test]
fn what_has_left_its_group_ends_with_the_command_and_is_told() {
    let world = World::new();
    if !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    // The output ends when every process that has it is gone.
    let output = world.run(SandboxStep::Namespace, DAEMON);
    assert!(output.status.success(), "{}", said(&output));
    let expected = "agentx: 1 process that the command left was ended; start long-running programs as a \
                    background job\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "left\n");
}

/// A process that does not end by request is killed, and one that forks all the time does not get away.
#[test]
fn what_has_left_its_group_cannot_stay_by_force() {
    let world = World::new();
    if !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    let line = "setsid sh -c 'trap \"\" TERM HUP INT; touch up; while :; do (sleep 1000 &); sleep 0.01; done' & \
                while [ ! -e up ]; do sleep 0.01; done; exit 3";
    let output = world.run(SandboxStep::Namespace, line);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains("that the command left w"),
        "{}",
        said(&output)
    );
}

/// A process that stays in the group keeps the namespace, and nothing outlives the group.
#[test]
fn what_has_left_its_group_ends_with_the_last_member_of_it() {
    let world = World::new();
    if !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    let line = format!("sleep 1000 & {DAEMON}");
    let mut command = world.command(SandboxStep::Namespace, &["sh", "-c", &line]);
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    assert!(child.wait().unwrap().success());
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
    assert_eq!(killpg(group, None), Ok(()), "a member still runs");
    killpg(group, Signal::SIGKILL).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "left\n");
}

#[test]
fn a_signal_for_the_group_reaches_the_command() {
    let world = World::new();
    for step in steps() {
        let line = "trap 'echo ended; exit 3' TERM; echo up; while :; do read -r word; done";
        let mut command = world.command(step, &["sh", "-c", line]);
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut first = [0; 3];
        output.read_exact(&mut first).unwrap();
        killpg(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{step}");
    }
}

/// Another process removes directories for temporary files that are old and unlocked. The lock is an open
/// directory of the machine, which a process in a root of its own must not reach.
#[test]
fn temporary_files_stay_locked_and_the_lock_leads_out_of_no_root() {
    let world = World::new();
    for step in steps() {
        let output = world.run(step, "flock --nonblock \"$TMPDIR\" true; echo $?");
        assert_eq!(said(&output), "1\n", "{step}");
        if step == SandboxStep::Namespace {
            let line = "readlink /proc/[0-9]*/fd/* | grep agentx-; echo looked";
            assert_eq!(said(&world.run(step, line)), "looked\n");
        }
    }
}

#[test]
fn a_step_that_does_not_work_is_not_replaced_in_silence() {
    for words in [&["run"][..], &["made up"], &["run", "{}", "sh", "sh"], &[]] {
        let output = Command::new(HELD).arg(HELPER).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(HELPER_FAILED.into()), "{words:?}");
        assert!(
            said(&output).contains("the sandbox could not be set up"),
            "{}",
            said(&output)
        );
    }
}

#[test]
fn the_home_directory_is_no_workspace() {
    let world = World::new();
    for step in steps() {
        let mut command = Command::new(HELD);
        command
            .arg(step.as_str())
            .arg(world.path("home"))
            .args(["sh", "-c", "echo ran"]);
        let output = command.env("HOME", world.path("home")).output().unwrap();
        assert_eq!(output.status.code(), Some(HELPER_FAILED.into()), "{step}");
        assert!(
            said(&output).contains("work in a directory that does not contain it"),
            "{}",
            said(&output)
        );
    }
}
