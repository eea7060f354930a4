//! Secrets in a folder's settings and files, and the names under which keys and secrets are stored.

use std::collections::BTreeMap;

use super::{Desk, ignored};

#[test]
fn what_settings_lead_to_is_said_however_they_are_written() {
    let desk = Desk::new(
        "{\"appr\\x6fval\": auto, \"r\\u0075les\": [{effect: allow, tool: bash}, {effect: allow, tool: edit, path: src/*}, {effect: deny, tool: read, path: x}]}\n",
    );
    for loaded in [desk.load(), desk.trusted()] {
        for effect in [
            "calls run without asking",
            "allows without asking: bash",
            "allows without asking: \"allow edit in src/*\"",
        ] {
            assert!(
                loaded.effects.iter().any(|said| said == effect),
                "{:?}",
                loaded.effects
            );
        }
        for line in [
            "approval: auto",
            "rules: \"allow bash\"",
            "rules: \"deny read in x\"",
        ] {
            assert!(
                loaded.workspace_settings.iter().any(|said| said == line),
                "{:?}",
                loaded.workspace_settings
            );
        }
    }
    let hidden = Desk::new("# nothing to see\rrules: [{effect: allow, tool: bash}]\n").load();
    assert_eq!(hidden.workspace_settings, ["rules: \"allow bash\""]);
}

#[test]
fn a_rule_of_stars_alone_is_said_to_allow_everything() {
    for (rule, said) in [
        ("{effect: allow, tool: '*', argument: '****'}", "everything"),
        ("{effect: allow, tool: '**'}", "everything"),
        ("{effect: allow, tool: bash, argument: '* *'}", "bash"),
        (
            "{effect: allow, tool: '*', path: '***'}",
            "everything in this folder",
        ),
        (
            "{effect: allow, tool: bash, argument: 'ls *'}",
            "\"allow bash: ls *\"",
        ),
    ] {
        let loaded = Desk::new(&format!("rules: [{rule}]\n")).load();
        let said = format!("allows without asking: {said}");
        assert!(loaded.effects.contains(&said), "{rule}: {:?}", loaded.effects);
    }
}

/// Keys are never passed on, whoever names them.
#[test]
fn a_variable_that_is_never_passed_on_is_not_said_to_be() {
    let settings = |names: &str| {
        format!(
            "tools: {{environment: [{names}]}}\n\
             providers: {{near: {{base_url: 'http://127.0.0.1:9/v1', api_key: '${{FOLDER_KEY}}'}}}}\n"
        )
    };
    let said = |names: &str| {
        let loaded = Desk::new(&settings(names)).load();
        let mut effects = loaded.effects.into_iter();
        effects.find(|effect| effect.starts_with("programs get"))
    };
    let shown = "programs get the values of these variables: [GITHUB_TOKEN]".to_owned();
    assert_eq!(said("WORK_KEY, GITHUB_TOKEN, FOLDER_KEY"), Some(shown));
    assert_eq!(said("OPENAI_API_KEY"), None);
}

#[test]
fn a_folders_status_command_names_its_program_plainly() {
    for (line, counts) in [
        ("./status.sh", true),
        ("sh status.sh -v", true),
        ("python3 tools/status.py a.txt", true),
        ("python3 -I tools/status.py", true),
        ("python3 -I -c tools/status.py", false),
        ("python3 -I", false),
        ("sh -I tools/status.py", false),
        ("echo hello", true),
        ("cd tools && ./status.py", false),
        ("make -s status", false),
        ("python3 -m tools.status", false),
        ("python3 tools", false),
        ("sh tools/*.py", false),
        ("sh $HOME/x", false),
        ("sh -c ./status.sh", false),
        ("status.sh", false),
        ("./missing.sh", false),
        ("./status.sh | sh", false),
        ("./status.sh\nmake", false),
        ("../home/private.sh", false),
        ("echo $(make)", false),
    ] {
        let desk = Desk::new(&format!("chat: {{status_command: {line:?}}}\n"));
        std::fs::create_dir_all(desk.root().join("tools")).unwrap();
        for file in ["ws/status.sh", "ws/tools/status.py", "home/private.sh"] {
            desk.write(file, "one");
        }
        let loaded = desk.trusted();
        assert_eq!(loaded.settings.chat.status_command.is_some(), counts, "{line}");
        if !counts {
            assert!(
                loaded.ignored[0]
                    .why
                    .starts_with("a folder may only set a command that")
                    || line.starts_with("..")
            );
        }
    }
}

#[test]
fn a_key_within_another_variable_is_a_key() {
    let desk = Desk::new(
        "providers:\n  theirs: {base_url: 'https://t.example/v1', headers: {A: '${COPY}', B: '${OTHER}'}}\n",
    );
    let desk = Desk {
        env: BTreeMap::from([
            ("OPENAI_API_KEY", "made-up-openai-key"),
            ("COPY", "Bearer made-up-openai-key"),
            ("OTHER", "made-up-openai"),
        ]),
        ..desk
    };
    let loaded = desk.trusted();
    assert_eq!(ignored(&loaded), ["providers.theirs.headers.A"]);
    assert!(loaded.settings.holds_key("Bearer made-up-openai-key"));
    assert!(!loaded.settings.holds_key("Bearer"));
}

