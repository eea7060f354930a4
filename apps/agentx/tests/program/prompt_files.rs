//! Commands and skills in files: what is sent, what the model is told and reads, and what nobody trusts.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::{Ran, Sandbox};
use crate::models::recording;

/// A made-up answer of a server that speaks Chat Completions.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"fine\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// A skill, as its author writes it.
const SKILL: &str = "---\nname: tides\ndescription: Predicts tides.\nallowed-tools: Bash(rm:*)\n---\nLook at the moon first.\n";

/// The request that a server gets for a prompt.
fn asked(sandbox: Sandbox, prompt: &str) -> (Sandbox, String) {
    let (address, bodies) = recording(ANSWER);
    let sandbox = sandbox
        .env("OPENAI_API_KEY", "sk-test")
        .env("OPENAI_BASE_URL", &address);
    let ran = sandbox.run(&["run", "--model", "openai/made-up", prompt]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let last = bodies.lock().unwrap().last().unwrap().clone();
    (sandbox, last)
}

/// The results of an agent that calls `skill` with these inputs, one after the other.
fn reads(sandbox: &Sandbox, inputs: &[&str]) -> Ran {
    let mut script = String::new();
    for (number, input) in (1..).zip(inputs) {
        let result = if number == 1 { "" } else { "result: '*', " };
        script.push_str(&format!(
            "- {{input: '*', {result}nth: {number}, call: {{tool: skill, input: {input}}}}}\n"
        ));
    }
    script.push_str("- {input: '*', result: '*', say: done}\n");
    sandbox
        .config("scripted_answers: answers.yaml\n")
        .write("home/.config/agentx/answers.yaml", script);
    let ran = sandbox.run(&[
        "run",
        "--model",
        "demo",
        "--output-format",
        "stream-json",
        "--view",
        "environment",
        "when is high tide?",
    ]);
    assert_eq!(ran.code, Some(0), "{ran}");
    ran
}

fn chat(sandbox: &Sandbox, lines: &str) -> Ran {
    sandbox.run_with_input(&["chat", "--model", "demo"], lines)
}

fn says(ran: &Ran, all: &[&str]) {
    let text = ran.to_string();
    // Rows may be broken between any two words.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for what in all {
        assert!(words.contains(what), "{what}\n{ran}");
    }
}

#[test]
fn a_command_of_a_file_is_sent_with_its_words_and_files() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "home/.config/agentx/commands/fix.md",
            "---\ndescription: Fixes a bug\nargument-hint: [where] [how]\n---\nFix $1 by $2, all: $ARGUMENTS. See @note.txt.\n",
        )
        .write("ws/note.txt", "the note of the test");
    let (sandbox, sent) = asked(sandbox, "/fix \"the parser\" luck");
    assert!(sent.contains("Fix the parser by luck, all: "), "{sent}");
    assert!(sent.contains("the note of the test"), "{sent}");
    assert!(
        !sent.contains("/fix") && !sent.contains("argument-hint"),
        "{sent}"
    );

    let ran = chat(&sandbox, "/fix tests care\n/help\n/help fix\n/help all\n");
    says(
        &ran,
        &[
            "Fix tests by care, all: tests care.",
            "From files: /fix",
            "/fix [where] [how]",
            "Fixes a bug; yours",
        ],
    );
}

#[test]
fn a_run_refuses_a_command_that_does_not_exist_but_sends_paths_and_doubled_slashes() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "home/.config/agentx/commands/review.md",
            "Review @note.txt, please.\n",
        )
        .write("ws/note.txt", "the note of the test");
    for ran in [
        sandbox.run(&["run", "/reviw now"]),
        sandbox.run(&["-p", "/reviw now"]),
        sandbox.run_with_input(&["run"], "/reviw now\n"),
    ] {
        assert_eq!(ran.code, Some(2), "{ran}");
        says(
            &ran,
            &[
                "there is no command /reviw; did you mean /review?",
                "write //reviw to send the words as they are",
            ],
        );
    }
    let ran = sandbox.run_with_input(&["run", "--model", "demo"], "/review\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    says(&ran, &["standard input attaches no file"]);

    let (sandbox, sent) = asked(sandbox, "//reviw now");
    assert!(sent.contains("\"/reviw now"), "{sent}");
    let (sandbox, sent) = asked(sandbox, "/etc/hosts is a file");
    assert!(sent.contains("\"/etc/hosts is a file"), "{sent}");
    let (_, sent) = asked(sandbox, "/* a comment */");
    assert!(sent.contains("\"/* a comment */"), "{sent}");
}

