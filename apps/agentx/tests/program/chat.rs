//! The chat: in lines, and in a real terminal with a tool, an approval, an interrupt, 中文.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;

#[test]
fn lines_are_taken_one_after_the_other() {
    let sandbox = Sandbox::new();
    let input = "hello\nrun echo 你好\nperhaps\ny\n/titel x\n/title A talk\n/model nope\n/approve-mode\n";
    let ran = sandbox.run_with_input(&["chat"], input);
    insta::assert_snapshot!("chat_lines", ran);
}

#[test]
fn what_fills_the_window_and_what_rules_say_is_told() {
    let sandbox = Sandbox::new();
    let input = "/context\nhello\n/context\n/context exact\n/context all\n/approvals test bash: rm x\n/approvals test\n";
    let ran = sandbox.run_with_input(&["chat"], input);
    for what in [
        "there are no messages yet",
        " of 128.0k tokens in use (<1 %)",
        "AgentX estimates 2.",
        "messages to the agent",
        "reserved for the answer",
        "\"messages\":[{\"role\":\"system\"",
        "/context takes `exact` or nothing, not `all`",
        "ask: running a program needs your approval",
        "which call? for example /approvals test bash: rm -rf build",
    ] {
        assert!(ran.to_string().contains(what), "{what}\n{ran}");
    }
    let parts = sandbox.run(&["context", &sandbox.latest_id([]), "--parts"]);
    assert!(parts.stdout.contains("system prompt            1 "), "{parts}");
    let whole = sandbox.run(&["context", &sandbox.latest_id([]), "--json"]).stdout;
    assert!(whole.contains("\"kind\": \"system_prompt\""), "{whole}");
}

#[test]
fn an_open_question_is_refused_when_nobody_can_answer() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with_input(&["chat"], "run touch made\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!sandbox.path("ws/made").exists());
}

#[test]
fn a_session_is_gone_on_with() {
    let sandbox = Sandbox::new();
    sandbox.run_with_input(&["chat"], "hello\n");
    let ran = sandbox.run_with_input(&["resume"], "/status\n");
    assert!(
        ran.stdout.contains("› hello"),
        "what was said last is shown: {ran}"
    );
    assert_eq!(sandbox.run(&["sessions", "list"]).stdout.lines().count(), 2);
    let nothing = sandbox.run_with_input(&["chat"], "/status\n");
    assert_eq!(nothing.code, Some(0), "{nothing}");
    assert_eq!(
        sandbox.run(&["sessions", "list"]).stdout.lines().count(),
        2,
        "no words, no session"
    );
}

#[test]
fn a_session_looks_the_same_when_it_is_opened_again() {
    let sandbox = Sandbox::new();
    let input = "run echo one\nrun sh -c 'echo two; exit 3'\nhello\n";
    let live = sandbox.run_with_input(&["chat", "--yes"], input).stdout;
    let again = sandbox.run_with_input(&["resume"], "").stdout;
    let turns = |text: &str| text[text.find("› run echo one").unwrap_or(0)..].to_owned();
    assert!(live.contains("● bash  echo one"), "{live}");
    assert_eq!(turns(&again), turns(&live));
    sandbox.run_with_input(&["resume"], "thanks\n");
    let later = sandbox.run_with_input(&["resume"], "").stdout;
    assert!(
        !later.contains("echo one") && later.contains("› run sh"),
        "the last turns, each whole: {later}"
    );
}

#[test]
fn what_was_typed_during_an_answer_is_said_once_between_its_lines() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 60);
    chat.wait_for_last("›");
    chat.keys("tell a long story\r");
    chat.wait_for("Chapter 1");
    chat.keys("thanks\r");
    chat.wait_for("  1 › thanks");
    chat.keys("\u{3}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("› thanks");
    chat.keys("\r");
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let lines = chat.lines();
    let count = |text: &str| lines.iter().filter(|line| line.trim_end() == text).count();
    assert!(count("› thanks") == 1, "{}", lines.join("\n"));
}

#[test]
fn a_tool_an_approval_and_what_was_typed_meanwhile() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for("offline demo");
    chat.wait_for_last("›");
    chat.keys("run echo 你好世界\r");
    chat.wait_for("bash wants to run");
    chat.wait_for_last("allow? y once · s session · a always · n no · Alt+letter at once ›");
    chat.keys("later\r");
    chat.wait_for("  1 › later");
    chat.keys("a\r");
    chat.wait_for("│ 你好世界");
    chat.wait_for("› later");
    chat.wait_for_last("›");
    let config = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    let place = std::fs::canonicalize(sandbox.path("ws")).unwrap();
    let rule = format!(
        "rules:\n  - {{effect: allow, tool: \"bash\", argument: \"echo *\", workspace: \"{}\", folder: \"",
        place.display()
    );
    assert!(config.starts_with(&rule), "{config}");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let questions = chat
        .lines()
        .iter()
        .filter(|line| line.contains("bash wants to run"))
        .count();
    assert_eq!(
        questions,
        1,
        "what has scrolled away is there once:\n{}",
        chat.lines().join("\n")
    );
}

