//! Commands that start in a copy of a template are held and end as those of a helper of their own, and what
//! changed since the template was made is seen.

use std::fs;
use std::io::BufRead as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use agentx_sandbox::{HELPER_FAILED, SandboxStep};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::held::{FromTemplate, World, steps};

/// A place whose commands start from a template; `None` where namespaces do not work.
fn world() -> Option<(World, FromTemplate)> {
    let works = steps().contains(&SandboxStep::Namespace);
    works.then(World::new).map(|world| {
        let template = FromTemplate::new(&world, true);
        (world, template)
    })
}

#[test]
fn codes_signals_and_output_are_those_of_the_command() {
    let Some((world, template)) = world() else { return };
    for (line, code, signal, said) in [
        ("exit 7", Some(7), None, ""),
        ("kill -9 $$", None, Some(9), ""),
        ("kill -TERM $$", None, Some(15), ""),
        ("echo out; echo err >&2; cat", Some(0), None, "out\nerr\n"),
    ] {
        let (status, output) = template.run(&world, &["sh", "-c", line]);
        assert_eq!(
            (status.code(), status.signal()),
            (code, signal),
            "{line}: {output}"
        );
        assert_eq!(output, said, "{line}");
    }
    let (_, output) = template.run(&world, &["sh", "-c", "pwd; echo $ROOT; echo $SSH_AUTH_SOCK"]);
    let expected = format!(
        "{}\n{}\n\n",
        world.path("work").display(),
        world.path("").display()
    );
    assert_eq!(output, expected);
}

#[test]
fn a_program_that_cannot_be_started_is_named_and_a_script_is_run_by_a_shell() {
    let Some((world, template)) = world() else { return };
    let (status, output) = template.run(&world, &["/made/up"]);
    assert_eq!(status.code(), Some(HELPER_FAILED.into()), "{output}");
    assert!(output.contains("/made/up"), "{output}");
    let script = "echo 'echo by shell' > script; chmod +x script";
    assert!(template.run(&world, &["sh", "-c", script]).0.success());
    let script = world.path("work/script").display().to_string();
    assert_eq!(template.run(&world, &[&script]).1, "by shell\n");
}

/// Each command has namespaces of every kind for itself, as with a helper of its own.
#[test]
fn two_commands_share_no_namespace() {
    let Some((world, _)) = world() else { return };
    for (network, shared) in [(false, ""), (true, "net")] {
        let template = FromTemplate::new(&world, network);
        let line = "cd /proc/self/ns; for kind in user mnt pid ipc uts net; do readlink $kind; done";
        // The number of a namespace that is gone is given out again, so the first one still runs.
        let waits = format!("{line}; exec sleep 1000");
        let (output, first) = template.start(&world, &["sh", "-c", &waits]);
        let lines = std::io::BufReader::new(output).lines().take(6);
        let group = Pid::from_raw(i32::try_from(first.id()).unwrap());
        let first: String = lines.map(|line| line.unwrap() + "\n").collect();
        let (_, second) = template.run(&world, &["sh", "-c", line]);
        killpg(group, Signal::SIGKILL).unwrap();
        assert_eq!(first.lines().count(), 6, "{first}");
        for (first, second) in first.lines().zip(second.lines()) {
            let is_shared = first.split(':').next() == Some(shared);
            assert_eq!(first == second, is_shared, "{first} {second}");
        }
    }
}

#[test]
fn one_command_leaves_nothing_for_the_next_but_its_files() {
    let Some((world, template)) = world() else { return };
    let run = |line: &str| template.run(&world, &["sh", "-c", line]);
    let (status, output) =
        run("echo kept > /tmp/a; echo x > /dev/shm/a; sleep 1000 & hostname made-up; true");
    assert!(status.success(), "{output}");
    let (_, output) = run("cat /tmp/a; ls /dev/shm; ps -e 2>/dev/null | grep sleep; hostname");
    assert!(
        output.starts_with("kept\n") && !output.contains("sleep"),
        "{output}"
    );
    assert!(!output.contains("made-up"), "{output}");
    for line in [
        "touch /planted",
        "mkdir /usr/planted",
        "touch /dev/planted",
        "umount /proc",
    ] {
        let (status, output) = run(line);
        assert!(!status.success(), "{line}: {output}");
    }
}