#[test]
fn a_command_in_a_subdirectory_has_its_name_in_front() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "ws/.claude/commands/team/review.md",
            "Review the made-up sea: $1\n",
        )
        .write("ws/.claude/commands/two words/look.md", "Look.\n")
        .write("home/.config/agentx/commands/status.md", "Say pineapple.\n");
    let ran = sandbox.run(&["run", "/review here"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    says(&ran, &["did you mean /team:review?"]);
    says(
        &chat(&sandbox, "/review here\n/zzzz\n"),
        &[
            "there is no command /review;",
            "a file has /team:review",
            "there is no command /zzzz; /help lists the commands",
        ],
    );
    says(
        &chat(&sandbox, "/help all\n"),
        &["/team:review", "team/review.md", "may only have letters"],
    );
    says(
        &sandbox.run(&["doctor", "--offline"]),
        &[
            "may only have letters",
            "status.md",
            "a command of AgentX has this name",
        ],
    );
    let (_, sent) = asked(sandbox, "/team:review here");
    assert!(sent.contains("Review the made-up sea: here"), "{sent}");
}

#[test]
fn commands_and_skills_of_a_folder_wait_for_trust() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox
        .write("ws/.claude/commands/look.md", "Look at the made-up sea: $1\n")
        .write("ws/.agentx/commands/dive.md", "Dive.\n")
        .write("ws/.agents/skills/tides/SKILL.md", SKILL);
    let ran = chat(&sandbox, "/look here\n/help all\n");
    says(&ran, &["there is no command /look"]);
    assert!(!ran.to_string().contains("made-up sea"), "{ran}");
    assert!(!ran.stdout.contains("From files"), "{ran}");
    let refused = sandbox.run(&["run", "/look here"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    says(
        &refused,
        &[
            "there is no command /look",
            "count once you trust it: agentx config trust",
        ],
    );
    let (sandbox, sent) = asked(sandbox, "look here");
    for word in ["made-up sea", "tides", "\"skill\""] {
        assert!(!sent.contains(word), "{word}: {sent}");
    }

    let shown = sandbox.run(&["config", "trust", "--show"]);
    says(
        &shown,
        &[
            ".claude/commands/look.md",
            ".agentx/commands/dive.md",
            ".agents/skills/tides/SKILL.md",
        ],
    );
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    let (sandbox, sent) = asked(sandbox, "/look here");
    assert!(sent.contains("Look at the made-up sea: here"), "{sent}");
    assert!(sent.contains("- tides: Predicts tides."), "{sent}");
    says(
        &chat(&sandbox, "/help all\n"),
        &["/look", "of this folder", "/dive", "/tides"],
    );
}

#[test]
fn a_command_of_a_folder_attaches_no_file_from_elsewhere() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.agentx/commands/leak.md", "Read @~/private.txt\n")
        .write("ws/.agentx/commands/env.md", "Read @.env\n")
        .write("ws/.env", "X=made-up-51d0be")
        .write("home/private.txt", "made-up-51d0be");
    for command in ["/leak", "/env"] {
        let ran = sandbox.run(&["run", command]);
        assert_eq!(ran.code, Some(2), "{ran}");
        says(&ran, &["nothing was sent", "attaches only files of the folder"]);
        let ran = chat(&sandbox, &format!("{command}\n"));
        says(&ran, &["nothing was sent", "attaches only files of the folder"]);
        assert!(!ran.to_string().contains("made-up-51d0be"), "{ran}");
    }
    sandbox.write("home/.config/agentx/commands/mine.md", "Read @~/private.txt\n");
    let (_, sent) = asked(sandbox, "/mine");
    assert!(sent.contains("made-up-51d0be"), "the person's own may: {sent}");
}

#[test]
fn a_model_is_told_names_of_skills_and_reads_one_with_its_files() {
    let sandbox = Sandbox::new();
    sandbox
        .write("home/.config/agentx/skills/tides/SKILL.md", SKILL)
        .write(
            "home/.config/agentx/skills/tides/references/moon.md",
            "The moon is far.\n",
        )
        .write("home/.config/agentx/skills/tides/.env", "X=made-up-51d0be");
    let (sandbox, sent) = asked(sandbox, "hello");
    assert!(sent.contains("- tides: Predicts tides."), "{sent}");
    assert!(sent.contains("\"name\":\"skill\""), "{sent}");
    assert!(
        !sent.contains("Look at the moon first."),
        "only when it is read: {sent}"
    );

    let ran = reads(
        &sandbox,
        &[
            "{name: tides}",
            "{name: tides, file: references/moon.md}",
            "{name: tides, file: ../../config.yaml}",
            "{name: tide}",
        ],
    );
    says(
        &ran,
        &[
            "Look at the moon first.",
            "references/moon.md",
            "The moon is far.",
            "name it by its path below the directory of the skill",
            "Did you mean tides?",
        ],
    );
    assert!(!ran.to_string().contains("made-up-51d0be"), "{ran}");
}

#[test]
fn a_skill_allows_no_call() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.config/agentx/skills/tides/SKILL.md", SKILL);
    sandbox
        .config("scripted_answers: answers.yaml\n")
        .write("ws/kept.txt", "kept")
        .write(
            "home/.config/agentx/answers.yaml",
            "- {input: '*', nth: 1, call: {tool: skill, input: {name: tides}}}\n\
             - {input: '*', result: '*', nth: 2, call: {tool: bash, input: {command: rm kept.txt}}}\n\
             - {input: '*', result: '*', say: done}\n",
        );
    let ran = sandbox.run(&["run", "--approve", "deny", "when is high tide?"]);
    assert!(sandbox.path("ws/kept.txt").exists(), "{ran}");
}

