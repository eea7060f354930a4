//! Rules about paths apply to the target of a symbolic link, which only the tool can see.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use crate::support::Place;
use agentx_runtime::{Journal, ToolContext};
use agentx_types::{
    AgentConfig, AgentKind, Api, ApprovalMode, CallingAgent, Guard, Limits, ModelParams, ModelSpec, Prices,
    RULES_VERSION, Rule, RuleEffect, ToolStatus, since,
};
use serde_json::json;

/// The rules of the oldest sessions and those of new ones.
const OLDEST_AND_NEWEST: [u32; 2] = [0, RULES_VERSION];

fn rule(effect: RuleEffect, path: &str) -> Rule {
    Rule {
        workspace: None,
        effect,
        tool: "*".into(),
        argument: None,
        path: Some(path.into()),
        origin: None,
    }
}

/// Returns the status of a call that may run or not.
fn status(goes: bool) -> ToolStatus {
    if goes {
        ToolStatus::Success
    } else {
        ToolStatus::Denied
    }
}

/// Returns the context of a call of an agent with these rules.
fn context(place: &Place, version: u32, approval: ApprovalMode, rules: Vec<Rule>) -> ToolContext {
    guarded(place, version, approval, rules, None)
}

/// Returns the same context with guarded files.
fn guarded(
    place: &Place,
    version: u32,
    approval: ApprovalMode,
    rules: Vec<Rule>,
    guard: Option<Arc<Guard>>,
) -> ToolContext {
    let config = AgentConfig {
        kind: AgentKind::React,
        name: "test".into(),
        model: ModelSpec {
            id: "m".into(),
            provider: "scripted".into(),
            api: Api::Scripted,
            context_window: 1000,
            max_output_tokens: 1000,
            input: None,
            prices: Prices::default(),
            server: None,
            assumes_output: false,
            name: None,
        },
        params: ModelParams::default(),
        system_prompt: "".into(),
        instructions: Vec::new(),
        workspace: place.workspace.to_string_lossy().into_owned(),
        tools: place.toolbox.specs(),
        approval,
        rules,
        limits: Limits::default(),
        agents: Vec::new(),
        fallbacks: Vec::new(),
        routing: None,
        condensing: None,
        rules_version: version,
        guard,
        server_rules: None,
        all_tools: false,
        tool_search: None,
        ask_user: None,
        wait: false,
        reminders: None,
        asks_at_limits: false,
        plan_mode: None,
        stuck: None,
        context_sources: Vec::new(),
        learning: None,
        web_text: false,
        security: None,
        built_in_agents: Vec::new(),
        built_in: None,
        history_messages: None,
        answer_schema: None,
    };
    let caller = CallingAgent {
        config: Some(Arc::new(config)),
        ..CallingAgent::default()
    };
    ToolContext {
        journal: Journal::discard_for(Arc::new(caller)),
        outside_workspace: approval == ApprovalMode::Auto,
        ..place.context()
    }
}

#[tokio::test]
async fn rules_hold_where_links_lead() {
    for version in OLDEST_AND_NEWEST {
        rules_hold(version).await;
    }
}

