//! Caches whose files run elsewhere as they are: what a command writes there stays in its session.

use std::fs;

use agentx_sandbox::SandboxStep;

use crate::held::{FromTemplate, SECRET, World, said, steps};

/// Files in such caches, which other projects and the person run (made up).
const RUN_ELSEWHERE: [&str; 5] = [
    ".npm/_npx/4711/node_modules/made-up/cli.js",
    ".cache/uv/archive-v0/4711/six.py",
    ".cache/pre-commit/repo/hook",
    ".local/share/pnpm/store/v3/files/00/4711",
    ".bun/install/cache/made-up/index.js",
];

fn world() -> World {
    let world = World::new();
    for name in RUN_ELSEWHERE {
        let path = world.path("home").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, SECRET).unwrap();
    }
    world
}

/// Changes a file in each way, and makes another one beside it.
fn change(name: &str) -> String {
    format!(
        "f=$HOME/{name}; echo evil >> $f; echo evil > $f.new && mv -f $f.new $f; mkdir ${{f%/*}}/d && \
         echo evil > ${{f%/*}}/d/made; true"
    )
}

fn is_unchanged(world: &World, name: &str) -> bool {
    let path = world.path("home").join(name);
    let beside = fs::read_dir(path.parent().unwrap()).unwrap().count();
    fs::read_to_string(path).is_ok_and(|text| text == SECRET) && beside == 1
}

#[test]
fn what_runs_elsewhere_is_read_and_not_changed() {
    for step in steps() {
        let world = world();
        for name in RUN_ELSEWHERE {
            let read = world.run(step, &format!("cat $HOME/{name}"));
            assert_eq!(said(&read), SECRET, "{step}: {name}");
            let changed = world.run(step, &change(name));
            assert!(is_unchanged(&world, name), "{step}: {name}: {}", said(&changed));
        }
    }
}

#[test]
fn a_command_sees_what_it_wrote_and_so_does_the_next_one() {
    if !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    let world = world();
    let template = FromTemplate::new(&world, true);
    for name in RUN_ELSEWHERE {
        let (status, text) = template.run(&world, &["sh", "-c", &change(name)]);
        assert!(status.success(), "{text}");
        let line = format!("f=$HOME/{name}; cat $f ${{f%/*}}/d/made");
        let (_, text) = template.run(&world, &["sh", "-c", &line]);
        assert_eq!(text, "evil\nevil\n", "{name}");
        assert!(is_unchanged(&world, name), "{name}");
    }
    // By a helper of its own for each command, too.
    let step = SandboxStep::Namespace;
    let name = RUN_ELSEWHERE[1];
    world.run(step, &change(name));
    assert_eq!(said(&world.run(step, &format!("cat $HOME/{name}"))), "evil\n");
    assert!(is_unchanged(&world, name));
}

/// Without layers, a toolchain that needs to write its cache has another one.
#[test]
fn landlock_gives_a_toolchain_a_cache_of_its_own() {
    let step = SandboxStep::Landlock;
    if !steps().contains(&step) {
        return;
    }
    let world = world();
    let output = world.run(step, "mkdir -p $UV_CACHE_DIR && echo own > $UV_CACHE_DIR/a");
    assert!(output.status.success(), "{}", said(&output));
    let again = world.run(
        step,
        "cat $UV_CACHE_DIR/a; case $UV_CACHE_DIR in $TMPDIR/*) echo temporary;; esac",
    );
    assert_eq!(said(&again), "own\ntemporary\n");
}

