//! Agents of Claude Code and opencode: they become agents of ours, never freer than their files say, and what
//! has no counterpart is remarked on with its place.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use agentx_agent_files::definition::{AgentDefinition, AgentUse};
use agentx_agent_files::{FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout};
use agentx_types::RuleEffect;

/// The library of a workspace and a person who both have files of all three programs.
fn load(files: &[(&str, &str)]) -> Library {
    let files: MemoryFiles = files.iter().map(|(path, text)| (*path, *text)).collect();
    let root = |path: &str, origin, layout| Root {
        path: path.into(),
        origin,
        layout,
    };
    let roots = [
        root("w/.agentx", FileOrigin::Workspace, RootLayout::AgentX),
        root("w/.claude/agents", FileOrigin::Workspace, RootLayout::ClaudeCode),
        root("w/.opencode/agent", FileOrigin::Workspace, RootLayout::OpenCode),
        root("u", FileOrigin::User, RootLayout::AgentX),
        root("h/.claude/agents", FileOrigin::User, RootLayout::ClaudeCode),
    ];
    let options = LibraryOptions {
        tools: &["bash", "read", "grep", "edit", "write", "web_extract"],
        ..LibraryOptions::default()
    };
    Library::load(&roots, &files, options)
}

fn agent<'l>(library: &'l Library, name: &str) -> &'l AgentDefinition {
    &library.agents()[name].definition
}

