//! A key is set where it belongs, and nothing else that a person wrote changes; what would be a mistake is
//! refused.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use agentx_config::{ConfigError, ConfigPaths, FolderTrust, LoadRequest, replace, set, trust_folder, unset};

/// A home with a file, and what comes of setting keys in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new(text: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.0.path().join("ws")).unwrap();
        if !text.is_empty() {
            std::fs::write(home.file(), text).unwrap();
        }
        home
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("config.yaml")
    }

    fn text(&self) -> Option<String> {
        std::fs::read_to_string(self.file()).ok()
    }

    fn request<'a>(&self, lookup: &'a dyn Fn(&str) -> Option<String>) -> LoadRequest<'a> {
        let place = self.0.path().to_string_lossy().into_owned();
        let env = move |name: &str| match name {
            "HOME" => Some(place.clone()),
            "AGENTX_CONFIG" => Some(format!("{place}/config.yaml")),
            _ => None,
        };
        LoadRequest {
            places: ConfigPaths {
                user_file_named: false,
                ..ConfigPaths::find(&self.0.path().join("ws"), &env).unwrap()
            },
            lookup,
            flags: Vec::new(),
        }
    }

    fn set(&self, key: &str, value: &str) -> Result<String, ConfigError> {
        set(self.request(&|_| None), &self.file(), key, value)?;
        Ok(std::fs::read_to_string(self.file()).unwrap())
    }

    fn load(&self) -> agentx_config::Loaded {
        agentx_config::load(self.request(&|_| None)).unwrap()
    }
}

/// The file after a key was set; a second time changes nothing.
fn after(text: &str, key: &str, value: &str) -> String {
    let home = Home::new(text);
    let changed = home.set(key, value).unwrap();
    let again = set(home.request(&|_| None), &home.file(), key, value).unwrap();
    assert!(!again.changed, "twice: {changed}");
    changed
}

#[test]
fn comments_and_order_stay() {
    let text = "# mine\nmodel: opus # the best\n\nlimits: # mine too\n  # not more\n  max_cost: 2.50\n\n  timeout: '20m'\n\nlog: warn\n";
    for (key, value, old, new) in [
        ("model", "sonnet", "model: opus", "model: sonnet"),
        (
            "model",
            "anthropic/claude: x",
            "model: opus",
            "model: \"anthropic/claude: x\"",
        ),
        ("limits.max_cost", "0.75", "2.50", "0.75"),
        ("limits.timeout", "1h30m", "'20m'", "1h30m"),
        (
            "limits.max_iterations",
            "7",
            "timeout: '20m'\n",
            "timeout: '20m'\n  max_iterations: 7\n",
        ),
        (
            "model_calls.retries",
            "2",
            "log: warn\n",
            "log: warn\nmodel_calls:\n  retries: 2\n",
        ),
        ("log", "off", "log: warn", "log: off"),
        (
            "tools.disabled",
            "write, edit",
            "log: warn\n",
            "log: warn\ntools:\n  disabled: [\"write\", \"edit\"]\n",
        ),
    ] {
        assert_eq!(after(text, key, value), text.replace(old, new), "{key}");
    }
}

#[test]
fn a_file_of_windows_keeps_its_line_ends() {
    let before = "# mine\r\nlog: info # why\r\nchat:\r\n  # keys\r\n  keys: vi\r\n";
    let home = Home::new(before);
    let changed = home.set("chat.theme", "light").unwrap();
    assert_eq!(changed, format!("{before}  theme: light\r\n"));
    let rule = serde_json::json!({ "effect": "deny", "tool": "write" });
    agentx_config::add_rule(&home.file(), &serde_json::from_value(rule).unwrap()).unwrap();
    let text = home.text().unwrap();
    assert_eq!(
        text.matches('\n').count(),
        text.matches("\r\n").count(),
        "{text:?}"
    );
    assert!(text.starts_with(&changed), "{text:?}");
}