async fn rules_hold(version: u32) {
    use ApprovalMode::{Ask, Auto};
    use RuleEffect::{Allow, Deny};
    let place = Place::new();
    let base = &place.workspace;
    let elsewhere = tempfile::tempdir().unwrap();
    for directory in ["secrets", "src"] {
        std::fs::create_dir_all(base.join(directory)).unwrap();
    }
    for file in ["secrets/key", "src/a", "plain"] {
        std::fs::write(base.join(file), "words").unwrap();
    }
    std::fs::write(elsewhere.path().join("key"), "words").unwrap();
    symlink("secrets/key", base.join("link")).unwrap();
    symlink("secrets", base.join("folder")).unwrap();
    symlink("../plain", base.join("src/plain")).unwrap();
    symlink(elsewhere.path().join("key"), base.join("out")).unwrap();
    let outside = format!(
        "{}/**",
        std::fs::canonicalize(elsewhere.path()).unwrap().display()
    );
    let cases = [
        (Ask, vec![rule(Deny, "secrets/**")], "plain", true),
        (Ask, vec![rule(Deny, "secrets/**")], "link", false),
        (Ask, vec![rule(Deny, "secrets/**")], "folder/key", false),
        (Ask, vec![rule(RuleEffect::Ask, "secrets/**")], "link", false),
        // A person was asked about this very path, or wants no questions.
        (
            Ask,
            vec![rule(RuleEffect::Ask, "secrets/**")],
            "secrets/key",
            true,
        ),
        (
            Auto,
            vec![rule(RuleEffect::Ask, "secrets/**")],
            "link",
            version < since::AUTO_ASKS,
        ),
        (Auto, vec![rule(Deny, &outside)], "out", false),
        (Auto, Vec::new(), "out", true),
        (Ask, Vec::new(), "out", false),
        (Ask, Vec::new(), "link", true),
    ];
    for (mode, rules, path, goes) in cases {
        let context = context(&place, version, mode, rules.clone());
        let outcome = place.toolbox.call("read", json!({"path": path}), context).await;
        let expected = status(goes);
        assert_eq!(
            outcome.status, expected,
            "{version} {mode:?} {rules:?} {path}: {outcome:?}"
        );
    }
    let allowed = vec![rule(Allow, "src/**")];
    for (path, goes) in [("src/a", true), ("src/plain", false)] {
        let input = json!({"path": path, "content": "new"});
        let outcome = place
            .toolbox
            .call("write", input, context(&place, version, Ask, allowed.clone()))
            .await;
        let expected = status(goes);
        assert_eq!(outcome.status, expected, "{version} {path}: {outcome:?}");
    }
}

#[tokio::test]
async fn searches_leave_out_what_rules_are_about_and_say_so() {
    for version in OLDEST_AND_NEWEST {
        searches_leave_out(version).await;
    }
}

async fn searches_leave_out(version: u32) {
    use ApprovalMode::{Ask, Auto};
    use RuleEffect::Deny;
    let place = Place::new();
    let base = &place.workspace;
    std::fs::create_dir_all(base.join("secrets")).unwrap();
    for file in [".env", "secrets/key", "plain"] {
        std::fs::write(base.join(file), "a word\n").unwrap();
    }
    let for_reading = Rule {
        tool: "read".into(),
        ..rule(Deny, ".env")
    };
    let both = vec![rule(Deny, "**/.env"), rule(RuleEffect::Ask, "secrets/**")];
    let none: &[&str] = &[];
    // Rules that ask hold in the mode `auto` from a version on.
    let (in_auto, not_in_auto): (&[&str], &[&str]) = if version >= since::AUTO_ASKS {
        (&["plain"], &[".env", "secrets/key"])
    } else {
        (&["plain", "secrets/key"], &[".env"])
    };
    let cases = [
        (Ask, Vec::new(), ".", &[".env", "secrets/key", "plain"][..], none),
        (Ask, both.clone(), ".", &["plain"], &[".env", "secrets/key"]),
        (Auto, both.clone(), ".", in_auto, not_in_auto),
        (Ask, vec![for_reading], ".", &["plain", "secrets/key"], &[".env"]),
        // A person was asked about the folder itself.
        (Ask, both, "secrets", &["secrets/key"], none),
    ];
    for (mode, rules, path, shown, left_out) in cases {
        for (tool, input) in [
            ("grep", json!({"pattern": "word", "path": path, "ignored": true})),
            ("glob", json!({"pattern": "*", "path": path, "ignored": true})),
        ] {
            let context = context(&place, version, mode, rules.clone());
            let outcome = place.toolbox.call(tool, input, context).await;
            let text: String = outcome.content.iter().filter_map(|part| part.as_text()).collect();
            for file in shown {
                assert!(text.contains(file), "{version} {tool} {file}: {text}");
            }
            for file in left_out {
                assert!(!text.contains(file), "{version} {tool} {file}: {text}");
            }
            let said = text.contains(" left out: ");
            assert_eq!(said, !left_out.is_empty(), "{version} {tool}: {text}");
        }
    }
}

