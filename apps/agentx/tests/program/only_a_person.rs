//! Actions that only a person takes: no tool changes settings or starts an agent, whatever the command line
//! hides, and nothing is written through the links of a folder.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::os::unix::fs::symlink;

use crate::common::Sandbox;

#[test]
fn a_question_about_agentx_itself_offers_no_rule() {
    let sandbox = Sandbox::new();
    let mut chat = crate::pty::Pty::start(&sandbox, &[], 90, 40);
    chat.wait_for_last("›");
    chat.keys("run agentx config set log warn\r");
    chat.wait_for_last("allow? y once · n no · Alt+letter at once ›");
    assert!(
        !chat.lines().join("\n").contains("always would save"),
        "{}",
        chat.lines().join("\n")
    );
    chat.keys("a\r");
    chat.wait_for("ignored; valid answers: y once, n no");
    chat.keys("n\r");
    chat.wait_for_last("›");
    let mut run = crate::pty::Pty::start(&sandbox, &["run", "run agentx config set log warn"], 90, 40);
    run.wait_for_last("allow? y once · n no ›");
    assert!(
        !run.lines().join("\n").contains("always would save"),
        "{}",
        run.lines().join("\n")
    );
    run.keys("n\r");
}

/// It holds without a sandbox, in which the commands would not find the program.
#[test]
fn a_command_of_a_tool_changes_no_settings_and_starts_no_agent() {
    let sandbox = Sandbox::new().env("AGENTX_SANDBOX", "none");
    let settings = "model: scripted\nscripted_answers: answers.yaml\n";
    sandbox.config(settings);
    let program = env!("CARGO_BIN_EXE_agentx");
    symlink(program, sandbox.path("ws/x")).unwrap();
    sandbox
        .write("ws/w.sh", "./x config set approval auto\n")
        .write(
            "ws/v.sh",
            "env -u AGENTX_CALL -u AGENTX ./x config set approval auto\n",
        )
        .write(
            "ws/u.sh",
            "AGENTX_CALL=s/%21/1.1.1.1 ./x config set approval auto\n",
        );
    for line in [
        "./x config set approval auto",
        "sh w.sh",
        "sh v.sh",
        "sh u.sh",
        "cp ./x y; ./y config unset model",
        "./x config trust",
        "./x approvals add allow bash",
        "./x identity new",
        "./x usage --raise-day 5",
        "./x sessions delete ses_1 --yes",
        "./x sessions share ses_1 somebody --as drive",
        "./x sessions export ses_1",
        "./x show ses_1",
        "./x run --yes hi",
        "./x chat hi",
    ] {
        sandbox.write(
            "home/.config/agentx/answers.yaml",
            format!("- {{input: '*', result: '*', say: done}}\n- {{input: '*', calls: [{{tool: bash, input: {{command: '{line}'}}}}]}}\n"),
        );
        let ran = sandbox.run(&["run", "go", "--yes", "--output-format", "stream-json"]);
        assert!(
            ran.stdout.contains("only a person may do that"),
            "{line}: {}",
            ran.stdout
        );
        let now = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
        assert_eq!(now, settings, "{line}");
    }
    sandbox.write(
        "home/.config/agentx/answers.yaml",
        "- {input: '*', result: '*', say: done}\n- {input: '*', calls: [{tool: bash, input: {command: './x config path'}}]}\n",
    );
    let ran = sandbox.run(&["run", "go", "--yes", "--output-format", "stream-json"]);
    assert!(
        !ran.stdout.contains("only a person may do that"),
        "{}",
        ran.stdout
    );
    // A person who types it is that person.
    let set = sandbox.run(&["config", "set", "approval", "deny"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
}

#[test]
fn nothing_is_written_through_links_of_a_folder() {
    for (link, lines) in [
        (".agentx", &["tools new", "agents new", "config set"][..]),
        (".agentx/tools", &["tools new"]),
        (".agentx/agents", &["agents new"]),
        (".agentx/agentx.d.luau", &["tools new", "agents new"]),
        (".agentx/tools/made.luau", &["tools new"]),
        (
            ".agentx/config.yaml",
            &["config set", "config unset", "config edit"],
        ),
    ] {
        for line in lines {
            let sandbox = Sandbox::new().of_a_stranger().env("EDITOR", "true");
            sandbox
                .write("home/own/config.yaml", "model: scripted\n")
                .write("home/.bashrc", "# made up\n");
            let target = match link {
                ".agentx" | ".agentx/tools" | ".agentx/agents" => "../home/own",
                ".agentx/config.yaml" => "../../home/own/config.yaml",
                _ => "../../home/.bashrc",
            };
            let place = sandbox.path(&format!("ws/{link}"));
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            symlink(target, &place).unwrap();
            let words: &[&str] = match *line {
                "tools new" => &["tools", "new", "made"],
                "agents new" => &["agents", "new", "made"],
                "config set" => &["config", "set", "--workspace", "approval", "deny"],
                "config unset" => &["config", "unset", "--workspace", "model"],
                _ => &["config", "edit", "--workspace"],
            };
            let ran = sandbox.run(words);
            assert!(
                ran.code != Some(0) && ran.stderr.contains("it is a symbolic link"),
                "{link} {line}: {}{}",
                ran.stdout,
                ran.stderr
            );
            let read = |path: &str| std::fs::read_to_string(sandbox.path(path)).unwrap();
            assert_eq!(read("home/.bashrc"), "# made up\n", "{link} {line}");
            assert_eq!(read("home/own/config.yaml"), "model: scripted\n", "{link} {line}");
            let beside = std::fs::read_dir(sandbox.path("home/own")).unwrap().count();
            assert_eq!(beside, 1, "{link} {line}");
        }
    }
}

#[test]
fn a_file_of_somebody_else_stays_where_a_tool_is_begun() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/.agentx/agentx.d.luau", "-- mine\n");
    let ran = sandbox.run(&["agents", "new", "made"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("is left unchanged"), "{}", ran.stderr);
    let now = std::fs::read_to_string(sandbox.path("ws/.agentx/agentx.d.luau")).unwrap();
    assert_eq!(now, "-- mine\n");
}