#[test]
fn there_is_a_place_in_every_file() {
    for (text, key, value, want) in [
        ("", "model", "opus", "model: opus\n"),
        ("# nothing yet\n", "model", "opus", "# nothing yet\nmodel: opus\n"),
        ("log: warn", "model", "opus", "log: warn\nmodel: opus\n"),
        ("limits:\n", "limits.max_cost", "1", "limits:\n  max_cost: 1\n"),
        (
            "limits: # none\nlog: warn\n",
            "limits.max_cost",
            "1",
            "limits: # none\n  max_cost: 1\nlog: warn\n",
        ),
        ("model: # which?\n", "model", "opus", "model: opus # which?\n"),
        (
            "rules:\n- effect: deny\n  tool: write\n",
            "model",
            "opus",
            "rules:\n- effect: deny\n  tool: write\nmodel: opus\n",
        ),
        (
            "tools:\n    enabled: [read, grep] # these\n",
            "tools.enabled",
            "read",
            "tools:\n    enabled: [\"read\"] # these\n",
        ),
        (
            "system_prompt: \"be \\\"kind\\\" # always\" # yes\n",
            "system_prompt",
            "be brief",
            "system_prompt: \"be brief\" # yes\n",
        ),
        (
            "system_prompt: |\n  be kind\n\n  and brief\n# end\n",
            "log",
            "info",
            "system_prompt: |\n  be kind\n\n  and brief\nlog: info\n# end\n",
        ),
        (
            "providers:\n  local:\n    base_url: http://localhost:1/v1\n    auth: none\n",
            "models.qwen3.5.provider",
            "local",
            "providers:\n  local:\n    base_url: http://localhost:1/v1\n    auth: none\nmodels:\n  qwen3.5:\n    provider: local\n",
        ),
        (
            "",
            "providers.openai.api_key",
            "${MY_KEY}",
            "providers:\n  openai:\n    api_key: \"${MY_KEY}\"\n",
        ),
    ] {
        assert_eq!(after(text, key, value), want, "{key} in {text:?}");
    }
}

#[test]
fn a_mapping_in_braces_keeps_its_form() {
    for (text, key, value, want) in [
        (
            "memory: {enabled: false}\n",
            "memory.enabled",
            "true",
            "memory: {enabled: true}\n",
        ),
        (
            "limits: { max_cost: 2 , timeout: '1h' } # mine\n",
            "limits.max_cost",
            "1",
            "limits: { max_cost: 1 , timeout: '1h' } # mine\n",
        ),
        (
            "limits: {max_cost: 2}\n",
            "limits.timeout",
            "1h",
            "limits: {timeout: 1h, max_cost: 2}\n",
        ),
        ("{}\n", "memory.enabled", "true", "{memory: {enabled: true}}\n"),
        (
            "memory: {}\n",
            "memory.enabled",
            "true",
            "memory: {enabled: true}\n",
        ),
        (
            "models: {}\n",
            "models.gpt-5.2.reasoning_effort",
            "high",
            "models: {gpt-5.2: {reasoning_effort: high}}\n",
        ),
        (
            "tools: {\n  enabled: [read, grep], # these\n  disabled: [glob]\n}\n",
            "tools.enabled",
            "read",
            "tools: {\n  enabled: [\"read\"], # these\n  disabled: [glob]\n}\n",
        ),
    ] {
        assert_eq!(after(text, key, value), want, "{key} in {text:?}");
    }
}

#[test]
fn what_would_be_a_mistake_is_refused_and_nothing_changes() {
    let text = "model: opus\n";
    let home = Home::new(text);
    for (key, value, says) in [
        ("modle", "x", "did you mean `model`"),
        ("model.name", "x", "there is no key"),
        (
            "limits",
            "x",
            "is a section, whose keys are set one by one, such as `limits.",
        ),
        ("models.m1.prices", "{}", "such as `models.m1.prices.input`"),
        ("models", "x", "such as `models.NAME.provider`"),
        (
            "providers.local.api",
            "openai-chat",
            "has no `base_url`: set it first",
        ),
        (
            "models.mine.context_window",
            "8192",
            "names no `provider`: set it first",
        ),
        ("limits.timeout", "10", "did you mean `10s`"),
        ("limits.max_cost", "a lot", "US dollars"),
        ("approval", "aut", "did you mean `auto`"),
        ("providers.openai.api_key", "sk-secret-123", ""),
        ("rules", "all", "config edit"),
        ("models.mine.provider", "nowhere", ""),
        ("model", "nosuch", "unknown model \"nosuch\""),
        ("model", "sonet", "did you mean `sonnet`"),
        ("models.gpt-5.2.reasoning_effort", "hihg", "did you mean `high`"),
        ("models..provider", "openai", "there is no key"),
        ("web_search.engine", "searxng", "set `web_search.url`"),
        ("", "x", "there is no key"),
    ] {
        let error = home.set(key, value).unwrap_err();
        let words = error.to_string();
        assert!(matches!(error, ConfigError::Mistakes(_)), "{key}: {words}");
        assert!(words.contains(says), "{key}: {words}");
        assert!(
            words.starts_with("config set: "),
            "the value is not a line of the file: {words}"
        );
        assert!(!words.contains("sk-secret"), "{words}");
        assert_eq!(std::fs::read_to_string(home.file()).unwrap(), text);
    }
}