#[tokio::test]
async fn searches_and_links_lead_to_no_guarded_file() {
    for version in OLDEST_AND_NEWEST {
        nothing_leads_to_a_guarded_file(version).await;
    }
}

async fn nothing_leads_to_a_guarded_file(version: u32) {
    let place = Place::new();
    let base = &place.workspace;
    let elsewhere = tempfile::tempdir().unwrap();
    let own = elsewhere.path().canonicalize().unwrap().join("agentx");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(base.join("sub")).unwrap();
    for file in [".env", "sub/.env.local", ".env.example", "plain"] {
        std::fs::write(base.join(file), "a word\n").unwrap();
    }
    std::fs::write(own.join("sessions.db"), "a word\n").unwrap();
    symlink(".env", base.join("notes.txt")).unwrap();
    symlink(&own, base.join("data")).unwrap();
    let guard = Arc::new(Guard {
        secrets: vec!["/**/.env".into(), "/**/.env.*".into()],
        except: vec!["/**/.env.example".into()],
        own: vec![format!("{}/**", own.display())],
        ..Guard::default()
    });
    for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
        for (tool, input) in [
            ("grep", json!({"pattern": "word", "ignored": true})),
            ("glob", json!({"pattern": "**", "ignored": true})),
        ] {
            let context = guarded(&place, version, mode, Vec::new(), Some(guard.clone()));
            let outcome = place.toolbox.call(tool, input, context).await;
            let text: String = outcome.content.iter().filter_map(|part| part.as_text()).collect();
            assert!(
                text.contains(".env.example") && text.contains("plain"),
                "{version} {tool}: {text}"
            );
            let other = text.replace(".env.example", "");
            assert!(!other.contains(".env"), "{version} {tool}: {text}");
            assert!(text.contains("2 files left out"), "{version} {tool}: {text}");
        }
        let read = async |path: &str| {
            let context = guarded(&place, version, mode, Vec::new(), Some(guard.clone()));
            place.toolbox.call("read", json!({"path": path}), context).await
        };
        assert_eq!(
            read("data/sessions.db").await.status,
            ToolStatus::Denied,
            "{version} {mode:?}"
        );
        let is_unasked = mode == ApprovalMode::Auto && version < since::AUTO_ASKS;
        let through_link = if is_unasked {
            ToolStatus::Success
        } else {
            ToolStatus::Denied
        };
        assert_eq!(read("notes.txt").await.status, through_link, "{version} {mode:?}");
    }
}

#[tokio::test]
async fn words_of_a_command_that_are_links_lead_nowhere_unseen() {
    for version in OLDEST_AND_NEWEST {
        words_that_are_links_are_seen(version).await;
    }
}

/// Files in a workspace and outside of it, and links between them.
fn make_links(base: &Path, outside: &Path) {
    std::fs::create_dir_all(outside.join(".ssh")).unwrap();
    std::fs::create_dir_all(outside.join("agentx")).unwrap();
    for file in [".ssh/id_rsa", "agentx/config.yaml", "notes"] {
        std::fs::write(outside.join(file), "made up\n").unwrap();
    }
    std::fs::create_dir(base.join("sub")).unwrap();
    for file in ["plain", ".env"] {
        std::fs::write(base.join(file), "made up\n").unwrap();
    }
    for (link, target) in [
        ("LICENSE", outside.join(".ssh/id_rsa")),
        ("docs", outside.join(".ssh")),
        ("settings.local", outside.join("agentx/config.yaml")),
        ("new.local", outside.join("agentx/new.yaml")),
        ("far", outside.join("notes")),
        ("settings", ".env".into()),
        ("near", "plain".into()),
        ("sub/up", "..".into()),
        ("tool", "/bin/sh".into()),
        ("ring", "ring".into()),
    ] {
        symlink(target, base.join(link)).unwrap();
    }
}

