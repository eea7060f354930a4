//! The program's reports about the machine, the configuration and itself; and changes of the configuration.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};
use serde_json::Value;

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran}");
    ran
}

/// The checks by name: how bad each is, and what was found.
fn checks(ran: &Ran) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"));
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let checks = report["checks"].as_array().unwrap();
    checks
        .iter()
        .map(|check| (text(check, "name"), text(check, "level"), text(check, "found")))
        .collect()
}

fn check(ran: &Ran, name: &str) -> (String, String) {
    let found = checks(ran).into_iter().find(|(of, ..)| of == name);
    found.map(|(_, level, found)| (level, found)).unwrap()
}

#[test]
fn a_doctor_looks_at_everything() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--quiet", "hello"]);
    let text = ok(sandbox.run(&["doctor", "--offline"]));
    let report = ok(sandbox.run(&["doctor", "--offline", "--json"]));
    let mut names: Vec<String> = checks(&report).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(cfg!(target_os = "linux"), names.contains(&"sandbox".to_owned()));
    names.retain(|name| name != "sandbox");
    assert!(
        names.iter().all(|name| text.stdout.contains(name.as_str())),
        "{text}"
    );
    assert_eq!(
        names[..12],
        [
            "configuration",
            "model",
            "keys",
            "approvals",
            "MCP servers",
            "server",
            "database",
            "disk",
            "clock",
            "terminal",
            "locale",
            "shell"
        ]
    );
    assert_eq!(check(&report, "model").0, "warn", "{text}");
    assert_eq!(check(&report, "database").0, "ok", "{text}");
    assert!(check(&report, "database").1.contains("1 session,"), "{text}");
    assert!(text.stdout.contains("→ set ANTHROPIC_API_KEY"), "{text}");
    let before = sandbox.path("home/.local/share/agentx");
    assert!(before.exists(), "{text}");
}

#[test]
fn a_doctor_shows_no_secret() {
    let secret = "sk-ant-very-secret-1";
    let sandbox = Sandbox::new().env("ANTHROPIC_API_KEY", secret);
    let text = ok(sandbox.run(&["doctor", "--offline"]));
    assert!(text.stdout.contains("ANTHROPIC_API_KEY is set"), "{text}");
    sandbox.config(&format!("providers:\n  openai:\n    api_key: {secret}\n"));
    let written = sandbox.run(&["doctor", "--offline"]);
    assert!(written.stdout.contains("is written in a file"), "{written}");
    for ran in [text, written] {
        assert!(!ran.to_string().contains("very-secret"), "{ran}");
    }
}

#[test]
fn the_exit_code_of_a_doctor_says_what_is_worst() {
    let sandbox = Sandbox::new();
    sandbox.config("model: opus\n");
    let no_key = sandbox.run(&["doctor", "--offline", "--json"]);
    assert_eq!(no_key.code, Some(4), "{no_key}");
    assert_eq!(check(&no_key, "model").0, "bad");
    // A port that was given back a moment ago is closed.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    sandbox.config(&format!(
        "model: mine\nproviders:\n  here:\n    base_url: http://127.0.0.1:{port}/v1\n    auth: none\nmodels:\n  mine:\n    provider: here\n"
    ));
    let closed = sandbox.run(&["doctor", "--json"]);
    assert_eq!(closed.code, Some(5), "{closed}");
    assert!(check(&closed, "server").1.contains("is unreachable"), "{closed}");
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    sandbox.config(&format!(
        "model: mine\nproviders:\n  here:\n    base_url: http://127.0.0.1:{port}/v1\n    auth: none\nmodels:\n  mine:\n    provider: here\n"
    ));
    let open = ok(sandbox.run(&["doctor", "--json"]));
    assert!(check(&open, "server").1.contains("is reachable"), "{open}");
    sandbox.config("modle: x\n");
    let mistake = sandbox.run(&["doctor", "--json"]);
    assert_eq!(mistake.code, Some(3), "{mistake}");
    assert_eq!(check(&mistake, "configuration").0, "bad");
    assert_eq!(
        check(&mistake, "database").0,
        "ok",
        "the rest is looked at all the same"
    );
    sandbox.config("");
    sandbox.write(
        "home/.local/share/agentx/sessions.db",
        "this is not a database, but it is long enough to be one",
    );
    let broken = sandbox.run(&["doctor", "--offline", "--json"]);
    assert_eq!(broken.code, Some(9), "{broken}");
}

