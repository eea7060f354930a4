//! The sandbox of commands through the program: the settings, the fact with each call, jobs, and a step that
//! does not work. On a machine where no step works, the tests say so.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use serde_json::Value;

use crate::common::Sandbox;
use crate::pty::Pty;

/// Made up.
const SECRET: &str = "planted-secret-4711";

/// Prints a file of AgentX whose name no line shows, and that it tried.
const OPENS: &str = r#"BEGIN {
    name = ENVIRON["HOME"] "/.lo" "cal/share/age" "ntx/made-up.key"
    while ((getline text < name) > 0) print mark ":" text
    print mark ":tried"
}"#;

/// A person who set no sandbox, with a file among AgentX's own; `None` if namespaces do not work here.
fn unset() -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    demo(&sandbox, "true");
    sandbox.write("home/.local/share/agentx/made-up.key", SECRET);
    sandbox.write("ws/opens.awk", OPENS);
    let shown: Value = serde_json::from_str(&sandbox.run(&["sandbox", "show", "--json"]).stdout).unwrap();
    let namespace = &shown["steps"][2];
    if namespace["works"] == true {
        return Some(sandbox);
    }
    let is_set = |name: &str| std::env::var_os(name).is_some();
    assert!(
        !is_set("CI") || is_set("AGENTX_TEST_NO_SANDBOX"),
        "no sandbox works here: {namespace}"
    );
    eprintln!("not tried, because no sandbox works here: {namespace}");
    None
}

/// A person with a key, and with a sandbox if one works on this machine.
fn held() -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    sandbox.write("home/.ssh/id_ed25519", SECRET);
    sandbox.config("sandbox: {mode: auto}\n");
    let shown: Value = serde_json::from_str(&sandbox.run(&["sandbox", "show", "--json"]).stdout).unwrap();
    if shown["policy"].is_null() {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        assert!(
            !is_set("CI") || is_set("AGENTX_TEST_NO_SANDBOX"),
            "no sandbox works here: {}",
            shown["error"]
        );
        eprintln!("not tried, because no sandbox works here: {}", shown["error"]);
        return None;
    }
    Some(sandbox)
}