#[test]
fn a_change_is_shown_before_it_is_made_and_the_rule_is_narrowed_and_taken_back() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    let mut chat = Pty::start(&sandbox, &[], 200, 50);
    let question = "allow? y once · s session · a always · n no · Alt+letter at once ›";
    chat.wait_for_last("›");
    chat.keys("replace hello with bye in notes.txt\r");
    chat.wait_for("-hello");
    chat.wait_for("+bye");
    chat.wait_for("because changing a file needs your approval");
    chat.wait_for("(or write your own: `a PATTERN`)");
    chat.wait_for_last(question);
    chat.keys("a src/**\r");
    chat.wait_for("would not allow this call");
    chat.wait_for_last(question);
    chat.keys("a notes.*\r");
    chat.wait_for("allow edit in notes.*");
    chat.wait_for_last("›");
    let config = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    let here = std::fs::canonicalize(sandbox.path("ws")).unwrap();
    let here = here.display();
    let rule = format!(
        "rules:\n  - {{effect: allow, tool: \"edit\", path: \"notes.*\", workspace: \"{here}\", folder: \""
    );
    assert!(config.starts_with(&rule), "{config}");
    let notes = std::fs::read_to_string(sandbox.path("ws/notes.txt")).unwrap();
    assert_eq!(notes, "one\nbye\nthree\n");
    chat.keys("/approvals\r");
    chat.wait_for("your file,");
    chat.wait_for_last("›");
    chat.keys("/approvals remove 1\r");
    chat.wait_for("no longer applies");
    chat.wait_for_last("›");
    let config = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    assert_eq!(config, "rules:\n");
    chat.keys("replace bye with hello in notes.txt\r");
    chat.wait_for("+hello");
    chat.wait_for_last(question);
    chat.keys("n\r");
    chat.wait_for("refused");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn what_is_typed_to_a_router_while_an_agent_speaks_is_matched_at_once() {
    let sandbox = Sandbox::new();
    let story: String = (0..300).map(|i| format!("    part {i} of it.\n")).collect();
    let script = format!(
        "- system: \"You are a player of music.*\"\n  say: I play it for you.\n- system: \"You tell stories*\"\n  say: |\n{story}"
    );
    let agent = |name: &str, prompt: &str| format!("type: react\nname: {name}\nprompt: {prompt}\n");
    let rule = |name: &str, pattern: &str| {
        format!(
            "name: {name}\nvars:\n  what: {{ label: what it is, type: string }}\npatterns:\n  - {pattern} [what]\n"
        )
    };
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write("ws/.agentx/script.yaml", script)
        .write(
            "ws/.agentx/agents/music.yaml",
            agent("music", "You are a player of music."),
        )
        .write(
            "ws/.agentx/agents/teller.yaml",
            agent("teller", "You tell stories."),
        )
        .write("ws/.agentx/rules/play.yaml", rule("play", "play"))
        .write("ws/.agentx/rules/tell.yaml", rule("tell", "tell me about"))
        .write(
            "ws/.agentx/agents/router.yaml",
            "type: match\nname: router\nrules:\n  - $ref: rule:play\n  - $ref: rule:tell\nroute:\n  \
             - rules: [play]\n    agent: { $ref: \"agent:music\" }\n  \
             - rules: [tell]\n    agent: { $ref: \"agent:teller\" }\ndefault: { $ref: \"agent:teller\" }\n",
        );
    let mut chat = Pty::start(&sandbox, &["chat", "--agent", "router"], 80, 40);
    chat.wait_for_last("›");
    chat.keys("tell me about dragons\r");
    chat.wait_for("part 5 of it");
    chat.keys("play a song\r");
    chat.wait_for("I play it for you.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let lines = chat.lines();
    assert!(
        !lines.iter().any(|line| line.contains("part 299")),
        "{}",
        lines.join("\n")
    );
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.trim_end() == "› play a song")
            .count(),
        1
    );
}