#[test]
fn shells_and_man_are_told_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = ok(sandbox.run(&["completions", shell]));
        for word in ["sessions", "export", "doctor"] {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(sandbox.run(&["completions", "tcsh"]).code, Some(2));
    let page = ok(sandbox.run(&["man"]));
    assert!(page.stdout.contains(".TH AGENTX 1"), "{page}");
    for section in ["EXIT STATUS", ".SH ENVIRONMENT", ".SH FILES"] {
        assert!(page.stdout.contains(section), "{section}");
    }
    let topic = sandbox.run(&["man", "exit-codes"]);
    assert_eq!(topic.code, Some(2));
    assert!(
        topic.stderr.contains("`agentx help exit-codes` prints it"),
        "{topic}"
    );
    let page = ok(sandbox.run(&["man", "sessions", "export"]));
    assert!(page.stdout.contains(".TH AGENTX-SESSIONS-EXPORT 1"), "{page}");
    assert!(page.stdout.contains("Markdown"), "{page}");
    assert_eq!(sandbox.run(&["man", "sesions"]).code, Some(2));
}

/// Returns bash's completions for the last of these words.
fn completed(sandbox: &Sandbox, words: &[&str]) -> String {
    let script = ok(sandbox.run(&["completions", "bash"]));
    sandbox.write("ws/agentx.bash", &script.stdout);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_agentx"))
        .parent()
        .unwrap()
        .to_owned();
    let line = words
        .iter()
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>()
        .join(" ");
    let text = format!(
        "PATH=\"{}:$PATH\"; source agentx.bash; COMP_WORDS=(agentx {line}); COMP_CWORD={}; \
         _agentx_known agentx \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        program.display(),
        words.len()
    );
    let shell = sandbox.command(&[]);
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &text])
        .env_clear()
        .current_dir(sandbox.path("ws"));
    bash.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.stdin(std::process::Stdio::null());
    String::from_utf8(bash.output().unwrap().stdout).unwrap()
}

#[test]
fn a_shell_completes_ids_and_agents() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ws/.agentx/agents/guide.yaml",
        "name: guide\ndescription: knows the way\nprompt: Guide.\n",
    );
    sandbox.run(&["run", "--quiet", "hello"]);
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = listed[0]["session_id"].as_str().unwrap();
    let words = sandbox.command(&["complete", "sessions"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&words.stdout), format!("{id}\thello\n"));
    let nowhere = sandbox.run(&["--data", "/proc/none", "complete", "sessions"]);
    assert_eq!(
        (nowhere.code, nowhere.stdout.as_str(), nowhere.stderr.as_str()),
        (Some(0), "", "")
    );
    let complete = |words: &[&str]| completed(&sandbox, words);
    for words in [
        &["resume", "se"][..],
        &["sessions", "show", ""],
        &["--json", "show", &id[..6]],
        &["run", "--session", "ses_"],
    ] {
        assert_eq!(complete(words), format!("{id}\n"), "{words:?}");
    }
    assert_eq!(complete(&["chat", "--agent", "gu"]), "guide\n");
    assert_eq!(complete(&["agents", "show", ""]), "guide\n");
    assert!(complete(&["sess"]).contains("sessions"));
    assert_eq!(complete(&["sessions", "export", "--format", "h"]), "html\n");
    assert_eq!(complete(&["tools", "show", "gr"]), "grep\n");
    assert_eq!(complete(&["config", "set", "limits.max_c"]), "limits.max_cost\n");
    assert_eq!(complete(&["man", "watc"]), "watch\n");
    assert_eq!(
        complete(&["completions", ""]),
        "bash\nelvish\nfish\npowershell\nzsh\n"
    );
    assert_eq!(complete(&["doctor", ""]), "\n", "flags are for who begins one");
    assert!(complete(&["doctor", "-"]).contains("--offline"));
    assert_eq!(complete(&["help", "mod"]), "models\n");
    assert!(
        !complete(&["comp"]).lines().any(|word| word == "complete"),
        "it is for scripts"
    );
}

/// Names of a folder's models are not its owner's to run.
#[test]
fn completion_runs_nothing_that_a_name_says() {
    let sandbox = Sandbox::new();
    let provider = "providers: {there: {api: openai-chat, base_url: 'http://127.0.0.1:9/v1'}}\n";
    sandbox.config(&format!(
        "{provider}models:\n  'mine-$(touch ran)': {{provider: there}}\n  'mine-`touch ran`': {{provider: there}}\n  \
         'mine-*': {{provider: there}}\n  mine-plain: {{provider: there}}\n"
    ));
    let found = completed(&sandbox, &["--model", "mine-"]);
    assert_eq!(found, "mine-plain\n");
    assert!(!sandbox.path("ws/ran").exists());
    let known = sandbox.run(&["complete", "models"]);
    assert!(!known.stdout.contains("touch"), "{known}");
}