#[cfg(unix)]
#[test]
fn instructions_that_are_links_lead_to_instructions_beside_them() {
    use std::os::unix::fs::symlink;

    let desk = Desk::new("");
    desk.write("home/notes.md", "private");
    for (target, text, wanted) in [
        ("CLAUDE.md", "Be kind.", true),
        ("docs/agents.md", "Be kind.", true),
        (".env", "KEY=x", false),
        ("docs/notes.txt", "private", false),
        ("docs/secrets.yaml", "private", false),
        ("../home/notes.md", "private", false),
    ] {
        let root = desk.root();
        std::fs::create_dir_all(root.join("docs")).unwrap();
        let link = root.join("AGENTS.md");
        drop(std::fs::remove_file(&link));
        symlink(target, &link).unwrap();
        // It leads nowhere while the folder is trusted.
        let settings = desk.trusted().settings;
        assert!(
            settings
                .instruction_files()
                .iter()
                .all(|(_, text)| text == "private"),
            "{target}"
        );
        std::fs::write(root.join(target), text).unwrap();
        let read: Vec<String> = settings
            .instruction_files()
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(read.iter().any(|read| read == text), wanted, "{target}");
        std::fs::remove_file(root.join(target)).unwrap();
    }
    // A directory below has none of those of the folder around it.
    let settings = desk.load().settings;
    assert!(settings.instruction_files().is_empty());
}

#[test]
fn instructions_that_are_too_large_are_left_out_with_a_warning() {
    let desk = Desk::new("");
    std::fs::create_dir_all(desk.root()).unwrap();
    std::fs::write(desk.root().join("AGENTS.md"), "x".repeat((256 << 10) + 1)).unwrap();
    let loaded = desk.load();
    assert!(loaded.settings.instruction_files().is_empty());
    let [warning] = &loaded.warnings[..] else {
        panic!("{:?}", loaded.warnings);
    };
    let said = warning.to_string();
    assert!(
        said.contains("AGENTS.md") && said.contains("larger than 256 KiB"),
        "{said}"
    );
}

#[test]
fn files_with_secrets_under_other_names_are_guarded() {
    let settings = Desk::new("").load().settings;
    let guards = |name: &str| settings.is_guarded(&settings.workspace.join(name));
    for name in [
        ".env~",
        ".env.bak",
        ".env-old",
        "prod.env.bak",
        "sub/.npmrc",
        ".yarnrc.yml",
        "terraform.tfstate.backup",
        "prod.tfvars",
        "credentials.json",
        "service-account-prod.json",
        "config/secrets.yml",
        ".htpasswd",
        "kubeconfig",
        ".netrc",
        ".dev.vars",
        ".s3cfg",
        ".vault_pass.txt",
        "secrets.json",
        ".cargo/credentials.toml",
        ".claude/.credentials.json",
        ".codex/auth.json",
        "site/wp-config.php",
        "gcp-key.json",
        "secrets.ini",
        "kubeconfig-prod",
    ] {
        assert!(guards(name), "{name}");
    }
    for name in [
        ".env.example",
        ".env-example",
        "environment.ts",
        "env.rs",
        "secrets.rs",
        ".git/config",
    ] {
        assert!(!guards(name), "{name}");
    }
}

#[test]
fn settings_of_git_with_a_password_are_guarded() {
    for (text, wanted) in [
        ("[remote \"o\"]\nurl = https://me:made-up@example.com/x\n", true),
        (
            "[url \"https://made-up@example.com/\"]\ninsteadOf = https://example.com/\n",
            true,
        ),
        ("[http]\nextraHeader = Authorization: made-up\n", true),
        ("[remote \"o\"]\nurl = https://example.com/x@y\n", false),
        ("[remote \"o\"]\nurl = ssh://git@example.com/x\n", false),
        ("[remote \"o\"]\nurl = git@example.com:x\n", false),
    ] {
        for file in [
            ".git/config",
            ".git/modules/sub/config",
            ".git/modules/a/b/config",
            ".git/worktrees/tree/config.worktree",
        ] {
            let desk = Desk::new("");
            let place = desk.root().join(file);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            desk.write(&format!("ws/{file}"), text);
            let settings = desk.load().settings;
            let is_guarded = settings.is_guarded(&settings.workspace.join(file));
            assert_eq!(is_guarded, wanted, "{file}: {text}");
        }
    }
}