/// The first process inside has nothing of the program, and those who look for the processes of a command
/// find it by the mark of the command.
#[test]
fn the_first_process_inside_shows_the_mark_and_no_other_variable() {
    let Some((world, template)) = world() else { return };
    let (mut output, leader) = template.start(&world, &["sh", "-c", "echo up; exec sleep 1000"]);
    std::io::Read::read_exact(&mut output, &mut [0; 3]).unwrap();
    let variables = |process: Pid| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap();
        let environment = String::from_utf8(environment).unwrap();
        let mut variables: Vec<String> = environment.split('\0').map(str::to_owned).collect();
        variables.retain(|variable| !variable.is_empty());
        variables.sort();
        variables
    };
    let shown: Vec<Vec<String>> = templates(&world).into_iter().map(variables).collect();
    let expected = [
        FromTemplate::MARK,
        "AGENTX_TEMPLATE=",
        "_RJEM_MALLOC_CONF=background_thread:false",
    ];
    assert!(shown.iter().any(|shown| *shown == expected), "{shown:?}");
    killpg(
        Pid::from_raw(i32::try_from(leader.id()).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
}

/// A file that is made or replaced outside after the template was made is protected and hidden for the next
/// command.
#[test]
fn what_has_changed_since_is_protected_and_hidden() {
    let Some((world, template)) = world() else { return };
    let run = |line: &str| template.run(&world, &["sh", "-c", line]);
    assert!(
        run("mkdir .agentx && echo x > .agentx/a").0.success(),
        "it is not there yet"
    );
    assert!(!run("echo x > .agentx/b").0.success(), "now it is protected");
    assert!(!run("echo x >> .git/config").0.success());
    let replace = |name: &str, text: &str| {
        fs::write(world.path("work/new"), text).unwrap();
        fs::rename(world.path("work/new"), world.path(name)).unwrap();
    };
    replace("work/.git/config", "[core]\n# new\n");
    assert!(run("cat .git/config").1.contains("new"));
    assert!(!run("echo x >> .git/config").0.success(), "a new file");
    // The same file, on which the mount of the template is not any more.
    let (config, other) = (world.path("work/.git/config"), world.path("outside/config"));
    fs::hard_link(&config, &other).unwrap();
    fs::remove_file(&config).unwrap();
    fs::rename(&other, &config).unwrap();
    assert!(!run("echo x >> .git/config").0.success(), "the same file again");
    replace("home/.npmrc", "fund=false\n");
    assert_eq!(run("cat $HOME/.npmrc").1, "fund=false\n");
    replace("home/.npmrc", "//localhost/:_authToken=made-up\n");
    assert!(!run("grep -q made-up $HOME/.npmrc").0.success());
}

#[test]
fn what_is_left_running_goes_on_and_dies_with_its_group() {
    let Some((world, template)) = world() else { return };
    let (mut output, mut leader) = template.start(&world, &["sh", "-c", "sleep 1000 & echo left"]);
    assert!(leader.wait().unwrap().success());
    let mut first = [0; 5];
    std::io::Read::read_exact(&mut output, &mut first).unwrap();
    let group = Pid::from_raw(i32::try_from(leader.id()).unwrap());
    assert_eq!(killpg(group, None), Ok(()), "it still runs");
    killpg(group, Signal::SIGKILL).unwrap();
    // Ends when every process that has the pipe is gone.
    let rest = std::io::read_to_string(output).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn what_has_left_its_group_ends_with_the_command_and_is_told() {
    let Some((world, template)) = world() else { return };
    let (output, mut leader) = template.start(&world, &["sh", "-c", crate::lifetime::DAEMON]);
    assert!(leader.wait().unwrap().success());
    // Ends when every process that has the pipe is gone.
    let said = std::io::read_to_string(output).unwrap();
    let expected = "left\nagentx: 1 process that the command left was ended; ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_signal_for_the_group_reaches_the_command() {
    let Some((world, template)) = world() else { return };
    let line = "trap 'echo ended; exit 3' TERM; echo up; while :; do sleep 0.01; done";
    let (mut output, mut leader) = template.start(&world, &["sh", "-c", line]);
    std::io::Read::read_exact(&mut output, &mut [0; 3]).unwrap();
    let group = Pid::from_raw(i32::try_from(leader.id()).unwrap());
    killpg(group, Signal::SIGTERM).unwrap();
    assert_eq!(leader.wait().unwrap().code(), Some(3));
}

/// Returns the templates of this place that run.
fn templates(world: &World) -> Vec<Pid> {
    let place = world.path("work").display().to_string();
    let is_template = |process: &PathBuf| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split('\0').skip(1);
        words.next() == Some("__sandbox")
            && words.next() == Some("template")
            && words.next().is_some_and(|policy| policy.contains(&place))
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let found = entries.map(|entry| entry.path()).filter(is_template);
    found
        .filter_map(|process| process.file_name()?.to_str()?.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

#[test]
fn a_template_that_was_killed_is_made_anew_and_ends_with_its_program() {
    let Some((world, template)) = world() else { return };
    assert!(template.run(&world, &["true"]).0.success());
    assert!(template.run(&world, &["true"]).0.success());
    let first = templates(&world);
    assert!(!first.is_empty());
    for process in &first {
        kill(*process, Signal::SIGKILL).unwrap();
    }
    assert!(template.run(&world, &["true"]).0.success());
    drop(template);
    let begun = std::time::Instant::now();
    while !templates(&world).is_empty() {
        assert!(begun.elapsed().as_secs() < 10, "a template outlives its program");
        std::thread::yield_now();
    }
}