#[test]
fn other_shells_are_told_the_same() {
    let sandbox = Sandbox::new();
    for shell in ["zsh", "fish"] {
        let script = ok(sandbox.run(&["completions", shell]));
        for kind in ["sessions", "agents", "models", "settings", "commands"] {
            assert!(
                script.stdout.contains(&format!("agentx complete {kind}")),
                "{shell} asks for {kind}"
            );
        }
    }
    let fish = sandbox.run(&["completions", "fish"]);
    for line in [
        "complete -c agentx -n '__fish_agentx_using_subcommand doctor' -f\n",
        "complete -c agentx -n '__fish_agentx_using_subcommand completions' -f -a 'bash elvish fish powershell zsh'\n",
    ] {
        assert!(fish.stdout.contains(line), "{line} is not in\n{fish}");
    }
    assert!(
        !fish.stdout.contains("__fish_seen_subcommand_from import' -f"),
        "there a file stands: {fish}"
    );
    let zsh = sandbox.run(&["completions", "zsh"]);
    assert!(
        !zsh.stdout.contains(":_default'"),
        "a prompt is not a command: {zsh}"
    );
    assert!(
        zsh.stdout.contains(":_agentx_sessions'") && zsh.stdout.contains(":_agentx_agents'"),
        "{zsh}"
    );
}

#[test]
fn a_key_is_set_and_what_would_be_wrong_is_not() {
    let sandbox = Sandbox::new().env("AGENTX_MODEL", "scripted");
    let mut all = Vec::new();
    sandbox.config("# mine\nlimits:\n  max_cost: 2 # enough\n");
    for args in [
        &["limits.max_cost", "0.50"][..],
        &["limits.max_cost", "0.50"],
        &["model", "sonnet"],
        &["limits.timeout", "10"],
        &["limit.timeout", "10m"],
        &["providers.openai.api_key", "sk-secret"],
        &["models.mine.provider", "nowhere"],
        &["rules", "all"],
        &["log", "info", "--workspace"],
    ] {
        all.push(sandbox.run(&[&["config", "set"], args].concat()).to_string());
    }
    let file = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    assert_eq!(
        file,
        "# mine\nlimits:\n  max_cost: 0.50 # enough\nmodel: sonnet\n"
    );
    let there = std::fs::read_to_string(sandbox.path("ws/.agentx/config.yaml")).unwrap();
    assert_eq!(there, "log: info\n");
    assert_eq!(
        all.join("").matches("sk-secret").count(),
        1,
        "only as it was typed"
    );
    insta::assert_snapshot!("config_set", all.join("\n\n"));
}

#[test]
fn an_editor_gets_no_keys() {
    let sandbox = Sandbox::new()
        .env("OPENAI_API_KEY", "sk-made-up")
        .env("EDITOR_SEES", "this");
    sandbox.write(
        "ws/editor",
        "#!/bin/sh\nenv > seen\nls -l \"$1\" | cut -c1-10 > access\nprintf 'log: warn\\n' > \"$1\"\n",
    );
    let line = format!("sh {}", sandbox.path("ws/editor").display());
    let sandbox = sandbox.env("EDITOR", &line);
    let edited = sandbox.run(&["config", "edit"]);
    assert_eq!(edited.code, Some(0), "{edited}");
    let access = std::fs::read_to_string(sandbox.path("ws/access")).unwrap();
    assert_eq!(access.trim(), "-rw-------");
    let seen = std::fs::read_to_string(sandbox.path("ws/seen")).unwrap();
    assert!(
        seen.contains("EDITOR_SEES=this") && !seen.contains("sk-made-up"),
        "{seen}"
    );
}

#[test]
fn what_was_edited_is_kept_only_where_it_is_right() {
    let editor = |sandbox: Sandbox, text: &str| {
        sandbox.write("ws/editor", format!("#!/bin/sh\nprintf '{text}' > \"$1\"\n"));
        let path = sandbox.path("ws/editor");
        let line = format!("sh {}", path.display());
        sandbox.env("EDITOR", &line)
    };
    let none = Sandbox::new().run(&["config", "edit"]);
    assert_eq!(none.code, Some(2), "{none}");
    let missing = Sandbox::new().env("EDITOR", "/no/such/editor");
    let ran = missing.run(&["config", "edit"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(
        ran.stderr.contains("cannot run the editor") && ran.stderr.contains("set VISUAL or EDITOR"),
        "{ran}"
    );
    let left = std::fs::read_dir(missing.path("home/.config/agentx"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "nothing was typed, and nothing is left behind");
    let sandbox = editor(Sandbox::new(), "log: warn # loud\\n");
    let changed = ok(sandbox.run(&["config", "edit"]));
    assert!(changed.stdout.ends_with("config.yaml is changed\n"), "{changed}");
    let file = sandbox.path("home/.config/agentx/config.yaml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "log: warn # loud\n");
    let same = ok(sandbox.run(&["config", "edit"]));
    assert!(same.stdout.ends_with("stays as it is\n"), "{same}");
    let sandbox = editor(sandbox, "log: loud\\n");
    let wrong = sandbox.run(&["config", "edit"]);
    assert_eq!(wrong.code, Some(3), "{wrong}");
    assert!(wrong.stderr.contains("your text is saved in"), "{wrong}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "log: warn # loud\n");
}