/// Two commands at one time have a layer each, because two mounts of one layer would disturb each other.
#[test]
fn commands_at_one_time_have_a_layer_each() {
    let step = SandboxStep::Namespace;
    if !steps().contains(&step) {
        return;
    }
    let world = world();
    let line = "echo mine >> $HOME/.npm/_npx/own; echo; read -r word; cat $HOME/.npm/_npx/own";
    let mut first = world.command(step, &["sh", "-c", line]);
    let mut first = first
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Read::read_exact(first.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let second = world.run(
        step,
        "cat $HOME/.npm/_npx/own 2>/dev/null || echo nothing; ls $HOME/.npm/_npx",
    );
    assert!(said(&second).ends_with("nothing\n4711\n"), "{}", said(&second));
    let output = first.wait_with_output().unwrap();
    assert_eq!(said(&output), "mine\n");
}

#[test]
fn what_npm_keeps_as_data_is_written() {
    for step in steps() {
        let world = World::new();
        fs::create_dir_all(world.path("home/.npm/_cacache")).unwrap();
        let written = world.run(
            step,
            "echo kept > $HOME/.npm/_cacache/x && echo kept > $HOME/.npm/_logs/x",
        );
        let is_kept = world.path("home/.npm/_cacache/x").exists();
        // `_logs` is made at the first use of npm, if npm is here.
        assert!(is_kept, "{step}: {}", said(&written));
    }
}

/// A directory of `PATH` that is not there yet is not made by a command, nor is another one put in its place.
#[test]
fn a_missing_directory_of_programs_is_not_made() {
    // The second cache is in a directory that is read as a whole.
    for (step, cache) in steps()
        .into_iter()
        .flat_map(|step| ["home/.cache/ccache", "home/go/pkg"].map(|cache| (step, cache)))
    {
        let world = World::new();
        fs::create_dir_all(world.path(cache)).unwrap();
        let bin = world.path(cache).join("a/bin");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        for line in [
            "mkdir -p $BIN; echo evil > $BIN/git",
            "cd $BIN/../..; mv a b; mkdir -p a/bin && echo evil > a/bin/git",
        ] {
            let mut command = world.command(step, &["sh", "-c", line]);
            let output = command.env("PATH", &path).env("BIN", &bin).output().unwrap();
            // Landlock cannot exclude anything from a directory that is written.
            let is_open = step == SandboxStep::Landlock;
            assert_eq!(
                bin.join("git").exists(),
                is_open,
                "{step}: {line}: {}",
                said(&output)
            );
        }
    }
}

/// Settings that builds need are read without the credentials in them.
#[test]
fn settings_are_read_without_credentials() {
    for step in steps() {
        let world = World::new();
        let settings = format!("[registry]\ntoken = \"{SECRET}\"\n[build]\njobs = 2\n");
        fs::write(world.path("home/.cargo/config.toml"), settings).unwrap();
        let git = format!("[user]\n\tname = Ada\n[url \"https://{SECRET}@localhost/\"]\n\tinsteadOf = x\n");
        fs::write(world.path("home/.gitconfig"), git).unwrap();
        for name in [".julia/servers/made-up", ".local/share/uv/credentials"] {
            fs::create_dir_all(world.path("home").join(name)).unwrap();
            fs::write(world.path("home").join(name).join("auth.toml"), SECRET).unwrap();
        }
        let line = "cd; cat .gitconfig .cargo/config.toml; cat .julia/servers/*/* .local/share/uv/*/*; \
                    echo x >> .gitconfig; rm .cargo/config.toml";
        let text = said(&world.run(step, line));
        assert!(!text.contains(SECRET), "{step}: {text}");
        // Landlock cannot show a file in part.
        let is_shown = step == SandboxStep::Namespace;
        assert_eq!(
            text.contains("jobs = 2") && text.contains("name = Ada"),
            is_shown,
            "{step}: {text}"
        );
        assert!(world.path("home/.cargo/config.toml").exists());
        let git = fs::read_to_string(world.path("home/.gitconfig")).unwrap();
        assert!(git.contains(SECRET), "{step}: the person's own file");
    }
}

/// A template does not keep a copy of settings that have changed.
#[test]
fn changed_settings_are_seen() {
    if !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    let world = World::new();
    let template = FromTemplate::new(&world, true);
    for name in ["Ada", "Grace"] {
        let git = format!("[user]\n\tname = {name}\n[http]\n\textraHeader = {SECRET}\n");
        fs::write(world.path("home/.gitconfig"), git).unwrap();
        let (_, text) = template.run(&world, &["sh", "-c", "cat $HOME/.gitconfig"]);
        assert_eq!(text, format!("[user]\n\tname = {name}\n[http]\n"));
    }
}