/// Lines that are refused, because a link leads to a guarded file or, where a person is asked, out of the
/// workspace.
const REFUSED: &[(ApprovalMode, &str)] = {
    use ApprovalMode::{Ask, Auto};
    &[
        (Ask, "cat LICENSE"),
        (Auto, "cat LICENSE"),
        (Ask, "cat LICEN*"),
        (Ask, "cat ./LIC?NSE | wc"),
        (Ask, "echo x; cat <LICENSE"),
        (Ask, "cat sub/up/LICENSE"),
        (Ask, "cd sub && cat ../LICENSE"),
        (Ask, "cat docs/id_rsa"),
        (Ask, "cat docs/*"),
        (Auto, "cat */*"),
        (Auto, "cat ./*/*"),
        (Auto, "cat d*/id_rsa"),
        (Auto, "cat [d]ocs/id_rsa"),
        (Auto, "cat */*/LICENSE"),
        (Auto, "bash -c 'cat */*'"),
        (Auto, "ls */* | xargs cat"),
        (Auto, "cat ~+/LICENSE"),
        (Auto, "python3 -c 'print(open(\"LICENSE\").read())'"),
        (Auto, "awk '{while((getline l < \"LICENSE\")>0) print l}' plain"),
        (Ask, "cp plain settings.local"),
        (Auto, "cp plain settings.local"),
        (Auto, "echo x > new.local"),
        (Auto, "dd if=plain of=settings.local"),
        (Ask, "cat settings"),
        (Ask, "cat far"),
    ]
};

/// Lines that run: their links lead to other files, or they name a file about which a person decided.
const RUN: &[(ApprovalMode, &str)] = {
    use ApprovalMode::{Ask, Auto};
    &[
        (Auto, "cat s*/missing */plain; true"),
        (Auto, "cat far"),
        (Ask, "cat near sub/up/plain"),
        (Ask, "cat pl*"),
        (Ask, "./tool -c true"),
        (Ask, "cat .env"),
        (Ask, "ls ring missing; true"),
    ]
};