#[test]
fn a_kept_rule_ends_where_another_project_begins() {
    let desk = Desk::new("");
    let root = desk.root();
    let place = root.display();
    desk.write(
        "home/config.yaml",
        &format!(
            "rules:\n  - {{effect: allow, tool: bash, argument: make test, workspace: '{place}'}}\n  \
             - {{effect: deny, tool: bash, argument: rm x, workspace: '{place}'}}\n  \
             - {{effect: allow, tool: bash, argument: ls}}\n"
        ),
    );
    let mut settings = desk.load().settings;
    for folder in ["clone/.git/objects", "clone/src", "own/.agentx", "sub/src"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::create_dir_all(root.join("worktree")).unwrap();
    desk.write("ws/worktree/.git", "gitdir: elsewhere\n");
    for (folder, count) in [
        ("", 3),
        ("sub", 3),
        ("sub/src", 3),
        ("clone", 2),
        ("clone/src", 2),
        ("worktree", 2),
        ("own", 2),
    ] {
        settings.workspace = root.join(folder);
        assert_eq!(settings.rules_for(&[]).len(), count, "{folder}");
    }
}

#[cfg(unix)]
#[test]
fn settings_that_are_a_link_out_of_the_folder_are_neither_read_nor_kept() {
    use std::os::unix::fs::symlink;

    for whole in [false, true] {
        let desk = Desk::new("");
        let elsewhere = desk.dir.path().join("elsewhere");
        std::fs::create_dir_all(&elsewhere).unwrap();
        desk.write("elsewhere/config.yaml", "MADE_UP: 'made-up secret'\n");
        let own = desk.root().join(".agentx");
        std::fs::remove_file(own.join("config.yaml")).unwrap();
        if whole {
            std::fs::remove_dir(&own).unwrap();
            symlink(&elsewhere, &own).unwrap();
        } else {
            symlink(elsewhere.join("config.yaml"), own.join("config.yaml")).unwrap();
        }
        let loaded = desk.load();
        let said = format!("{:?}", loaded.workspace_mistakes);
        assert!(said.contains("a link leads out of this folder"), "{said}");
        assert!(
            !said.contains("made-up secret") && !said.contains("MADE_UP"),
            "{said}"
        );
        assert!(loaded.workspace_settings.is_empty());
        assert!(agentx_config::workspace_bytes(&loaded.places).is_err());
    }
}

#[test]
fn a_folder_that_a_person_ignores_keeps_nobody_from_working() {
    let desk = Desk::new(
        "limits: {max_cost: 0, max_tokens: 0}\ntools: {enabled: []}\nrules: [{effect: deny, tool: '*'}]\n",
    );
    let strict = desk.load();
    assert_eq!(
        strict.settings.limits.max_tokens,
        Some(0),
        "as long as nobody said anything"
    );
    agentx_config::trust_folder(
        &strict.trust_dir,
        &desk.root(),
        agentx_config::FolderTrust::Restricted,
        &[],
    )
    .unwrap();
    let loaded = desk.load();
    assert_eq!(
        (loaded.settings.limits.max_cost, loaded.settings.limits.max_tokens),
        (None, None)
    );
    assert!(loaded.settings.tools.offers("read") && loaded.settings.rules.is_empty());
    assert_eq!(ignored(&loaded).len(), 4);
}

/// Each setting that a folder may only set once it is trusted is an effect, before it is trusted too, so that
/// no number of other rows hides it.
#[test]
fn what_settings_would_do_once_the_folder_is_trusted_is_an_effect_before_that() {
    let models: String = (0..8)
        .map(|number| format!("  m{number}: {{provider: work, context_window: 1000}}\n"))
        .collect();
    for line in ["sh st.sh", "./st.sh", "python3 -I st.py"] {
        let desk = Desk::new(&format!(
            "models:\n{models}chat: {{status_command: {line:?}, status: '{{model}}'}}\nstuck: {{mode: off}}\n\
             system_prompt_file: prompt.md\ntools: {{ask_user: decide, timeout: 5s}}\n"
        ));
        for file in ["st.sh", "st.py", ".agentx/prompt.md"] {
            desk.write(&format!("ws/{file}"), "echo");
        }
        for loaded in [desk.load(), desk.trusted()] {
            let effects = loaded.effects.join("\n");
            for effect in [
                &format!("a chat automatically runs: {line}"),
                "sets stuck.mode: off",
                "sets system_prompt: (file prompt.md)",
                "sets tools.ask_user: decide",
                "sets chat.status: {model}",
            ] {
                assert!(effects.contains(effect), "{effect} in {effects}");
            }
            assert!(!effects.contains("tools.timeout"), "it only restricts: {effects}");
        }
    }
    // Settings that stay ignored even in a trusted folder are not listed as effects.
    let desk = Desk::new("chat: {status_command: 'sh ../st.sh'}\nsystem_prompt_file: ../../prompt.md\n");
    desk.write("st.sh", "echo");
    desk.write("prompt.md", "x");
    assert!(desk.load().effects.is_empty(), "{:?}", desk.load().effects);
}