#[test]
fn what_cannot_be_kept_as_it_was_is_left_to_the_person() {
    for (text, key) in [
        ("limits: {max_cost: }\n", "limits.max_cost"),
        ("system_prompt: |\n  be kind\n", "system_prompt"),
        ("model: &m opus\nsystem_prompt: *m\n", "model"),
        ("---\nmodel: opus\n...\n", "log"),
    ] {
        let value = match key {
            "limits.max_cost" => "1",
            "log" => "info",
            _ => "x",
        };
        let home = Home::new(text);
        match home.set(key, value) {
            // If it can be done after all, the rest is as it was: that is what the change itself has checked.
            Ok(changed) => assert_ne!(changed, text),
            Err(error) => {
                assert!(
                    matches!(&error, ConfigError::Edit { text, .. } if text.contains(value)),
                    "{error:?}"
                );
                assert_eq!(std::fs::read_to_string(home.file()).unwrap(), text);
            }
        }
    }
}

#[test]
fn a_file_with_mistakes_is_neither_changed_nor_replaced() {
    let home = Home::new("modle: opus\n");
    assert!(matches!(home.set("log", "info"), Err(ConfigError::Mistakes(_))));
    let wrong = replace(
        home.request(&|_| None),
        &home.file(),
        home.text().as_deref(),
        "log: loud\n",
    );
    assert!(matches!(wrong, Err(ConfigError::Mistakes(_))));
    assert_eq!(std::fs::read_to_string(home.file()).unwrap(), "modle: opus\n");
    replace(
        home.request(&|_| None),
        &home.file(),
        home.text().as_deref(),
        "log: info # loud enough\n",
    )
    .unwrap();
    assert_eq!(
        std::fs::read_to_string(home.file()).unwrap(),
        "log: info # loud enough\n"
    );
}

#[test]
fn any_model_that_can_be_asked_may_be_set() {
    let own = "providers:\n  mine: {base_url: 'http://localhost:1/v1', auth: none}\nmodels:\n  tiny: {provider: mine, aliases: [t]}\n";
    for name in [
        "scripted",
        "demo",
        "opus",
        "gpt-5.4-2026-03-05",
        "mine/any",
        "tiny",
        "t",
    ] {
        assert!(
            after(own, "model", name).contains(&format!("model: {name}\n")),
            "{name}"
        );
    }
    let home = Home::new("connect: http://models.example\n");
    home.set("model", "a-model-of-the-server").unwrap();

    let home = Home::new("log: warn\n");
    let text = "log: warn\nmodel: nosuch\n";
    let error = replace(
        home.request(&|_| None),
        &home.file(),
        home.text().as_deref(),
        text,
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("config.yaml:2:8: `model`: unknown model"),
        "{error}"
    );
}

#[test]
fn a_key_is_taken_out_and_nothing_else_changes() {
    let text = "# mine\nmodel: opus # the best\n\nlimits: # mine too\n  # not more\n  max_cost: 2.50\n  timeout: 20m\n\ntools:\n  disabled:\n  - glob\n  - grep\nlog: warn\n";
    for (key, gone) in [
        ("model", "model: opus # the best\n"),
        ("limits.timeout", "  timeout: 20m\n"),
        ("tools.disabled", "tools:\n  disabled:\n  - glob\n  - grep\n"),
        ("log", "log: warn\n"),
        ("approval", ""),
        ("limits.max_tokens", ""),
    ] {
        let home = Home::new(text);
        let done = unset(home.request(&|_| None), &home.file(), key).unwrap();
        assert_eq!(done.changed, !gone.is_empty(), "{key}");
        let left = std::fs::read_to_string(home.file()).unwrap();
        assert_eq!(left, text.replace(gone, ""), "{key}");
    }
    let home = Home::new("model: opus\n");
    unset(home.request(&|_| None), &home.file(), "model").unwrap();
    assert_eq!(std::fs::read_to_string(home.file()).unwrap(), "");
    for (text, key) in [
        ("limits: {timeout: 20m, max_cost: 1}\n", "limits.timeout"),
        ("model: opus\n", "nosuch"),
    ] {
        let home = Home::new(text);
        assert!(
            unset(home.request(&|_| None), &home.file(), key).is_err(),
            "{key}"
        );
        assert_eq!(
            std::fs::read_to_string(home.file()).unwrap(),
            text,
            "it stays as it is"
        );
    }
}