/// Lines whose links lead to a file about which a rule decides: the rules, the line, and whether it runs.
fn lines_under_rules(outside: &Path, version: u32) -> [(Vec<Rule>, &'static str, bool); 4] {
    let reading = |path: &str| {
        vec![Rule {
            tool: "read".into(),
            ..rule(RuleEffect::Deny, path)
        }]
    };
    let denies_far = vec![rule(RuleEffect::Deny, &format!("{}/notes", outside.display()))];
    let is_unseen = version < since::READING_RULES_HOLD_FOR_LINES;
    [
        (reading("plain"), "cat near", is_unseen),
        (reading("plain"), "cat sub/up/plain", is_unseen),
        (reading("plain"), "cat settings", false),
        (denies_far, "cat far", false),
    ]
}

async fn words_that_are_links_are_seen(version: u32) {
    let place = Place::new();
    let base = &place.workspace;
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().canonicalize().unwrap();
    make_links(base, &outside);
    let guard = Arc::new(Guard {
        secrets: vec!["/**/.env".into(), "/**/.ssh/**".into()],
        own: vec![format!("{}/**", outside.join("agentx").display())],
        ..Guard::default()
    });
    let without_rules =
        |goes| move |(mode, line): &(ApprovalMode, &'static str)| (*mode, vec![], *line, goes);
    let refused = REFUSED.iter().map(without_rules(false));
    let run = RUN.iter().map(without_rules(true));
    let under_rules = lines_under_rules(&outside, version);
    let under_rules = under_rules.map(|(rules, line, goes)| (ApprovalMode::Auto, rules, line, goes));
    for (mode, rules, line, goes) in under_rules.into_iter().chain(refused).chain(run) {
        let context = guarded(&place, version, mode, rules, Some(guard.clone()));
        let outcome = place
            .toolbox
            .call("bash", json!({"command": line}), context)
            .await;
        let expected = status(goes);
        assert_eq!(outcome.status, expected, "{version} {mode:?} {line}: {outcome:?}");
    }
    let now = std::fs::read_to_string(outside.join("agentx/config.yaml")).unwrap();
    assert_eq!(now, "made up\n");
    assert!(!outside.join("agentx/new.yaml").exists());
}

#[tokio::test]
async fn programs_that_follow_links_come_upon_none_that_leads_to_a_guarded_place() {
    for version in OLDEST_AND_NEWEST {
        programs_follow_no_guarded_link(version).await;
    }
}

async fn programs_follow_no_guarded_link(version: u32) {
    let place = Place::new();
    let base = &place.workspace;
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().canonicalize().unwrap();
    std::fs::create_dir_all(outside.join(".ssh")).unwrap();
    std::fs::create_dir_all(base.join("src/deep")).unwrap();
    std::fs::create_dir_all(base.join("clean")).unwrap();
    std::fs::create_dir_all(base.join("target")).unwrap();
    std::fs::write(outside.join(".ssh/id_rsa"), "made up\n").unwrap();
    std::fs::write(outside.join("config.yaml"), "made up\n").unwrap();
    std::fs::write(outside.join("notes"), "made up\n").unwrap();
    std::fs::write(base.join("clean/a"), "made up\n").unwrap();
    symlink(outside.join(".ssh/id_rsa"), base.join("src/deep/LICENSE")).unwrap();
    symlink(outside.join("notes"), base.join("clean/notes")).unwrap();
    symlink(outside.join("config.yaml"), base.join("target/a")).unwrap();
    let guard = Arc::new(Guard {
        secrets: vec!["/**/.ssh/**".into()],
        own: vec![format!("{}/config.yaml", outside.display())],
        ..Guard::default()
    });
    for (line, goes) in [
        ("grep -R made src", false),
        ("grep -R made", false),
        ("cd src && grep -Rn made deep", false),
        ("grep -r made src", true),
        ("find -L src -type f", false),
        ("find src -type f", true),
        ("tar chf - src | wc -c", false),
        ("tar -c -h -f - src | wc -c", false),
        ("tar cf - src | wc -c", true),
        ("cp -rL src copy", false),
        ("cp -r clean/. target", false),
        ("cp clean/a target", false),
        ("cp -r clean copied", true),
        ("grep -R made clean", true),
        ("diff -r src clean", false),
    ] {
        let context = guarded(
            &place,
            version,
            ApprovalMode::Auto,
            Vec::new(),
            Some(guard.clone()),
        );
        let outcome = place
            .toolbox
            .call("bash", json!({"command": line}), context)
            .await;
        let is_refused = outcome.status == ToolStatus::Denied;
        assert_eq!(is_refused, !goes, "{version} {line}: {outcome:?}");
    }
    let now = std::fs::read_to_string(outside.join("config.yaml")).unwrap();
    assert_eq!(now, "made up\n");
    // A folder elsewhere may contain anything, so a question names it if somebody can be asked.
    symlink(&outside, base.join("clean/all")).unwrap();
    let context = guarded(&place, version, ApprovalMode::Ask, Vec::new(), Some(guard));
    let line = json!({"command": "grep -R made clean"});
    let outcome = place.toolbox.call("bash", line, context).await;
    assert_eq!(outcome.status, ToolStatus::Denied, "{outcome:?}");
}

/// Runs Git in a test's folder.
fn git(base: &Path, words: &[&str]) {
    let who = ["-c", "user.name=made up", "-c", "user.email=made-up@example.com"];
    let ran = std::process::Command::new("git")
        .args(who)
        .args(words)
        .current_dir(base)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[tokio::test]
async fn a_line_that_only_reads_shows_no_secret_that_it_does_not_name() {
    let place = Place::new();
    let base = &place.workspace;
    for file in ["plain", ".env"] {
        std::fs::write(base.join(file), "a word\n").unwrap();
    }
    git(base, &["init", "-q"]);
    git(base, &["add", "."]);
    git(base, &["commit", "-qm", "made up"]);
    std::fs::write(base.join("plain"), "another word\n").unwrap();
    let guard = Arc::new(Guard {
        secrets: vec!["/**/.env".into()],
        reading_commands: true,
        ..Guard::default()
    });
    let run = async |line: &str| {
        let context = guarded(
            &place,
            RULES_VERSION,
            ApprovalMode::Ask,
            Vec::new(),
            Some(guard.clone()),
        );
        let outcome = place
            .toolbox
            .call("bash", json!({ "command": line }), context)
            .await;
        let text: String = outcome.content.iter().filter_map(|part| part.as_text()).collect();
        (outcome.status, text)
    };
    for line in [
        "cat plain",
        "grep -n word plain",
        "git diff",
        "git show --stat",
        "git log --oneline",
    ] {
        let (status, text) = run(line).await;
        assert_eq!(status, ToolStatus::Success, "{line}: {text}");
    }
    for line in ["grep -rn word", "git show", "git show HEAD"] {
        let (status, text) = run(line).await;
        assert_eq!(status, ToolStatus::Denied, "{line}: {text}");
        assert!(text.contains(".env, which may hold secrets"), "{line}: {text}");
    }
    let (status, text) = run("git show HEAD -- plain").await;
    assert_eq!(status, ToolStatus::Success, "the files are named: {text}");
    std::fs::write(base.join(".env"), "a new word\n").unwrap();
    assert_eq!(run("git diff").await.0, ToolStatus::Denied);
    assert_eq!(run("git diff -- plain").await.0, ToolStatus::Success);
}

/// The text that a test's Git prints, without the end of its line.
fn printed_by_git(base: &Path, words: &[&str]) -> String {
    let ran = std::process::Command::new("git")
        .args(words)
        .current_dir(base)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{words:?}");
    String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
}

/// `git show` prints a file that a hash, a tag or a described revision names, whatever options it gets.
#[tokio::test]
async fn a_line_that_only_reads_shows_no_file_by_its_hash() {
    let place = Place::new();
    let base = &place.workspace;
    for file in ["plain", ".env"] {
        std::fs::write(base.join(file), format!("a word of {file}\n")).unwrap();
    }
    git(base, &["init", "-q"]);
    git(base, &["add", "."]);
    git(base, &["commit", "-qm", "made up"]);
    git(base, &["tag", "of-commit"]);
    let [secret, plain] = ["HEAD:.env", "HEAD:plain"].map(|name| printed_by_git(base, &["rev-parse", name]));
    git(base, &["tag", "of-file", &secret]);
    let guard = Arc::new(Guard {
        secrets: vec!["/**/.env".into()],
        reading_commands: true,
        ..Guard::default()
    });
    let run = async |line: &str| {
        let context = guarded(
            &place,
            RULES_VERSION,
            ApprovalMode::Ask,
            Vec::new(),
            Some(guard.clone()),
        );
        let outcome = place
            .toolbox
            .call("bash", json!({ "command": line }), context)
            .await;
        let text: String = outcome.content.iter().filter_map(|part| part.as_text()).collect();
        (outcome.status, text)
    };
    for line in [
        "git show -s HEAD",
        "git show --stat of-commit",
        "git show --name-only",
    ] {
        let (status, text) = run(line).await;
        assert_eq!(status, ToolStatus::Success, "{line}: {text}");
    }
    for options in [
        " -s",
        " --stat",
        " --raw",
        " --name-only",
        " --numstat",
        " --quiet",
        "",
    ] {
        for revision in [&secret[..], &secret[..12], "of-file"] {
            let line = format!("git show{options} {revision}");
            let (status, text) = run(&line).await;
            assert_eq!(status, ToolStatus::Denied, "{line}: {text}");
            assert!(!text.contains("a word of"), "{line}: {text}");
        }
    }
    for line in [
        format!("git diff {secret} {plain}"),
        format!("git diff {secret}..{plain}"),
        format!("git diff of-file {plain}"),
    ] {
        let (status, text) = run(&line).await;
        assert_eq!(status, ToolStatus::Denied, "{line}: {text}");
        assert!(!text.contains("a word of"), "{line}: {text}");
    }
}