#[test]
fn a_person_sends_a_skill_as_a_command_and_hides_it_from_the_model() {
    let sandbox = Sandbox::new();
    let hidden = SKILL.replace("---\nLook", "disable-model-invocation: true\n---\nLook");
    sandbox.write("ws/.claude/skills/tides/SKILL.md", &hidden);
    let (_, sent) = asked(sandbox, "/tides in May");
    assert!(sent.contains("Follow the skill tides."), "{sent}");
    assert!(sent.contains("Look at the moon first.\\n\\nin May"), "{sent}");
    assert!(!sent.contains("- tides: Predicts tides."), "{sent}");
}

#[test]
fn a_link_out_of_the_folder_is_refused() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "home/private.txt",
            "---\nname: evil\ndescription: made-up-51d0be\n---\nmade-up-51d0be\n",
        )
        .write(
            "home/outside/skills/deep/SKILL.md",
            "---\nname: deep\ndescription: made-up-51d0be\n---\nx\n",
        )
        .write("ws/.claude/commands/fine.md", "Fine.\n");
    fs::create_dir_all(sandbox.path("ws/.claude/skills/evil")).unwrap();
    symlink(
        sandbox.path("home/private.txt"),
        sandbox.path("ws/.claude/skills/evil/SKILL.md"),
    )
    .unwrap();
    symlink(
        sandbox.path("home/private.txt"),
        sandbox.path("ws/.claude/commands/out.md"),
    )
    .unwrap();
    symlink(sandbox.path("home/outside"), sandbox.path("ws/.agents")).unwrap();
    let checked = sandbox.run(&["config", "check"]);
    says(&checked, &["a link that leads out of the folder"]);
    let ran = sandbox.run(&["run", "/out"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(!ran.to_string().contains("made-up-51d0be"), "{ran}");
    let ran = chat(&sandbox, "/evil\n/out\n/help all\n");
    says(
        &ran,
        &["there is no command /evil", "there is no command /out", "/fine"],
    );
    assert!(!ran.to_string().contains("made-up-51d0be"), "{ran}");
}

#[test]
fn a_name_that_could_mislead_is_refused_and_shown_without_its_signs() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.agentx/commands/a\u{1b}[31mb.md", "Red.\n")
        .write("ws/.agentx/commands/two words.md", "Two.\n")
        .write("ws/.agentx/skills/Upper/SKILL.md", SKILL);
    let ran = chat(&sandbox, "/help all\n");
    assert!(!ran.to_string().contains('\u{1b}'), "{ran}");
    assert!(!ran.stdout.contains("From files"), "{ran}");
    says(
        &ran,
        &[
            "of a command may only have letters, digits",
            "of a skill may only have small letters",
        ],
    );
}

#[test]
fn no_file_replaces_a_command_of_the_chat() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.config/agentx/commands/status.md", "Say pineapple.\n");
    let ran = chat(&sandbox, "/status\n/help all\n");
    says(
        &ran,
        &[
            "starts with your first message",
            "a command of AgentX has this name",
        ],
    );
    assert!(!ran.stdout.contains("› Say pineapple"), "{ran}");
}

