//! Everyday work inside each step. A toolchain that is not on this machine is named and passed over.

use std::fs;
use std::path::PathBuf;

use agentx_sandbox::SandboxStep;

use crate::held::{HELD, World, said, steps};

/// A piece of work: the programs that it needs, files of the workspace, and a line with what it says last.
struct Work {
    needs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    line: &'static str,
    says: &'static str,
}

const WORK: &[Work] = &[
    Work {
        needs: &["cargo", "cc"],
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
            ),
            ("src/main.rs", "fn main() { println!(\"built\"); }\n"),
            (
                "build.rs",
                "fn main() { println!(\"cargo:rerun-if-changed=build.rs\"); }\n",
            ),
        ],
        line: "cargo run --offline --quiet",
        says: "built",
    },
    Work {
        needs: &["git"],
        files: &[("a", "1\n")],
        line: "git init -q again && cd again && echo 1 > a && git add a && \
               git -c user.name=ada -c user.email=ada@example.com commit -qm one && git log --format=%s",
        says: "one",
    },
    Work {
        needs: &["/usr/bin/python3"],
        files: &[(
            "x.py",
            "import json, subprocess, tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'1')\nprint(subprocess.check_output(['echo', 'ran']).decode().strip())\n",
        )],
        line: "/usr/bin/python3 x.py",
        says: "ran",
    },
    Work {
        needs: &["node"],
        files: &[],
        line: "node -e 'require(\"fs\").writeFileSync(\"n\", \"1\"); console.log(require(\"child_process\").execSync(\"echo ran\").toString().trim())'",
        says: "ran",
    },
    Work {
        needs: &["cc", "make"],
        files: &[
            (
                "Makefile",
                "all: hello\n\t./hello\nhello: hello.c\n\t@cc -o hello hello.c\n",
            ),
            (
                "hello.c",
                "#include <stdio.h>\nint main(void) { puts(\"made\"); return 0; }\n",
            ),
        ],
        line: "make -s -j2",
        says: "made",
    },
    Work {
        needs: &["tar", "gzip"],
        files: &[("d/a", "1\n")],
        line: "tar czf d.tgz d && mkdir o && tar xzf d.tgz -C o && cat o/d/a",
        says: "1",
    },
    Work {
        needs: &["bash"],
        files: &[],
        line: "bash -c 'cat <(echo sub) | tee >(cat >/dev/null); read -r a <<<here; mkfifo p; (echo pipe > p) & cat p'",
        says: "pipe",
    },
];

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

#[test]
fn everyday_work_is_not_disturbed() {
    let mut wrong = Vec::new();
    for step in steps() {
        for work in WORK {
            if let Some(missing) = work.needs.iter().find(|program| find(program).is_none()) {
                eprintln!("{missing} is not on this machine: {}", work.line);
                continue;
            }
            if let Err(why) = done(step, work) {
                wrong.push(format!("{step}: {}: {why}", work.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Does the work with the home directory of the person, in which the toolchains are.
fn done(step: SandboxStep, work: &Work) -> Result<(), String> {
    let world = World::new();
    for (name, text) in work.files {
        let path = world.path("work").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut command = world.command(step, &["sh", "-c", work.line]);
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.env_remove("CARGO_TARGET_DIR").output().unwrap();
    let text = said(&output);
    let is_done = output.status.success() && text.lines().any(|line| line == work.says);
    if is_done { Ok(()) } else { Err(text) }
}

#[test]
fn a_toolchain_finds_its_cache_at_its_first_use() {
    if find("cargo").is_none() {
        eprintln!("cargo is not on this machine");
        return;
    }
    for step in steps() {
        let world = World::new();
        let line = "touch \"$HOME/.cargo/registry/index\" && echo kept";
        let output = world.run(step, line);
        assert!(output.status.success(), "{step}: {}", said(&output));
        assert!(
            world.path("home/.cargo/registry/index").exists(),
            "{step}: it is the person's own cache"
        );
    }
}

#[test]
fn settings_of_a_package_manager_are_read_without_passwords() {
    for step in steps() {
        for (settings, is_read) in [
            ("fund=false\n", true),
            ("//localhost/:_authToken=made-up\n", false),
        ] {
            let world = World::new();
            fs::write(world.path("home/.npmrc"), settings).unwrap();
            let output = world.run(step, "cat \"$HOME/.npmrc\"");
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(text == settings, is_read, "{step}: {}", said(&output));
        }
    }
}

/// A workspace may be a directory of a working tree. What is around it is read, and not changed.
#[test]
fn git_sees_the_whole_working_tree_from_a_directory_in_it() {
    let has_git = std::process::Command::new("git")
        .arg("--version")
        .output()
        .is_ok();
    if !has_git || !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    let world = World::new();
    let made = world.run(
        SandboxStep::None,
        "git init -q tree && cd tree && mkdir sub && echo 1 > top && echo 1 > sub/a && git add . && \
         git -c user.name=ada -c user.email=ada@example.com commit -qm one",
    );
    assert!(made.status.success(), "{}", said(&made));
    for (line, expected) in [
        ("git status --porcelain", ""),
        ("cat ../top", "1\n"),
        ("echo 2 > ../top || echo refused", "refused\n"),
        ("cat ../../../home/notes || echo refused", "refused\n"),
    ] {
        let mut command = std::process::Command::new(HELD);
        command
            .arg(SandboxStep::Namespace.as_str())
            .arg(world.path("work/tree/sub"))
            .args(["sh", "-c", line])
            .env("HOME", world.path("home"));
        let output = command.output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{line}: {}",
            said(&output)
        );
    }
}

/// A server of the folder runs outside of the sandbox if its file is as the person accepted it.
#[test]
fn a_file_that_runs_outside_is_not_changed_by_a_command() {
    if !steps().contains(&SandboxStep::Namespace) {
        return;
    }
    let world = World::new();
    let made = world.run(
        SandboxStep::None,
        "mkdir -p srv/deep && echo accepted > srv/deep/a.py",
    );
    assert!(made.status.success(), "{}", said(&made));
    let mut command = world.command(SandboxStep::Namespace, &["sh", "-c"]);
    command.env("HELD_PROGRAM", world.path("work/srv/deep/a.py")).arg(
        "for line in 'echo x >> srv/deep/a.py' 'rm -f srv/deep/a.py' 'mv srv/deep/a.py b.py' \
         'mv srv other' 'mv srv/deep other' 'echo x > n && mv -f n srv/deep/a.py' \
         'ln -sf /etc/passwd srv/deep/a.py'; do sh -c \"$line\" && echo \"done: $line\"; done; \
         echo new > srv/deep/b.py && cat srv/deep/b.py srv/deep/a.py",
    );
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(shown, "new\naccepted\n", "{}", said(&output));
    let now = fs::read_to_string(world.path("work/srv/deep/a.py")).unwrap();
    assert_eq!(now, "accepted\n");
}