fn shown(of: &[agentx_agent_files::DefinitionMistake]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

#[test]
fn an_agent_of_claude_code_is_read_with_its_terms_in_ours() {
    // Made up, in the form of code.claude.com/docs/en/sub-agents: the description has colons.
    let text = "---\nname: code-reviewer\ndescription: Use it after changes. Example: user: \"done\"\n\
                tools: Read, Grep, Bash, NotebookEdit, mcp__docs__find, Bash(git log:*)\nmodel: sonnet\n\
                color: blue\nmaxTurns: 9\npermissionMode: bypassPermissions\n---\n\nYou review.\n";
    let library = load(&[("w/.claude/agents/review.md", text)]);
    assert_eq!(shown(library.check()), [""; 0]);
    let agent = agent(&library, "code-reviewer");
    assert_eq!(agent.prompt.as_deref(), Some("You review."));
    assert!(
        agent
            .description
            .as_deref()
            .unwrap()
            .starts_with("Use it after changes. Example")
    );
    assert_eq!(agent.limits.unwrap().max_iterations, Some(9));
    let choices = agent.foreign.as_ref().unwrap();
    assert_eq!(choices.model.as_deref(), Some("sonnet"));
    assert_eq!(
        choices.only.as_deref().unwrap(),
        ["read", "grep", "bash", "docs__find"]
    );
    let remarks = shown(library.remarks());
    let all = remarks.join("\n");
    assert_eq!(remarks.len(), 4, "{all}");
    for (line, word) in [
        (4, "NotebookEdit"),
        (4, "docs__find"),
        (4, "Bash(git log:*)"),
        (8, "permissionMode"),
    ] {
        let place = format!("w/.claude/agents/review.md:{line}:");
        let is_it = |remark: &String| remark.starts_with(&place) && remark.contains(word);
        assert!(remarks.iter().any(is_it), "{word} in {all}");
    }
}

#[test]
fn tools_and_agents_are_only_those_that_the_file_leaves() {
    let with = |front: &str| format!("---\ndescription: x\n{front}---\nHelp.\n");
    let (all, none, some) = (
        with(""),
        with("tools: []\n"),
        with("disallowedTools: Write, Bash(git push:*), mcp__docs\n"),
    );
    let delegates = with("tools:\n  - Read\n  - Task(all, Explore)\n");
    let library = load(&[
        ("w/.claude/agents/all.md", &all),
        ("w/.claude/agents/none.md", &none),
        ("w/.claude/agents/some.md", &some),
        ("w/.claude/agents/chief.md", &delegates),
    ]);
    assert_eq!(shown(library.check()), [""; 0]);
    let choices = |name: &str| agent(&library, name).foreign.clone().unwrap();
    assert!(choices("all").admits("bash") && choices("all").delegates.is_empty());
    assert!(!choices("none").admits("bash"));
    assert!(!choices("some").admits("write") && !choices("some").admits("docs__find"));
    assert!(choices("some").admits("bash"));
    let rules = &agent(&library, "some").approval.as_ref().unwrap().rules;
    assert!(rules.iter().all(|rule| rule.effect == RuleEffect::Deny));
    assert_eq!(rules[0].argument.as_deref(), Some("git push *"));
    assert_eq!(choices("chief").delegates, ["explore"]);
    let agents = &agent(&library, "chief").agents;
    assert!(matches!(&agents[..], [AgentUse::Ref(name)] if name == "all"));
}

#[test]
fn a_list_of_tools_without_its_last_bracket_is_a_mistake_with_its_line() {
    for key in ["tools", "disallowedTools"] {
        let text = format!("---\nname: x\n{key}: [Read, Nope\n---\nHelp.\n");
        let library = load(&[("w/.claude/agents/x.md", &text)]);
        let mistakes = shown(library.check()).join("\n");
        assert!(
            mistakes.starts_with("w/.claude/agents/x.md:3:")
                && mistakes.contains(&format!("`{key}` begins with `[`")),
            "{mistakes}"
        );
        assert!(library.agents().is_empty());
    }
}

#[test]
fn our_own_files_win_and_the_persons_win_over_the_folders() {
    let (claude, ours) = ("---\nname: x\n---\nTheirs.\n", "name: x\nprompt: Ours.\n");
    let prompt = |files: &[(&str, &str)]| {
        let library = load(files);
        assert_eq!(shown(library.check()), [""; 0]);
        (
            agent(&library, "x").prompt.clone().unwrap(),
            library.agents()["x"].origin,
        )
    };
    let of_folder = [
        ("w/.agentx/agents/x.yaml", ours),
        ("w/.claude/agents/x.md", claude),
    ];
    assert_eq!(prompt(&of_folder), ("Ours.".into(), FileOrigin::Workspace));
    let of_person = [("u/agents/x.yaml", ours), ("h/.claude/agents/x.md", claude)];
    assert_eq!(prompt(&of_person), ("Ours.".into(), FileOrigin::User));
    let of_both = [
        ("w/.agentx/agents/x.yaml", ours),
        ("h/.claude/agents/x.md", claude),
    ];
    assert_eq!(prompt(&of_both), ("Theirs.".into(), FileOrigin::User));
}

#[test]
fn files_that_are_no_agents_harm_nothing() {
    let library = load(&[
        ("w/.claude/agents/README.md", "Our agents.\n"),
        ("w/.claude/agents/notes.txt", "x"),
        ("w/.claude/agents/libs/a.luau", "not a script ("),
        ("w/.claude/agents/deep/x.md", "---\nname: x\n---\nHelp.\n"),
        ("w/.claude/agents/open.md", "---\nname: open\n"),
        ("w/.claude/agents/empty.md", "---\nname: empty\n---\n"),
        ("w/.agentx/agents/notes.md", "Notes."),
    ]);
    assert!(library.agents().is_empty());
    let mistakes = shown(library.check()).join("\n");
    assert_eq!(library.check().len(), 2, "{mistakes}");
    assert!(
        mistakes.contains("empty.md:1:1: it has no instructions"),
        "{mistakes}"
    );
    assert!(
        mistakes.contains("open.md:1:1: its front matter has no end"),
        "{mistakes}"
    );
    let remarks = shown(library.remarks()).join("\n");
    assert!(
        remarks.contains("README.md:1:1: it has no front matter"),
        "{remarks}"
    );
    let passed: Vec<String> = library
        .passed_over()
        .iter()
        .map(|file| file.path.display().to_string())
        .collect();
    assert_eq!(passed, ["w/.claude/agents/deep/x.md"]);
}

#[test]
fn an_agent_of_opencode_loses_what_its_file_takes() {
    // Made up, in the form of opencode.ai/docs/agents.
    let text = "---\ndescription: Reviews\nmode: subagent\nmodel: made-up/big\ntools:\n  write: false\n  read: true\n\
                permission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git push *\": deny\n    \"ls*\": allow\n\
                \x20 lsp: ask\ntemperature: 0.1\n---\nYou review.\n";
    let off = "---\ndescription: Off\ndisable: true\n---\nHelp.\n";
    let library = load(&[
        ("w/.opencode/agent/review.md", text),
        ("w/.opencode/agent/off.md", off),
    ]);
    assert_eq!(shown(library.check()), [""; 0]);
    assert_eq!(library.agents().keys().collect::<Vec<_>>(), ["review"]);
    let agent = agent(&library, "review");
    let choices = agent.foreign.as_ref().unwrap();
    assert_eq!(choices.model.as_deref(), Some("made-up/big"));
    assert_eq!(choices.without, ["write", "edit"]);
    let rules = &agent.approval.as_ref().unwrap().rules;
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| (rule.effect, rule.tool.as_str(), rule.argument.as_deref()))
        .collect();
    assert_eq!(
        rules,
        [
            (RuleEffect::Ask, "bash", None),
            (RuleEffect::Deny, "bash", Some("git push *")),
        ]
    );
    let remarks = shown(library.remarks()).join("\n");
    assert!(
        remarks.contains("`lsp`") && remarks.contains("`temperature`"),
        "{remarks}"
    );
}

#[test]
fn an_agent_of_opencode_that_is_no_subagent_there_is_delegated_to_only_by_name() {
    let text = |line: &str| format!("---\ndescription: Made up\n{line}---\nHelp.\n");
    for (line, expected) in [
        ("", false),
        ("mode: subagent\n", false),
        ("mode: all\n", false),
        ("mode: primary\n", true),
        ("mode: subagent\nhidden: true\n", true),
    ] {
        let text = text(line);
        let library = load(&[("w/.opencode/agent/review.md", text.as_str())]);
        let choices = agent(&library, "review").foreign.as_ref().unwrap();
        assert_eq!(choices.only_by_name, expected, "{line}");
    }
}