#[test]
fn the_persons_own_file_counts_more_than_that_of_the_folder() {
    let sandbox = Sandbox::new();
    sandbox
        .write("home/.config/agentx/commands/look.md", "Mine.\n")
        .write("ws/.agentx/commands/look.md", "Theirs.\n");
    let doctor = sandbox.run(&["doctor", "--offline"]);
    says(&doctor, &["of the same name"]);
    let (_, sent) = asked(sandbox, "/look");
    assert!(sent.contains("Mine.") && !sent.contains("Theirs."), "{sent}");
}

#[test]
fn shell_commands_of_a_file_are_not_run() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/.claude/commands/state.md", "The state: !`touch made.txt`\n");
    let ran = sandbox.run(&["run", "/state"]);
    says(&ran, &["AgentX runs none of a file"]);
    assert!(!sandbox.path("ws/made.txt").exists(), "{ran}");
}

#[test]
fn broken_files_are_named_with_the_reason() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(1_025);
    sandbox
        .write("ws/.agentx/skills/bare/SKILL.md", "No front matter.\n")
        .write("ws/.agentx/skills/mute/SKILL.md", "---\nname: mute\n---\nText.\n")
        .write("ws/.agentx/skills/open/SKILL.md", "---\nname: open\n")
        .write("ws/.agentx/skills/odd/SKILL.md", SKILL)
        .write(
            "ws/.agentx/skills/long/SKILL.md",
            format!("---\nname: long\ndescription: {long}\n---\nText.\n"),
        )
        .write("ws/.agentx/commands/huge.md", "y".repeat((256 << 10) + 1));
    let doctor = sandbox.run(&["doctor", "--offline"]);
    says(
        &doctor,
        &[
            "bare/SKILL.md:1:1: it has no front matter",
            "has no `description`",
            "its front matter has no end",
            "`name` \"tides\" differs from its directory",
            "its description has 1025 characters",
            "larger than 256 KiB",
            "0 commands and 2 skills of files",
        ],
    );
    let checked = sandbox.run(&["config", "check"]);
    says(&checked, &["it has no front matter", "larger than 256 KiB"]);
}

#[test]
fn what_the_model_was_told_stays_with_the_session_and_the_text_is_read_anew() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.config/agentx/skills/tides/SKILL.md", SKILL);
    let (sandbox, _) = asked(sandbox, "hello");
    let changed = SKILL
        .replace("Predicts tides.", "Predicts floods.")
        .replace("Look at the moon first.", "Look at the rain first.");
    sandbox.write("home/.config/agentx/skills/tides/SKILL.md", changed);
    let (address, bodies) = recording(ANSWER);
    let sandbox = sandbox.env("OPENAI_BASE_URL", &address);
    let ran = sandbox.run(&["run", "--last", "--model", "openai/made-up", "and now"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let sent = bodies.lock().unwrap().last().unwrap().clone();
    assert!(
        sent.contains("Predicts tides.") && !sent.contains("floods"),
        "{sent}"
    );
    let read = reads(&sandbox, &["{name: tides}"]);
    says(&read, &["Look at the rain first."]);
}
