//! Files that people write: settings, agents, tools, rules. Every mistake has a position in the file, a
//! value that was read reads as the same value again, and no settings of an untrusted folder keep a person
//! from working or make anything freer.

use std::path::{Path, PathBuf};

use agentx_agent_files::{
    DefinitionMistake, FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout, parse_agent,
    parse_generator, parse_layer, parse_message, parse_rule, parse_state, parse_tool,
};
use agentx_config::{ConfigError, ConfigPaths, LoadRequest, Loaded, MistakeLocation, yaml};
use agentx_types::{ApprovalMode, RuleEffect};

/// The first byte says what the rest is.
pub fn check(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return library([("w/agents/a.yaml", bytes)]);
    };
    match kind % 14 {
        0 => agent(Path::new("a.yaml"), text),
        1 => agent(Path::new("a.json"), text),
        2 => placed(text, parse_tool(Path::new("t.yaml"), text)),
        3 => placed(text, parse_tool(Path::new("t.luau"), text)),
        4 => placed(text, parse_rule(Path::new("r.yaml"), text)),
        5 => placed(text, parse_generator(Path::new("g.yaml"), text)),
        6 => placed(text, parse_layer(Path::new("l.yaml"), text)),
        7 => placed(text, parse_state(Path::new("s.json"), text)),
        8 => placed(text, parse_message(Path::new("m.json"), text)),
        9 => library([
            ("w/agents/a.yaml", bytes),
            ("w/tools/t.luau", b"--[[\nname: t\n]]\nreturn 1\n"),
        ]),
        10 => library([("w/tools/t.yaml", bytes), ("w/agents/a.yaml", b"tools: [t]\n")]),
        11 => own_settings(text),
        12 => settings_of_a_folder(text),
        _ => nodes(text),
    }
}

fn agent(file: &Path, text: &str) {
    let read = parse_agent(file, text);
    if let Ok(agent) = &read {
        let written = serde_json::to_string(agent).unwrap_or_default();
        let again = parse_agent(Path::new("again.json"), &written);
        assert_eq!(again.as_ref().ok(), Some(agent), "{written}: {again:?}");
    }
    placed(text, read);
}

/// Every mistake is at a place of the text.
fn placed<T>(text: &str, read: Result<T, Vec<DefinitionMistake>>) {
    let lines = text.lines().count().max(1) as u64;
    let mistakes = read.err();
    assert!(mistakes.as_ref().is_none_or(|mistakes| !mistakes.is_empty()));
    for mistake in mistakes.iter().flatten() {
        let is_there = (1..=lines).contains(&mistake.line) && mistake.column > 0;
        assert!(is_there, "{mistake}");
        // The table of keys said that it fits, and the type says that it does not.
        assert!(!mistake.message.contains("cannot parse it"), "{mistake}");
    }
}

fn library<const N: usize>(files: [(&str, &[u8]); N]) {
    let files: MemoryFiles = files.into_iter().collect();
    let roots = [Root {
        path: "w".into(),
        origin: FileOrigin::Workspace,
        layout: RootLayout::AgentX,
    }];
    for mistake in Library::load(&roots, &files, LibraryOptions::default()).check() {
        assert!(mistake.line > 0 && mistake.column > 0, "{mistake}");
        assert!(!mistake.message.contains("cannot parse it"), "{mistake}");
    }
}

/// The tree of a text is not larger than its aliases may make it.
fn nodes(text: &str) {
    fn count(node: &yaml::YamlNode) -> usize {
        1 + match &node.value {
            yaml::Yaml::List(items) => items.iter().map(count).sum::<usize>(),
            yaml::Yaml::Map(entries) => entries.iter().map(|(_, value)| count(value)).sum(),
            _ => 0,
        }
    }
    match yaml::parse(text) {
        Ok(node) => assert!(count(&node) <= 1_000_000),
        Err(broken) => assert!(broken.at.line > 0 && broken.at.column > 0, "{broken:?}"),
    }
}

fn own_settings(text: &str) {
    with_settings(text, "", |read, places| {
        let Err(ConfigError::Mistakes(mistakes)) = read else {
            return;
        };
        assert!(!mistakes.is_empty());
        for mistake in mistakes {
            if let MistakeLocation::File(place) = &mistake.at {
                assert_eq!(*place.file, *places.user_file, "{mistake}");
                assert!(place.line > 0 && place.column > 0, "{mistake}");
            }
        }
    });
}

fn settings_of_a_folder(text: &str) {
    with_settings("approval: deny\n", text, |read, _| match read {
        Ok(loaded) => {
            let settings = &loaded.settings;
            assert_eq!(settings.approval, ApprovalMode::Deny);
            let allows = |rule: &&agentx_types::Rule| rule.effect == RuleEffect::Allow;
            assert_eq!(settings.rules.iter().find(allows), None);
            assert!(settings.connect.is_none() && settings.allow_plain_http.is_empty());
            assert_eq!(settings.model, None);
        }
        Err(error) => panic!("a folder that is not trusted keeps a person from working: {error}"),
    });
}

/// Reads settings from a file of a person's own, and one of a folder that they did not trust.
fn with_settings(own: &str, of_folder: &str, look: impl FnOnce(&Result<Loaded, ConfigError>, &ConfigPaths)) {
    let Ok(home) = tempfile::tempdir() else { return };
    let at = |path: &str| -> PathBuf { home.path().join(path) };
    let places = ConfigPaths {
        cwd: at("work"),
        user_file: at("config.yaml"),
        user_file_named: true,
        workspace_root: at("work"),
        workspace_file: at("work/.agentx/config.yaml"),
        data_dir: at("data"),
    };
    let made = std::fs::create_dir_all(at("work/.agentx"))
        .and_then(|()| std::fs::write(&places.user_file, own))
        .and_then(|()| std::fs::write(&places.workspace_file, of_folder));
    assert!(made.is_ok(), "{made:?}");
    let read = agentx_config::load(LoadRequest {
        places: places.clone(),
        lookup: &|_| None,
        flags: Vec::new(),
    });
    look(&read, &places);
}