/// The `sandbox` of the details of each call in the latest session.
fn facts(sandbox: &Sandbox) -> Vec<Value> {
    let id = sandbox.latest_id([]);
    let exported = sandbox
        .run(&["sessions", "export", &id, "--format", "json"])
        .stdout;
    let mut found = Vec::new();
    collect(&serde_json::from_str(&exported).unwrap(), &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("sandbox").filter(|held| held.is_object()).cloned());
            map.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

fn demo(sandbox: &Sandbox, line: &str) -> String {
    sandbox
        .run(&["run", "--model", "scripted", "--yes", &format!("run {line}")])
        .to_string()
}

#[test]
fn a_program_that_computes_a_name_opens_no_key_if_nobody_is_asked() {
    let Some(sandbox) = unset() else { return };
    let name = "7e2f2e6c6f63616c2f73686172652f6167656e74782f6d6164652d75702e6b6579";
    let python = format!(
        "/usr/bin/python3 -c \"import os; print('x:tr' + 'ied'); print('x:' + open(os.path.expanduser(bytes.fromhex('{name}').decode())).read())\""
    );
    let mut lines = vec!["awk -v mark=x -f opens.awk".to_owned()];
    if std::path::Path::new("/usr/bin/python3").is_file() {
        lines.push(python);
    }
    let secret = format!("x:{SECRET}");
    let folder = "sandbox: {mode: none}\n";
    for line in lines {
        let told = format!("run {line}");
        let args = ["run", "--model", "scripted", "--yes", &told];
        for (user, variable, folder, is_read) in [
            ("", "", "", false),
            ("", "", folder, false),
            ("sandbox: {mode: everyday}\n", "", "", false),
            ("sandbox: {mode: none}\n", "", "", true),
            ("sandbox: {mode: none}\n", "", folder, true),
            ("", "none", "", true),
        ] {
            sandbox.config(user).write("ws/.agentx/config.yaml", folder);
            let ran = sandbox.run_where(&[("AGENTX_SANDBOX", variable.to_owned())], &args, "");
            let said = ran.to_string();
            assert!(
                said.contains("x:tried"),
                "{user:?} {variable:?} {folder:?}: {said}"
            );
            assert_eq!(
                said.contains(&secret),
                is_read,
                "{user:?} {variable:?} {folder:?}: {said}"
            );
            let steps: Vec<Value> = facts(&sandbox).iter().map(|held| held["step"].clone()).collect();
            let expected: &[&str] = if is_read { &[] } else { &["namespace"] };
            assert_eq!(steps, expected, "{user:?} {variable:?} {folder:?}: {said}");
        }
    }
}

/// A command that a person approves runs as they would run it; the mode at the call decides.
#[test]
fn a_chat_that_is_switched_to_auto_has_its_commands_held_from_then_on() {
    let Some(sandbox) = unset() else { return };
    let input =
        "run awk -v mark=asked -f opens.awk\ny\n/approve-mode auto\nrun awk -v mark=unasked -f opens.awk\n";
    let ran = sandbox.run_with_input(&["chat", "--model", "scripted"], input);
    let said = ran.to_string();
    for (mark, is_read) in [("asked", true), ("unasked", false)] {
        assert!(said.contains(&format!("{mark}:tried")), "{mark}: {said}");
        // One mark ends in the other.
        let line = format!(" {mark}:{SECRET}");
        assert_eq!(said.contains(&line), is_read, "{mark}: {said}");
    }
    let steps: Vec<Value> = facts(&sandbox).iter().map(|held| held["step"].clone()).collect();
    assert_eq!(steps, ["namespace"], "{said}");
}

/// Neither a command nor typed text reaches a shell that began when somebody was asked.
#[test]
fn a_shell_without_a_sandbox_takes_nothing_about_which_nobody_is_asked() {
    let Some(sandbox) = unset() else { return };
    for (first, second, told, steps) in [
        (
            r#"{tool: shell, input: {command: "word=kept; echo first-$word"}}"#,
            r#"{tool: shell, input: {command: "echo second-[$word]"}}"#,
            ["first-kept", "second-[]", "a new shell in a sandbox began"],
            vec!["namespace"],
        ),
        (
            r#"{tool: shell, input: {command: "read -r word; echo typed-$word", wait_ms: 300}}"#,
            r#"{tool: shell_input, input: {text: hello}}"#,
            ["runs for", "Nothing was typed", "without a sandbox"],
            Vec::new(),
        ),
    ] {
        let answers = format!(
            "- {{input: one, call: {first}}}\n- {{input: two, call: {second}}}\n- {{result: '*', say: done}}\n"
        );
        sandbox.demo(&answers, "tools: {optional: [shell]}\n");
        let ran = sandbox.run_with_input(&["chat"], "one\ny\n/approve-mode auto\ntwo\n");
        let id = sandbox.latest_id([]);
        let exported = sandbox
            .run(&["sessions", "export", &id, "--format", "json"])
            .stdout;
        for words in told {
            assert!(exported.contains(words), "{words:?}: {ran}\n{exported}");
        }
        assert!(!exported.contains("typed-hello"), "{ran}");
        let found: Vec<Value> = facts(&sandbox).iter().map(|held| held["step"].clone()).collect();
        assert_eq!(found, steps, "{ran}");
    }
}

#[test]
fn where_no_sandbox_works_commands_run_and_a_line_says_why() {
    let sandbox = Sandbox::new();
    let home = sandbox.path("ws").display().to_string();
    let config = sandbox.config("").path("home/.config/agentx/config.yaml");
    let variables = [("HOME", home), ("AGENTX_CONFIG", config.display().to_string())];
    let ran = sandbox.run_where(
        &variables,
        &["run", "--model", "scripted", "--yes", "run touch made"],
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(sandbox.path("ws/made").exists(), "{ran}");
    let why = "commands run without a sandbox, because none works here: this is your home directory";
    assert_eq!(ran.stderr.matches(why).count(), 1, "{ran}");
    let (told, called) = (ran.stderr.find(why), ran.stderr.find("touch made"));
    assert!(
        told < called && called.is_some(),
        "before the first command: {ran}"
    );
    let quiet = ["run", "--quiet", "--model", "scripted", "--yes", "run touch made"];
    let ran = sandbox.run_where(&variables, &quiet, "");
    assert_eq!(ran.stderr.matches(why).count(), 1, "{ran}");
    let asked = sandbox.run_where(
        &variables,
        &[
            "run",
            "--model",
            "scripted",
            "--approve",
            "deny",
            "run touch again",
        ],
        "",
    );
    assert!(!asked.stderr.contains(why), "{asked}");
}

/// The files that such a command names are looked at before it runs; in between, another program may put a
/// link in their place.
#[test]
fn a_command_that_only_reads_is_held_and_one_that_a_person_allowed_is_not() {
    let Some(sandbox) = unset() else { return };
    sandbox.write("ws/notes.txt", "words-of-a-note\n");
    for (config, expected) in [
        ("", &["namespace"][..]),
        ("sandbox: {mode: none}\n", &[][..]),
        (
            "rules:\n  - {effect: allow, tool: bash, argument: 'cat *'}\n",
            &[][..],
        ),
    ] {
        sandbox.config(config);
        let ran = sandbox.run(&["run", "--model", "scripted", "run cat notes.txt"]);
        assert!(ran.to_string().contains("words-of-a-note"), "{config}: {ran}");
        let steps: Vec<Value> = facts(&sandbox).iter().map(|held| held["step"].clone()).collect();
        assert_eq!(steps, expected, "{config}: {ran}");
    }
}

#[test]
fn git_shows_no_other_file_through_a_link_in_the_repository() {
    let Some(sandbox) = unset() else { return };
    sandbox.write("home/.ssh/id_ed25519", format!("{SECRET}\n"));
    let made = |line: &str| {
        let mut made = std::process::Command::new("sh");
        let made = made
            .args(["-c", line])
            .current_dir(sandbox.path("ws"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    };
    let run = |line: &str| sandbox.run(&["run", "--model", "scripted", line]).to_string();
    made(
        "git init -q . && echo x > f && git add f && \
         git -c user.name=ada -c user.email=ada@example.com commit -qm words-of-a-commit",
    );
    let ran = run("run git log");
    assert!(ran.contains("words-of-a-commit"), "{ran}");
    let ran = run("run git diff");
    assert!(!ran.contains("cannot be listed"), "{ran}");
    made("mkdir -p .git/info && ln -s ../../../home/.ssh/id_ed25519 .git/info/grafts");
    for line in ["run git log", "run git status"] {
        let ran = run(line);
        assert!(!ran.contains(SECRET), "{ran}");
    }
}

/// A process that a command leaves in a session of its own could otherwise change files between a check and
/// their use.
#[test]
fn what_a_command_leaves_in_a_session_of_its_own_ends_with_it() {
    let Some(sandbox) = unset() else { return };
    let ran = demo(
        &sandbox,
        "setsid sh -c 'touch up; sleep 1000; touch late' > /dev/null 2>&1 & \
         while [ ! -e up ]; do sleep 0.01; done; echo left",
    );
    let id = sandbox.latest_id([]);
    let exported = sandbox
        .run(&["sessions", "export", &id, "--format", "json"])
        .stdout;
    let told = "processes that the command left were ended; start long-running programs as a background job";
    assert!(exported.contains(told), "{ran}\n{exported}");
}

#[test]
fn what_is_shown_names_both_sandboxes_if_nobody_chose_one() {
    let Some(sandbox) = unset() else { return };
    for args in [&["sandbox", "show"][..], &["doctor", "--offline"]] {
        let ran = sandbox.run(args).to_string();
        let ran = ran.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            ran.contains("none while you or your rules decide") && ran.contains("namespace, with a network"),
            "{ran}"
        );
    }
    let shown: Value = serde_json::from_str(&sandbox.run(&["sandbox", "show", "--json"]).stdout).unwrap();
    assert_eq!(shown["on"], false);
    assert_eq!(shown["unasked"], "namespace");
    sandbox.config("chat: {status: 'held by {sandbox}'}\n");
    let mut chat = Pty::start(&sandbox, &["chat", "hello"], 100, 30);
    chat.wait_for(" out · $0");
    chat.wait_for("held by none");
    chat.keys("/approve-mode auto\r");
    chat.wait_for("held by namespace");
    chat.keys("\u{4}");
    chat.end();
}

#[test]
fn commands_are_held_and_the_log_says_by_what() {
    let Some(sandbox) = held() else { return };
    let key = sandbox.path("home/.ssh/id_ed25519");
    let ran = demo(
        &sandbox,
        &format!("cat {}; echo done > made; exit 1", key.display()),
    );
    assert!(!ran.contains(SECRET), "{ran}");
    assert_eq!(
        std::fs::read_to_string(sandbox.path("ws/made")).unwrap(),
        "done\n"
    );
    let facts = facts(&sandbox);
    assert!(
        !facts.is_empty() && facts.iter().all(|held| held["network"] == false),
        "{facts:?}"
    );
    assert!(
        ["landlock", "namespace"].contains(&facts[0]["step"].as_str().unwrap()),
        "{facts:?}"
    );
}

#[test]
fn temporary_files_are_named_for_other_tools_and_removed_at_the_end() {
    let Some(sandbox) = held() else { return };
    let tmp = sandbox.path("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let sandbox = sandbox.env("TMPDIR", tmp.to_str().unwrap());
    let ran = demo(&sandbox, "echo kept > $TMPDIR/out.txt; cat $TMPDIR/out.txt");
    assert!(ran.contains("kept"), "{ran}");
    let id = sandbox.latest_id([]);
    let exported = sandbox
        .run(&["sessions", "export", &id, "--format", "json"])
        .stdout;
    assert!(exported.contains("[it left out.txt in "), "{exported}");
    let mut made = std::fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap());
    let own = made.find(|entry| entry.file_name().to_string_lossy().starts_with("agentx-"));
    let own = own.unwrap().path();
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
    // What a process that was killed two days ago left is removed by the next one.
    let left = own.join("ses_1-0123456789abcdef");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("file"), "x").unwrap();
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 24 * 3600);
    std::fs::File::open(&left).unwrap().set_modified(then).unwrap();
    demo(&sandbox, "true");
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
}

#[test]
fn a_person_may_have_a_refused_command_run_again_outside() {
    const NOTE: &str = "words-of-a-note";
    let Some(sandbox) = held() else { return };
    sandbox.write("home/notes", NOTE);
    let line = format!("run cat {}", sandbox.path("home/notes").display());
    for (answer, is_shown, outside) in [("n\r", false, "refused"), ("y\r", true, "ran")] {
        let mut chat = Pty::start(&sandbox, &["chat", &line], 200, 50);
        chat.wait_for("bash wants to run");
        chat.keys("y\r");
        chat.wait_for("sandbox asks you");
        chat.wait_for("is not let in");
        chat.wait_for("answer?");
        let asked = chat
            .lines()
            .into_iter()
            .filter(|row| row.contains("sandbox asks you"));
        assert_eq!(asked.count(), 1, "{:#?}", chat.lines());
        chat.keys(answer);
        chat.wait_for_last("›");
        let lines = chat.lines().join("\n");
        assert_eq!(lines.contains(NOTE), is_shown, "{lines}");
        chat.keys("\u{4}");
        chat.end();
        let facts = facts(&sandbox);
        assert!(
            facts.iter().any(|held| held["outside"] == outside),
            "{answer:?}: {facts:?}"
        );
    }
}

#[test]
fn nobody_but_a_person_has_a_command_run_outside() {
    const NOTE: &str = "words-of-a-note";
    let Some(sandbox) = held() else { return };
    sandbox.write("home/notes", NOTE);
    let ran = demo(&sandbox, &format!("cat {}", sandbox.path("home/notes").display()));
    assert!(!ran.contains(NOTE) && !ran.contains("asks you"), "{ran}");
    let facts = facts(&sandbox);
    assert!(
        facts.iter().all(|held| held["outside"].is_null())
            && facts.iter().any(|held| held["refused"].is_string()),
        "{facts:?}"
    );
}

#[test]
fn a_folder_does_not_loosen_it() {
    let Some(sandbox) = held() else { return };
    let folder = "sandbox: {mode: none, network: on, read: [/], best_effort: true}\n";
    sandbox.write("ws/.agentx/config.yaml", folder);
    for trusted in [false, true] {
        if trusted {
            let trust = sandbox.run(&["config", "trust"]);
            assert_eq!(trust.code, Some(0), "{trust}");
        }
        let key = sandbox.path("home/.ssh/id_ed25519");
        let ran = demo(&sandbox, &format!("cat {}", key.display()));
        assert!(!ran.contains(SECRET), "trusted: {trusted}: {ran}");
        let shown = sandbox.run(&["config", "show"]).stdout;
        let mode = shown
            .lines()
            .find(|line| line.starts_with("sandbox.mode"))
            .unwrap();
        assert!(mode.contains("auto"), "trusted: {trusted}: {shown}");
    }
}

#[test]
fn what_cannot_be_held_does_not_run() {
    let Some(sandbox) = held() else { return };
    let home = sandbox.path("ws").display().to_string();
    let config = sandbox
        .path("home/.config/agentx/config.yaml")
        .display()
        .to_string();
    let ran = sandbox.run_where(
        &[("HOME", home), ("AGENTX_CONFIG", config)],
        &["run", "--model", "scripted", "--yes", "run touch made"],
        "",
    );
    let said = ran.to_string();
    assert!(said.contains("the sandbox cannot protect"), "{said}");
    assert!(!sandbox.path("ws/made").exists(), "{said}");
}

#[test]
fn the_helper_has_no_variable_of_an_agent_either() {
    let Some(sandbox) = held() else { return };
    let variables = [("SSH_AUTH_SOCK", format!("/{SECRET}"))];
    let line = format!("grep -la {SECRET} /proc/[0-9]*/environ 2>/dev/null; echo looked");
    let by_hand = ["sandbox", "run", "--", "sh", "-c", &line];
    let told = format!("run {line}");
    let by_tool = ["run", "--model", "scripted", "--yes", &told];
    for words in [&by_hand[..], &by_tool] {
        let ran = sandbox.run_where(&variables, words, "");
        assert!(ran.to_string().contains("looked"), "{ran}");
        assert!(!ran.to_string().contains("/environ\n"), "{ran}");
    }
}

#[test]
fn a_masked_variable_is_a_placeholder_for_commands() {
    let Some(sandbox) = held() else { return };
    let settings = "credentials: {MADE_UP_TOKEN: {hosts: [api.example.com]}}";
    let variables = [("MADE_UP_TOKEN", SECRET.to_owned())];
    let line = "echo \"found <$MADE_UP_TOKEN>\"";
    let with_all = format!("{line}; env");
    let by_hand = ["sandbox", "run", "--", "sh", "-c", &with_all];
    let told = format!("run {line}");
    let by_tool = ["run", "--model", "scripted", "--yes", &told];
    for (network, expected) in [("hosts", "found <agentx-masked-"), ("off", "found <>")] {
        let passed = "tools: {environment: [MADE_UP_TOKEN]}";
        sandbox.config(&format!(
            "{passed}\nsandbox: {{mode: auto, network: {network}, {settings}}}\n"
        ));
        for words in [&by_hand[..], &by_tool] {
            let ran = sandbox.run_where(&variables, words, "").to_string();
            assert!(
                ran.contains(expected) && !ran.contains(SECRET),
                "{network}: {ran}"
            );
        }
        let shown = sandbox
            .run_where(&variables, &["sandbox", "show"], "")
            .to_string();
        assert!(shown.contains("MADE_UP_TOKEN for api.example.com: "), "{shown}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

/// The sandbox of commands about which nobody is asked has the proxy with the credentials, too.
#[test]
fn a_masked_variable_is_a_placeholder_in_a_sandbox_that_nobody_chose() {
    let Some(sandbox) = unset() else { return };
    let variables = [("MADE_UP_TOKEN", SECRET.to_owned())];
    let credentials = "network: hosts, credentials: {MADE_UP_TOKEN: {hosts: [api.example.com]}}";
    let told = "run echo \"found <$MADE_UP_TOKEN>\"";
    let by_tool = ["run", "--model", "scripted", "--yes", told];
    for (mode, found, shown) in [
        (
            "",
            "found <agentx-masked-",
            "a placeholder for commands about which nobody is asked",
        ),
        (
            "mode: none, ",
            "found <>",
            "no command gets it or a placeholder, because `sandbox.mode` is none",
        ),
    ] {
        sandbox.config(&format!("sandbox: {{{mode}{credentials}}}\n"));
        let ran = sandbox.run_where(&variables, &by_tool, "").to_string();
        assert!(ran.contains(found) && !ran.contains(SECRET), "{mode}: {ran}");
        let said = sandbox
            .run_where(&variables, &["sandbox", "show"], "")
            .to_string();
        assert!(said.contains(shown), "{mode}: {said}");
    }
}

#[test]
fn the_doctor_of_the_sandbox_names_each_step() {
    let Some(sandbox) = held() else { return };
    let ran = sandbox.run(&["sandbox", "doctor", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&str> = said["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["name"].as_str())
        .collect();
    assert_eq!(names, ["kernel", "landlock", "namespace", "limits"]);
    assert_eq!((ran.code, said["error"].is_null()), (Some(0), true), "{ran}");
    let ran = sandbox.run(&["sandbox", "doctor"]);
    let step = format!("in the step `{}`", said["step"].as_str().unwrap());
    assert!(ran.code == Some(0) && ran.stdout.contains(&step), "{ran}");
}

#[test]
fn a_command_by_hand_ends_as_it_would_without() {
    let Some(sandbox) = held() else { return };
    let ran = sandbox.run(&["sandbox", "run", "--", "sh", "-c", "pwd; exit 7"]);
    assert_eq!(ran.code, Some(7), "{ran}");
    assert!(ran.stdout.trim_end().ends_with("/ws"), "{ran}");
    let ran = sandbox.run(&["sandbox", "run", "--step", "made-up", "--", "true"]);
    assert_eq!(ran.code, Some(2), "{ran}");
}

/// Another process removes directories for temporary files that are old and unlocked.
#[test]
fn a_command_by_hand_keeps_its_temporary_files_locked() {
    let Some(sandbox) = held() else { return };
    let shown: Value = serde_json::from_str(&sandbox.run(&["sandbox", "show", "--json"]).stdout).unwrap();
    let steps = shown["steps"].as_array().unwrap();
    let working = steps.iter().filter(|step| step["works"] == true);
    let names: Vec<&str> = working.filter_map(|step| step["step"].as_str()).collect();
    for step in names.into_iter().filter(|step| *step != "none") {
        // Whoever removes it locks it for itself alone.
        let line = "test -d \"$TMPDIR\" && flock --nonblock \"$TMPDIR\" true; echo $?";
        let ran = sandbox.run(&["sandbox", "run", "--step", step, "--", "sh", "-c", line]);
        assert_eq!(ran.stdout, "1\n", "{step}: {ran}");
    }
}

#[test]
fn a_policy_is_tried_on_commands_of_past_sessions() {
    let Some(sandbox) = held() else { return };
    let key = sandbox.path("home/.ssh/id_ed25519").display().to_string();
    demo(&sandbox, &format!("cat {key}"));
    demo(&sandbox, "true");
    sandbox.config("sandbox: {mode: none}\n");
    demo(&sandbox, &format!("cat {key}"));
    let ran = sandbox.run(&["approvals", "replay", "--sandbox", "--json"]);
    let trial: Value = serde_json::from_str(&ran.stdout).unwrap();
    for (count, expected) in [
        ("ran", 3),
        ("refused", 1),
        ("refused_if_opened", 1),
        ("not_known", 1),
    ] {
        assert_eq!(trial[count], expected, "{count}: {ran}");
    }
    let commands = trial["commands"].as_array().unwrap();
    let mut was: Vec<&str> = commands
        .iter()
        .filter_map(|command| command["findings"][0]["was"].as_str())
        .collect();
    was.sort_unstable();
    assert_eq!(was, ["named", "refused"], "{ran}");
    let is_it = |command: &Value| command["findings"][0]["what"] == "/home/.ssh/id_ed25519";
    assert!(commands.iter().all(is_it), "{ran}");
    let ran = sandbox.run(&["approvals", "replay", "--sandbox"]);
    assert!(
        ran.stdout
            .contains("1 of 3 commands in 3 sessions would have been refused something"),
        "{ran}"
    );
    let both = sandbox.run(&["approvals", "replay", "--sandbox", "--rule", "deny bash"]);
    assert_eq!(both.code, Some(2), "{both}");
}
