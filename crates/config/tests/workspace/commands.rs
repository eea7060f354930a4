//! Command lines of a folder are trusted with what they run: a change of it is another command line.

use agentx_config::McpTarget;

use super::*;

/// A folder with `.mcp.json` of one server `x` with this entry.
fn with_server(entry: &str) -> Desk {
    let desk = Desk::new("");
    for folder in ["srv", "lib", "big", "home"] {
        std::fs::create_dir_all(desk.root().join(folder)).unwrap();
    }
    desk.write("ws/.mcp.json", &format!("{{\"mcpServers\": {{\"x\": {entry}}}}}"));
    for file in [
        "srv.py",
        "srv/__main__.py",
        "srv/helper.py",
        "lib/helper.py",
        "lib/a.sh",
        "hook.js",
    ] {
        desk.write(&format!("ws/{file}"), "one");
    }
    desk
}

fn has_server(loaded: &Loaded) -> bool {
    loaded.settings.mcp.iter().any(|server| server.name == "x")
}

#[test]
fn what_a_command_line_names_in_any_way_is_trusted_with_it() {
    for (entry, changed) in [
        (r#"{"command": "python3", "args": ["srv.py"]}"#, "srv.py"),
        (
            r#"{"command": "sh", "args": ["-c", "python3 ./srv.py"]}"#,
            "srv.py",
        ),
        (
            r#"{"command": "sh", "args": ["-c", "exec python3 './srv.py';true"]}"#,
            "srv.py",
        ),
        (
            r#"{"command": "sh", "args": ["-c", "python3 ./s*.py"]}"#,
            "srv.py",
        ),
        (
            r#"{"command": "bash", "args": ["-lc", "cd lib && ../srv.py"]}"#,
            "srv.py",
        ),
        (r#"{"command": "python3", "args": ["srv"]}"#, "srv/helper.py"),
        (r#"{"command": "python3", "args": ["-m", "srv"]}"#, "srv.py"),
        (
            r#"{"command": "python3", "args": ["-m", "srv.helper"]}"#,
            "srv/helper.py",
        ),
        (
            r#"{"command": "python3", "args": ["-c", "import srv"]}"#,
            "srv.py",
        ),
        (
            r#"{"command": "node", "args": ["-r./hook", "-e", "1"]}"#,
            "hook.js",
        ),
        (r#"{"command": "x", "args": ["@lib/a.sh"]}"#, "lib/a.sh"),
        (
            r#"{"command": "x", "env": {"PYTHONPATH": "./none:./lib"}}"#,
            "lib/helper.py",
        ),
        (
            r#"{"command": "x", "env": {"BASH_ENV": "./lib/a.sh"}}"#,
            "lib/a.sh",
        ),
        (
            r#"{"command": "x", "env": {"NODE_OPTIONS": "--require ./hook.js"}}"#,
            "hook.js",
        ),
        (
            r#"{"command": "x", "args": ["a"], "cwd": "lib"}"#,
            "lib/helper.py",
        ),
    ] {
        let desk = with_server(entry);
        let before = desk.trusted();
        assert!(has_server(&before), "{entry}: {:?}", before.warnings);
        desk.write(&format!("ws/{changed}"), "two");
        let after = desk.load();
        assert!(!has_server(&after), "{entry}");
        assert!(
            after.warnings[0]
                .to_string()
                .contains("changed since you trusted this folder"),
            "{:?}",
            after.warnings
        );
        assert!(
            has_server(&desk.trusted()),
            "{entry}: a person takes it as it is now"
        );
    }
}

#[test]
fn a_file_that_is_new_in_a_named_directory_is_noticed() {
    let desk = with_server(r#"{"command": "python3", "args": ["srv"]}"#);
    desk.trusted();
    desk.write("ws/srv/json.py", "shadows a module");
    assert!(!has_server(&desk.load()));
}

#[test]
fn a_file_that_nobody_is_shown_is_in_no_command_line() {
    for (entry, file) in [
        (r#"{"command": "python3", "args": ["server.key"]}"#, "server.key"),
        (
            r#"{"command": "sh", "args": ["-c", "python3 ./server.key"]}"#,
            "server.key",
        ),
        (
            r#"{"command": "x", "env": {"BASH_ENV": "lib/id_rsa"}}"#,
            "lib/id_rsa",
        ),
    ] {
        let desk = with_server(entry);
        desk.write(&format!("ws/{file}"), "one");
        let loaded = desk.trusted();
        assert!(!has_server(&loaded), "{entry}");
        assert!(
            loaded.warnings[0].to_string().contains("may hold secrets"),
            "{:?}",
            loaded.warnings
        );
    }
    let line = "sh status.sh inc.key";
    let desk = Desk::new(&format!("chat: {{status_command: {line:?}}}\n"));
    desk.write("ws/status.sh", ". $1");
    desk.write("ws/inc.key", "echo");
    let loaded = desk.trusted();
    assert_eq!(loaded.settings.chat.status_command, None);
    assert_eq!(loaded.ignored[0].why, "it refers to a file that may hold secrets");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_trusted_with_its_target() {
    use std::os::unix::fs::symlink;

    let desk = with_server(r#"{"command": "./run"}"#);
    let link = desk.root().join("run");
    symlink("/bin/true", &link).unwrap();
    assert!(has_server(&desk.trusted()));
    std::fs::remove_file(&link).unwrap();
    symlink("/bin/sh", &link).unwrap();
    assert!(!has_server(&desk.load()));

    let desk = Desk::new("chat: {status_command: 'sh status.sh out'}\n");
    desk.write("ws/status.sh", "cat $1");
    symlink("/etc/hostname", desk.root().join("out")).unwrap();
    let loaded = desk.trusted();
    assert_eq!(loaded.settings.chat.status_command, None);
    assert_eq!(loaded.ignored[0].why, "it refers to a file outside this folder");
}

#[test]
fn a_directory_with_more_than_is_read_is_another_one_in_every_process() {
    let desk = with_server(r#"{"command": "python3", "args": ["big"]}"#);
    for file in 0..600 {
        desk.write(&format!("ws/big/{file}.py"), "one");
    }
    let loaded = desk.trusted();
    assert!(
        has_server(&loaded),
        "in the session in which a person accepted it"
    );
    let listing = loaded
        .settings
        .named_files
        .iter()
        .find(|file| file.path.ends_with("big"));
    let text = String::from_utf8_lossy(&listing.unwrap().bytes).into_owned();
    assert!(
        text.contains(&format!("process {}", std::process::id())),
        "{text}"
    );
}

#[test]
fn a_server_is_shown_whether_its_variables_are_set_or_not() {
    let desk = with_server(r#"{"command": "sh", "args": ["-c", "touch planted", "${LATER}"]}"#);
    let loaded = desk.trusted();
    assert!(!has_server(&loaded));
    let shown = loaded.server_effects.join("\n");
    assert!(
        shown.contains(
            "its tools start this program: sh -c 'touch planted' '${LATER}', with the values of LATER"
        ),
        "{shown}"
    );
    assert!(shown.contains("the variable LATER is not set"), "{shown}");
}

#[test]
fn a_persons_own_server_runs_no_file_of_a_folder_that_nobody_trusts() {
    let desk = with_server("{}");
    let own = |args: &str| {
        let server = format!("mcp:\n  mine: {{command: python3, args: [{args}]}}\n");
        desk.write("home/config.yaml", &server);
        let loaded = desk.load();
        let told: Vec<_> = loaded
            .warnings
            .iter()
            .map(|warning| warning.what.clone())
            .collect();
        (loaded.settings.mcp.len(), told.join("\n"))
    };
    for args in [
        "srv.py",
        "./srv.py",
        "-m, srv.helper",
        "lib/../srv.py",
        "--config=./hook.js",
        "--directory, ./lib",
        "--directory, lib/../..",
        "., --verbose",
    ] {
        let (servers, told) = own(args);
        assert_eq!(servers, 0, "{args}");
        assert!(
            told.contains("the server mine is left out") && told.contains("this folder"),
            "{told}"
        );
    }
    for args in ["/usr/share/mine.py", "other.py", "-y, '@some/server'", "lib"] {
        assert_eq!(own(args), (1, String::new()), "{args}");
    }
}

/// Where the own server of these settings starts, and the warnings.
fn starts_in(desk: &Desk, loaded: &Loaded) -> (Option<String>, String) {
    let target = loaded.settings.mcp.iter().find(|server| server.name == "mine");
    let place = target.map(|server| match &server.target {
        McpTarget::Program { directory, .. } => {
            let desk = std::fs::canonicalize(desk.dir.path()).unwrap();
            let directory = std::fs::canonicalize(directory).unwrap();
            directory.strip_prefix(desk).unwrap().display().to_string()
        }
        McpTarget::Address { .. } => panic!("it is a program"),
    });
    let told: Vec<_> = loaded
        .warnings
        .iter()
        .map(|warning| warning.what.clone())
        .collect();
    (place, told.join("\n"))
}

#[test]
fn the_open_folder_never_decides_what_an_own_server_means() {
    // (settings, where it starts in a folder that nobody trusts, and in a trusted one; none if it is left out)
    for (rest, strange, trusted) in [
        ("args: [-y, some-server]", Some("home"), Some("ws")),
        ("args: [.]", None, Some("ws")),
        ("args: [./mine/server.js]", Some("home"), Some("home")),
        ("args: [--config=./other.js]", Some("home"), Some("home")),
        ("args: [--directory, ../ws]", Some("home"), Some("home")),
        ("args: [./hook.js]", None, None),
        ("args: [--directory, ./lib]", None, None),
        ("args: [x], env: {NODE_PATH: ./lib}", None, None),
        ("args: [x], cwd: ./mine", Some("home/mine"), Some("home/mine")),
        ("args: [--config=./hook.js], cwd: ../ws", Some("ws"), Some("ws")),
    ] {
        let desk = with_server("{}");
        std::fs::create_dir(desk.dir.path().join("home/mine")).unwrap();
        desk.write("home/mine/server.js", "");
        desk.write("home/other.js", "");
        desk.write(
            "home/config.yaml",
            &format!("mcp:\n  mine: {{command: npx, {rest}}}\n"),
        );
        let (place, told) = starts_in(&desk, &desk.load());
        assert_eq!(place.as_deref(), strange, "{rest} in a strange folder: {told}");
        assert_eq!(
            told.contains("mine is left out"),
            strange.is_none(),
            "{rest}: {told}"
        );
        let (place, told) = starts_in(&desk, &desk.trusted());
        assert_eq!(place.as_deref(), trusted, "{rest} in a trusted folder: {told}");
        assert_eq!(
            told.contains("mine is left out"),
            trusted.is_none(),
            "{rest}: {told}"
        );
    }
}