#[test]
fn keys_that_are_set_at_the_same_time_are_all_kept() {
    let home = Home::new("# mine\n");
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let home = &home;
            scope.spawn(move || {
                for number in 0..4 {
                    let key = format!("models.of-{thread}-{number}.provider");
                    home.set(&key, "openai").unwrap();
                }
            });
        }
    });
    let text = home.text().unwrap();
    assert_eq!(text.matches("provider: openai").count(), 24, "{text}");
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let home = &home;
            scope.spawn(move || {
                let key = format!("models.of-{thread}-0.provider");
                unset(home.request(&|_| None), &home.file(), &key).unwrap();
            });
        }
    });
    let text = home.text().unwrap();
    assert_eq!(text.matches("provider: openai").count(), 18, "{text}");
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_not_overwritten() {
    for (before, meanwhile) in [("log: warn\n", "log: info\n"), ("", "log: info\n")] {
        let home = Home::new(before);
        let opened = home.text();
        std::fs::write(home.file(), meanwhile).unwrap();
        let refused = replace(
            home.request(&|_| None),
            &home.file(),
            opened.as_deref(),
            "log: debug\n",
        );
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("the file was changed in the meantime and is left unchanged"),
            "{refused}"
        );
        assert_eq!(home.text().as_deref(), Some(meanwhile));
    }
}

#[test]
fn a_former_name_of_a_key_is_read_changed_and_removed() {
    let home = Home::new("members:\n  directory: /srv/a # theirs\n");
    let changed = home.set("members_dir", "/srv/b").unwrap();
    assert_eq!(changed, "members:\n  directory: /srv/b # theirs\n");
    let loaded = home.load();
    assert_eq!(
        loaded.settings.members_dir,
        std::path::Path::new("/srv/b"),
        "the former name counts"
    );
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    unset(home.request(&|_| None), &home.file(), "members_dir").unwrap();
    assert_eq!(home.text().as_deref(), Some(""));
    assert_eq!(
        home.set("members.directory", "/srv/c").unwrap(),
        "members:\n  directory: /srv/c\n"
    );
    let twice = "members:\n  directory: /srv/a\nmembers_dir: /srv/b\n";
    assert!(
        replace(
            home.request(&|_| None),
            &home.file(),
            home.text().as_deref(),
            twice
        )
        .is_err(),
        "both names at once"
    );
}

#[test]
fn a_former_name_below_a_chosen_name_is_read_and_changed() {
    let home = Home::new("models:\n  mine:\n    provider: ollama\n    length_field: max_tokens\n");
    let changed = home.set("models.mine.max_tokens_field", "max_completion_tokens");
    assert!(changed.unwrap().contains("length_field: max_completion_tokens"));
}

#[test]
fn a_change_by_the_person_keeps_their_trust_in_the_folder() {
    let home = Home::new("");
    let loaded = home.load();
    let (trust_dir, root) = (&loaded.trust_dir, &loaded.places.workspace_root);
    let file = &loaded.places.workspace_file;
    let set_model = |name: &str| {
        let done = set(home.request(&|_| None), file, "model", name).unwrap();
        done.loaded.settings.model.map(|model| model.value)
    };
    assert_eq!(
        set_model("anthropic/made-up-0"),
        None,
        "the folder is not trusted"
    );
    std::fs::remove_file(file).unwrap();
    trust_folder(trust_dir, root, FolderTrust::Trusted, &[]).unwrap();
    for name in ["anthropic/made-up-1", "anthropic/made-up-2"] {
        assert_eq!(set_model(name).as_deref(), Some(name));
        assert_eq!(
            home.load().settings.model.map(|model| model.value).as_deref(),
            Some(name)
        );
    }
    unset(home.request(&|_| None), file, "model").unwrap();
    assert!(!file.exists(), "nothing is left to ask about");
    std::fs::write(file, "model: anthropic/of-another\n").unwrap();
    assert_eq!(
        set_model("anthropic/made-up-3"),
        None,
        "somebody else has changed it before"
    );
}