#[test]
fn an_interrupt_stops_the_tool_and_the_session_goes_on() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["chat", "--yes"], 80, 40);
    chat.wait_for_last("›");
    chat.keys("run sleep 100\r");
    chat.wait_for("● bash  sleep 100");
    chat.keys("and then 中文");
    chat.wait_for_last("› and then 中文");
    chat.keys("\u{3}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("› and then 中文");
    chat.keys("\u{7f}\u{7f}hello\r");
    chat.wait_for("› and then hello");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn pasted_lines_are_one_text_and_old_ones_come_back() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("\u{1b}[200~one\ntwo\u{1b}[201~");
    chat.wait_for_last("  two");
    chat.keys("\r");
    chat.wait_for("› one");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let mut chat = Pty::start(&sandbox, &["resume", "--last"], 80, 40);
    chat.wait_for_last("›");
    chat.keys("\u{1b}[A");
    chat.wait_for_last("  two");
    chat.keys("\u{3}\u{3}\u{3}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_session_that_another_process_writes_can_be_read() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("AgentX's built-in demo");
    chat.wait_for_last("›");
    let busy = sandbox.run_with_input(&["resume"], "");
    assert_eq!(busy.code, Some(8), "{busy}");
    assert!(busy.stderr.contains("is open in another AgentX"), "{busy}");
    assert!(busy.stderr.contains("agentx sessions show"), "{busy}");
    let list = sandbox.run(&["sessions", "list"]);
    assert!(list.stdout.contains("open (pid"), "{list}");
    let id = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&id.stdout).unwrap();
    let shown = sandbox.run(&["sessions", "show", list[0]["session_id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("› hello"), "{shown}");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn what_a_router_answers_is_there_once_on_a_terminal() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/router");
    let words = [
        "run",
        "--cwd",
        example,
        "--agent",
        "router",
        "--yes",
        "play Moon by Ann",
    ];
    for (more, line) in [
        (None, "music │ ♪ I play it for you."),
        (Some("--quiet"), "♪ I play it for you."),
    ] {
        let sandbox = Sandbox::new();
        let words: Vec<&str> = words.iter().copied().chain(more).collect();
        let mut run = Pty::start(&sandbox, &words, 80, 20);
        run.wait_for("I play it");
        assert_eq!(run.end(), Some(0));
        let lines = run.lines();
        let said: Vec<&str> = lines
            .iter()
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(said, ["note: calls run without asking", line]);
    }
}

#[test]
fn a_picture_for_a_model_that_takes_none_is_not_sent() {
    let sandbox = Sandbox::new();
    sandbox.config(
        "providers:\n  near:\n    base_url: http://127.0.0.1:9/v1\n    auth: none\nmodels:\n  \
         blind: { provider: near, images: false }\n  eye: { provider: near, images: true }\n",
    );
    sandbox.write("ws/pic.png", b"GIF89a\x02\0\x03\0\0\0\0,;");
    let run = sandbox.run(&["run", "--model", "blind", "look at @pic.png"]);
    assert_eq!(run.code, Some(1), "{run}");
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(
        listed.stdout.starts_with("no sessions yet"),
        "it leaves no empty session: {listed}"
    );
    let ran = sandbox.run_with_input(&["chat", "--model", "blind"], "look at @pic.png\n");
    assert_eq!(ran.code, Some(2), "{ran}");
    let told = "nothing was sent: blind does not accept images; eye would; choose another model with /model";
    assert!(ran.stdout.contains(told), "{ran}");
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(
        !listed.stdout.contains("ses_"),
        "no session was begun for it: {listed}"
    );
}

#[test]
fn a_run_that_asks_shows_the_change_in_the_file_and_one_question_at_a_time() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    let words = ["run", "--approve", "ask", "replace hello with bye in notes.txt"];
    let mut run = Pty::start(&sandbox, &words, 80, 30);
    run.wait_for_last("allow? y once · s session · a always · n no ›");
    let shown = run.lines();
    for line in ["    1  one", "    2 -hello", "    2 +bye", "    3  three"] {
        assert!(shown.iter().any(|row| row == line), "{line:?} is in {shown:#?}");
    }
    run.keys("what?\r");
    run.wait_for_last("allow? y once · s session · a always · n no ›");
    run.keys("y\r");
    assert_eq!(run.end(), Some(0));
    let notes = std::fs::read_to_string(sandbox.path("ws/notes.txt")).unwrap();
    assert_eq!(notes, "one\nbye\nthree\n");
}

#[test]
fn a_dumb_terminal_shows_that_it_waits_for_words() {
    let sandbox = Sandbox::new().env("TERM", "dumb");
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("hello\n");
    chat.wait_for("demo");
    chat.wait_for_last("›");
    chat.keys("/status\n");
    chat.wait_for("workspace");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    assert!(
        chat.lines().iter().any(|line| line == "› hello"),
        "{:?}",
        chat.lines()
    );
}

#[test]
fn the_title_of_the_terminal_says_what_goes_on_and_is_restored() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("run uname -a\r");
    chat.wait_for("allow?");
    chat.keys("n\r");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let titles = chat.titles();
    assert_eq!(titles[..2], ["keep", "ws · agentx"], "{titles:?}");
    for title in [
        "… run uname -a · agentx",
        "? run uname -a · agentx",
        "run uname -a · agentx",
    ] {
        assert!(titles.iter().any(|shown| shown == title), "{title}: {titles:?}");
    }
    assert_eq!(titles.last().map(String::as_str), Some("restore"));

    sandbox.config("chat: {title: false}\n");
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    assert!(chat.titles().is_empty(), "{:?}", chat.titles());
}
