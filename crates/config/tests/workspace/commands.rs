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
fn a_directory_with_more_than_is_shown_is_trusted_with_all_its_files() {
    let desk = with_server(r#"{"command": "python3", "args": ["big"]}"#);
    for file in 0..600 {
        desk.write(&format!("ws/big/{file}.py"), "one");
    }
    let loaded = desk.trusted();
    assert!(has_server(&loaded), "{:?}", loaded.warnings);
    let named = |file: &str| {
        let mut files = loaded.settings.named_files.iter();
        files.any(|found| found.path.ends_with(file))
    };
    assert!(named("big") && !named("big/1.py"));
    desk.write("ws/big/599.py", "two");
    assert!(!has_server(&desk.load()));
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
    let desk = with_server(r#"{"command": "sh", "args": ["-c", "${ ", "${LATER}"]}"#);
    let shown = desk.trusted().server_effects.join("\n");
    assert!(shown.contains("with the values of LATER"), "{shown}");
}

#[test]
fn servers_that_trust_does_not_start_stand_apart_with_the_reason() {
    let desk = Desk::new("model: demo\n");
    desk.write(
        "ws/.mcp.json",
        r#"{"mcpServers": {"mine": {"command": "theirs"}, "old": {"type": "sse", "url": "http://x"}, "a": {"command": "a"}}}"#,
    );
    desk.write("home/config.yaml", "mcp:\n  mine: {command: mine}\n");
    let mut said = desk.load().server_effects;
    said.retain(|row| !row.contains(" may run any file of this folder"));
    let old = "the transport `sse` is deprecated; servers of today speak `http`";
    let apart = [
        "MCP server `mine` is not started: yours has the same name; once it can start, its tools start this program: theirs"
            .to_owned(),
        format!("MCP server `old` is not started: {old}; once it can start, its tools send to this address: http://x"),
    ];
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(apart.iter().all(|row| said[..2].contains(row)), "{said:?}");
    assert_eq!(said[2], "MCP server `a`: its tools start this program: a");
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

/// Returns the directory in which the own server of these settings starts, and the warnings.
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
    // (settings, where it starts in a folder that nobody trusts, and in a trusted one; none if it is left
    // out)
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
        ("args: [--config=./hook.js], cwd: ../ws", None, Some("ws")),
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

/// A line that does not show which files it runs counts as one that reads the whole folder.
#[test]
fn a_command_line_that_does_not_show_what_it_runs_is_trusted_with_the_whole_folder() {
    for entry in [
        r#"{"command": "sh", "args": ["-c", "./s*v.py"]}"#,
        r#"{"command": "python3", "args": ["-c", "exec(open(chr(115)+'rv.py').read())"]}"#,
        r#"{"command": "node", "args": ["-e", "require('./s'+'rv.js')"]}"#,
        r#"{"command": "node", "args": ["--eval=require('./s' + 'rv.js')"]}"#,
        r#"{"command": "node", "args": ["--import", "file:///proc/self/cwd/s%72v.mjs", "-e", "0"]}"#,
        r#"{"command": "awk", "args": ["BEGIN{system(\"python3 s\" \"rv.py\")}"]}"#,
        r#"{"command": "find", "args": ["-maxdepth", "1", "-name", "s*v.py", "-exec", "python3", "{}", ";"]}"#,
        r#"{"command": "env", "args": ["-S", "sh -c './s*v.py'"]}"#,
        r#"{"command": "xargs", "args": ["-a", "/dev/null", "sh", "-c", "./s*v.py"]}"#,
        r#"{"command": "git", "args": ["-c", "alias.x=!./s*v.py", "x"]}"#,
        r#"{"command": "timeout", "args": ["99", "sh", "-c", "./s[r]v.py"]}"#,
        r#"{"command": "npm", "args": ["start", "-s"]}"#,
        r#"{"command": "make"}"#,
        r#"{"command": "sh", "args": ["-ec", "./s*v.py"]}"#,
        r#"{"command": "sh", "args": ["-c", "exec<&0;./s?v.py"]}"#,
        r#"{"command": "bash", "args": ["-c", "true"], "env": {"BASH_ENV": "run.sh"}}"#,
        r#"{"command": "some-server", "env": {"PATH": ":/usr/bin"}}"#,
    ] {
        let desk = with_server(entry);
        desk.write("ws/run.sh", "exec ./srv.py");
        let before = desk.trusted();
        assert!(has_server(&before), "{entry}: {:?}", before.warnings);
        assert!(has_server(&desk.load()), "{entry}: nothing has changed");
        desk.write("ws/srv.py", "two");
        let after = desk.load();
        assert!(!has_server(&after), "{entry}");
        assert!(
            after.warnings[0]
                .to_string()
                .contains("a file of this folder, any of which"),
            "{:?}",
            after.warnings
        );
        assert!(
            has_server(&desk.trusted()),
            "{entry}: a person takes it as it is now"
        );
    }
}

/// A script is trusted with everything from the top of its project on, whatever the names and endings.
#[test]
fn a_script_is_trusted_with_all_files_of_its_project() {
    let python = r#""command": "python3", "args": ["srv/db.py"]"#;
    let node = r#""command": "node", "args": ["srv/db.js"]"#;
    for (line, script, text, changed) in [
        (python, "srv/db.py", "import helper", "srv/helper.py"),
        (python, "srv/db.py", "from .helper import x", "srv/helper.py"),
        (python, "srv/db.py", "from .sub.deep import x", "srv/sub/deep.py"),
        (python, "srv/db.py", "exec(open('srv/plain').read())", "srv/plain"),
        (python, "srv/db.py", "import random", "srv/types.py"),
        (python, "srv/db.py", "import fast", "srv/fast.so"),
        (python, "srv/db.py", "import old", "srv/old.pyc"),
        (node, "srv/db.js", "require('./fast')", "srv/fast.node"),
        (node, "srv/db.js", "import './x.wasm'", "srv/x.wasm"),
        (node, "srv/db.js", "import './view'", "srv/view.tsx"),
        (
            r#""command": "ruby", "args": ["srv/db.rb"]"#,
            "srv/db.rb",
            "",
            "srv/x.dat",
        ),
        (
            r#""command": "perl", "args": ["srv/db.pl"]"#,
            "srv/db.pl",
            "use lib 'srv';",
            "srv/Own.pm",
        ),
        (
            r#""command": "./srv/db""#,
            "srv/db",
            "#!/usr/bin/env node\n",
            "srv/plain",
        ),
        (
            r#""command": "npx", "args": ["-y", "tsx", "srv/db.ts"]"#,
            "srv/db.ts",
            "",
            "srv/view.jsx",
        ),
        (
            r#""command": "uvx", "args": ["run-it", "srv/db.py"]"#,
            "srv/db.py",
            "",
            "srv/helper.py",
        ),
        (
            r#""command": "npx", "args": ["-y", "x"], "env": {"NODE_OPTIONS": "--require ./srv/db.js"}"#,
            "srv/db.js",
            "",
            "srv/fast.node",
        ),
    ] {
        let desk = with_server(&format!("{{{line}}}"));
        std::fs::create_dir(desk.root().join("srv/sub")).unwrap();
        desk.write(&format!("ws/{script}"), text);
        assert!(has_server(&desk.trusted()), "{line}");
        desk.write("ws/README.md", "not of the server");
        assert!(has_server(&desk.load()), "{line}");
        desk.write(&format!("ws/{changed}"), "two");
        assert!(!has_server(&desk.load()), "{line}: {changed}");
        assert!(
            has_server(&desk.trusted()),
            "{line}: a person takes it as it is now"
        );
        // Where the project begins above, the script may load anything from there on.
        desk.write("ws/package.json", "{}");
        assert!(!has_server(&desk.load()), "{line}: it loads from elsewhere now");
        desk.trusted();
        desk.write("ws/lib/a.sh", "two");
        assert!(!has_server(&desk.load()), "{line}: outside of its directory");
    }
}

/// A shell starts files by paths from anywhere, so its script counts as a line that may run any file.
#[test]
fn a_script_for_a_shell_is_trusted_with_the_whole_folder() {
    for (line, script, changed) in [
        (
            r#""command": "bash", "args": ["run.sh"]"#,
            ". lib/plain",
            "lib/plain",
        ),
        (
            r#""command": "sh", "args": ["run.sh"]"#,
            "exec python3 srv.py",
            "srv.py",
        ),
        (
            r#""command": "./run.sh""#,
            "#!/bin/sh\n. ./lib/plain",
            "lib/plain",
        ),
        (r#""command": "./run.sh""#, "no first line", "lib/plain"),
        (
            r#""command": "bash", "args": ["lib/a.sh"], "env": {"BASH_ENV": "run.sh"}"#,
            "./srv.py",
            "srv.py",
        ),
    ] {
        let desk = with_server(&format!("{{{line}}}"));
        desk.write("ws/run.sh", script);
        desk.write("ws/lib/plain", "one");
        let loaded = desk.trusted();
        assert!(has_server(&loaded), "{line}");
        let mut named = loaded.settings.named_files.iter();
        assert!(
            named.any(|file| file.path.ends_with("run.sh")),
            "the script is shown"
        );
        assert!(has_server(&desk.load()), "{line}: nothing has changed");
        desk.write(&format!("ws/{changed}"), "two");
        assert!(!has_server(&desk.load()), "{line}: {changed}");
    }
}

/// `npx` and `uvx` look for their settings in every directory above.
#[test]
fn settings_of_a_runner_count_wherever_it_finds_them() {
    for (program, settings) in [("npx", ".npmrc"), ("npx", "package.json"), ("uvx", "uv.toml")] {
        for place in ["", "lib/", "lib/deep/"] {
            let desk = with_server(&format!(
                r#"{{"command": "{program}", "args": ["some-server"], "cwd": "lib/deep"}}"#
            ));
            std::fs::create_dir(desk.root().join("lib/deep")).unwrap();
            assert!(has_server(&desk.trusted()), "{program}");
            desk.write("ws/README.md", "it does not read that");
            desk.write("ws/hook.js", "nor that");
            assert!(has_server(&desk.load()), "{program}");
            desk.write(&format!("ws/{place}{settings}"), "x");
            assert!(!has_server(&desk.load()), "{program}: {place}{settings}");
        }
    }
}

/// The command line does not show the source of a package, and npm's settings are not shown.
#[test]
fn a_runner_does_not_start_where_npm_settings_choose_the_server_or_a_program() {
    for (settings, is_started) in [
        ("; a comment\nsave-exact=true\n//host.test/:_authToken=x\n", true),
        ("registry=http://127.0.0.1:1/\n", false),
        ("@scope:registry = http://127.0.0.1:1/\n", false),
        ("node-options=--require ./hook.js\n", false),
        ("script-shell=./run.sh\n", false),
    ] {
        let desk = with_server(r#"{"command": "npx", "args": ["-y", "known-server"], "cwd": "lib"}"#);
        desk.write("ws/.npmrc", settings);
        assert_eq!(has_server(&desk.trusted()), is_started, "{settings}");
    }
}

/// An interpreter obeys the first line of a script, and a script may look beside its link and in installed
/// modules above.
#[cfg(unix)]
#[test]
fn what_a_script_loads_in_another_way_is_noticed() {
    use std::os::unix::fs::symlink;

    for (line, first, changed) in [
        (r#""command": "./srv/db""#, "#!tools/python3", "tools/python3"),
        (r#""command": "./srv/db""#, "#!/usr/bin/python3 -mfoo", "foo.py"),
        (r#""command": "./srv/db""#, "#!/proc/self/cwd/tools/x", "tools/x"),
        (
            r#""command": "perl", "args": ["srv/db"]"#,
            "#!/usr/bin/perl -Ilib",
            "lib/x.pm",
        ),
        (
            r#""command": "python3", "args": ["srv/db"], "env": {"PYTHONPATH": ":x"}"#,
            "",
            "foo.py",
        ),
        (
            r#""command": "node", "args": ["srv/db"]"#,
            "",
            "node_modules/a/index.js",
        ),
    ] {
        let desk = with_server(&format!("{{{line}}}"));
        for directory in ["srv", "tools", "lib", "node_modules/a"] {
            std::fs::create_dir_all(desk.root().join(directory)).unwrap();
        }
        desk.write("ws/srv/db", first);
        desk.write("ws/srv/package.json", "{}");
        for file in [
            "tools/python3",
            "tools/x",
            "foo.py",
            "lib/x.pm",
            "node_modules/a/index.js",
        ] {
            desk.write(&format!("ws/{file}"), "one");
        }
        assert!(has_server(&desk.trusted()), "{line} {first}");
        desk.write(&format!("ws/{changed}"), "another");
        assert!(!has_server(&desk.load()), "{line} {first}: {changed}");
    }
    let desk = with_server(r#"{"command": "python3", "args": ["srv/db.py"]}"#);
    for directory in ["srv", "real"] {
        std::fs::create_dir_all(desk.root().join(directory)).unwrap();
    }
    desk.write("ws/real/db.py", "import helper");
    desk.write("ws/srv/helper.py", "one");
    symlink("../real/db.py", desk.root().join("srv/db.py")).unwrap();
    assert!(has_server(&desk.trusted()));
    desk.write("ws/srv/helper.py", "two");
    assert!(!has_server(&desk.load()), "beside the link");
}

#[test]
fn a_relative_path_that_leads_out_of_the_folder_leaves_the_server_out() {
    for entry in [
        r#"{"command": "python3", "args": ["../outside.py"]}"#,
        r#"{"command": "sh", "args": ["-c", "cat ../outside.py"]}"#,
        r#"{"command": "python3", "args": ["x.py"], "cwd": ".."}"#,
    ] {
        let desk = with_server(entry);
        desk.write("outside.py", "one");
        assert!(!has_server(&desk.trusted()), "{entry}");
    }
}

/// `npx` prefers a program of the folder's own package to one that it would fetch.
#[test]
fn a_program_of_the_folders_own_package_is_of_the_folder() {
    for (package, is_whole) in [
        (r#"{"name": "x", "bin": {"other": "srv.py"}}"#, false),
        (r#"{"name": "x", "bin": {"some-server": "srv.py"}}"#, true),
        (r#"{"name": "some-server", "bin": "srv.py"}"#, true),
    ] {
        let desk = with_server(r#"{"command": "npx", "args": ["-y", "some-server"], "cwd": "lib"}"#);
        desk.write("ws/package.json", package);
        assert!(has_server(&desk.trusted()), "{package}");
        desk.write("ws/srv.py", "two");
        assert_eq!(has_server(&desk.load()), !is_whole, "{package}");
    }
}

/// Files that Git ignores may run, too.
#[test]
fn ignored_files_of_a_project_count() {
    for line in [
        r#""command": "node", "args": ["out/index.js"]"#,
        r#""command": "make""#,
    ] {
        let desk = with_server(&format!("{{{line}}}"));
        for folder in ["out", "node_modules", ".git"] {
            std::fs::create_dir(desk.root().join(folder)).unwrap();
        }
        desk.write("ws/.gitignore", "out\nnode_modules\n");
        for file in [
            "package.json",
            "out/index.js",
            "out/built.js",
            "node_modules/x.js",
        ] {
            desk.write(&format!("ws/{file}"), "one");
        }
        for changed in ["out/built.js", "node_modules/x.js"] {
            assert!(has_server(&desk.trusted()), "{line}");
            assert!(has_server(&desk.load()), "{line}");
            desk.write(&format!("ws/{changed}"), "changed");
            assert!(!has_server(&desk.load()), "{line}: {changed}");
        }
    }
}

/// A file may change after the settings were read: it is looked at again when the server starts.
#[test]
fn the_files_of_a_server_are_checked_whenever_it_starts() {
    for (entry, changed, said) in [
        (
            r#"{"command": "python3", "args": ["srv.py"]}"#,
            "srv.py",
            "srv.py is new or has changed",
        ),
        (
            r#"{"command": "python3", "args": ["srv.py"]}"#,
            "json.py",
            "a file of this folder, any of which it may run, is new or has changed",
        ),
        (
            r#"{"command": "python3", "args": ["srv/helper.py"]}"#,
            "srv/json.py",
            "a file in srv, any of which it may run, is new or has changed",
        ),
        (
            r#"{"command": "make"}"#,
            "new.mk",
            "a file of this folder, any of which",
        ),
    ] {
        let desk = with_server(entry);
        let loaded = desk.trusted();
        let server = &loaded.settings.mcp[0];
        assert_eq!(server.check_files(), Ok(()), "{entry}");
        desk.write(&format!("ws/{changed}"), "two");
        let why = server.check_files().unwrap_err();
        assert!(
            why.contains(said) && why.contains("`agentx config trust`"),
            "{why}"
        );
        assert_eq!(desk.trusted().settings.mcp[0].check_files(), Ok(()), "{entry}");
    }
}

/// A program never starts in a folder (with its modules, `node_modules/.bin`, `.npmrc`) that nobody
/// trusts, whether there is a directory of settings or not, and whatever directory the person set.
#[test]
fn own_servers_start_where_no_strange_folder_decides_what_they_load() {
    for line in [
        "{command: python3, args: [-m, own_srv]}",
        "{command: npx, args: [-y, own-fs]}",
    ] {
        let desk = with_server("{}");
        for folder in ["own_srv", "node_modules", "node_modules/.bin"] {
            std::fs::create_dir(desk.root().join(folder)).unwrap();
        }
        for file in [
            "own_srv/__main__.py",
            "json.py",
            "node_modules/.bin/own-fs",
            ".npmrc",
        ] {
            desk.write(&format!("ws/{file}"), "planted");
        }
        desk.write("home/config.yaml", &format!("mcp:\n  mine: {line}\n"));
        let (place, told) = starts_in(&desk, &desk.load());
        assert_eq!(place.as_deref(), Some("home"), "{line}: {told}");
        // The settings lie in the folder: then it is the nearest directory outside of it.
        desk.write("ws/own.yaml", &format!("mcp:\n  mine: {line}\n"));
        let mut places = desk.places();
        (places.user_file, places.user_file_named) = (desk.root().join("own.yaml"), true);
        let (place, told) = starts_in(&desk, &desk.load_at(places));
        assert_eq!(place.as_deref(), Some(""), "{line}: {told}");
    }
    for (cwd, counts) in [("WS", false), ("WS/lib", false), ("HOME", true)] {
        let desk = with_server("{}");
        let home = desk.dir.path().join("home");
        let cwd = cwd
            .replace("WS", &desk.root().to_string_lossy())
            .replace("HOME", &home.to_string_lossy());
        desk.write(
            "home/config.yaml",
            &format!("mcp:\n  mine: {{command: python3, args: [-m, own_srv], cwd: {cwd:?}}}\n"),
        );
        let (place, told) = starts_in(&desk, &desk.load());
        assert_eq!(place.is_some(), counts, "{cwd}: {told}");
        assert_eq!(told.contains("mine is left out"), !counts, "{cwd}: {told}");
    }
}
