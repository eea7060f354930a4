//! Repositories of every shape: what Git runs in them is not changed, and a link in one stops no command.

use std::fs;
use std::os::unix::fs::symlink;

use agentx_sandbox::SandboxStep;

use crate::held::{World, said, steps};

/// Runs lines in the step `namespace`: the file `evil` must not get the word that they write. They are run
/// without a sandbox first, where it has to get it: so they would get out.
fn check(make: impl Fn(&World), lines: &[&str], evil: &str) {
    let step = SandboxStep::Namespace;
    if !steps().contains(&step) {
        return;
    }
    for (step, is_left) in [(SandboxStep::None, true), (step, false)] {
        let world = World::new();
        make(&world);
        let mut text = String::new();
        for line in lines {
            text += &said(&world.run(step, line));
        }
        let path = world.path("work").join(evil);
        let found = fs::read_to_string(&path).is_ok_and(|text| text.contains("evil"));
        assert_eq!(found, is_left, "{step}: {}: {lines:?}: {text}", path.display());
    }
}

fn repository(world: &World, name: &str) {
    let git = world.path("work").join(name);
    for directory in ["hooks", "objects", "refs"] {
        fs::create_dir_all(git.join(directory)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(git.join("config"), "[core]\n").unwrap();
}

#[test]
fn a_submodule_that_loses_its_head_is_still_protected() {
    let take = "cd .git/modules/sub; mv HEAD H; mv objects o; mv refs r; true";
    for (fill, evil) in [
        (
            "cd .git/modules/sub; echo evil > config; mv H HEAD",
            ".git/modules/sub/config",
        ),
        (
            "cd .git/modules/sub; echo evil > hooks/post-commit; mv H HEAD",
            ".git/modules/sub/hooks/post-commit",
        ),
        (
            "mkdir -p .git/modules/sub/info; echo evil > .git/modules/sub/info/attributes",
            ".git/modules/sub/info/attributes",
        ),
    ] {
        check(|world| repository(world, ".git/modules/sub"), &[take, fill], evil);
    }
}

#[test]
fn a_worktree_that_loses_its_head_is_still_protected() {
    let make = |world: &World| {
        let side = world.path("work/.git/worktrees/side");
        fs::create_dir_all(&side).unwrap();
        fs::write(side.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        fs::write(side.join("commondir"), "../..\n").unwrap();
    };
    let lines = [
        "cd .git/worktrees/side && mv HEAD H",
        "cd .git/worktrees/side; echo ../../../evil > commondir; mv H HEAD",
    ];
    check(make, &lines, ".git/worktrees/side/commondir");
}

#[test]
fn attributes_are_protected_and_their_directory_stays() {
    let line = "mv .git/info .git/i; mkdir -p .git/info; echo evil > .git/info/attributes";
    check(|_| {}, &[line], ".git/info/attributes");
}

/// More directories than are searched: none of them is changed then.
#[test]
fn many_directories_hide_no_submodule() {
    let make = |world: &World| {
        repository(world, ".git/modules/zz");
        for number in 0..1100 {
            fs::create_dir_all(world.path("work/.git/modules").join(format!("a{number}"))).unwrap();
        }
    };
    check(
        make,
        &["echo evil > .git/modules/zz/config"],
        ".git/modules/zz/config",
    );
}

#[test]
fn a_repository_elsewhere_in_the_workspace_is_protected() {
    let elsewhere = |world: &World| {
        fs::rename(world.path("work/.git"), world.path("work/.real")).unwrap();
        repository(world, ".real");
    };
    let by_link = |world: &World| {
        elsewhere(world);
        symlink(".real", world.path("work/.git")).unwrap();
    };
    let by_file = |world: &World| {
        elsewhere(world);
        fs::write(world.path("work/.git"), "gitdir: .real\n").unwrap();
    };
    for (line, evil) in [
        ("echo evil > .real/config", ".real/config"),
        ("echo evil > .real/hooks/post-commit", ".real/hooks/post-commit"),
        (
            "mv .real .r; mkdir .real; echo evil > .real/config",
            ".real/config",
        ),
        ("rm .git; mkdir .git; echo evil > .git/config", ".git/config"),
        (
            "echo x > g; mv -f g .git; rm .git; mkdir .git; echo evil > .git/config",
            ".git/config",
        ),
    ] {
        check(by_link, &[line], evil);
        check(by_file, &[line], evil);
    }
}

/// A submodule as the workspace: its repository is out of reach, and the file that names it stays.
#[test]
fn the_file_of_a_submodule_is_not_replaced() {
    let make = |world: &World| {
        fs::remove_dir_all(world.path("work/.git")).unwrap();
        fs::write(world.path("work/.git"), "gitdir: ../outside/made-up\n").unwrap();
    };
    check(
        make,
        &["rm .git; mkdir .git; echo evil > .git/config"],
        ".git/config",
    );
    check(make, &["echo 'gitdir: evil' > .git"], ".git");
}

#[test]
fn what_settings_name_is_protected() {
    let make = |world: &World| {
        let text = "[include]\n\tpath = ../.gitconfig\n[core]\n\thooksPath = .husky/_\n";
        fs::write(world.path("work/.git/config"), text).unwrap();
        fs::write(world.path("work/.gitconfig"), "[core]\n").unwrap();
        fs::create_dir(world.path("work/.husky")).unwrap();
    };
    for (line, evil) in [
        ("echo evil >> .gitconfig", ".gitconfig"),
        ("echo evil > g; mv -f g .gitconfig", ".gitconfig"),
        (
            "mkdir .husky/_; echo evil > .husky/_/pre-commit",
            ".husky/_/pre-commit",
        ),
        (
            "mkdir .husky/_; mv .husky .h; mkdir -p .husky/_; echo evil > .husky/_/pre-commit",
            ".husky/_/pre-commit",
        ),
    ] {
        check(make, &[line], evil);
    }
}

/// A link in the place of a directory or a file of Git is kept, and so is what it leads to.
#[test]
fn a_link_in_a_repository_stops_no_command() {
    let hooks = |world: &World| {
        fs::remove_dir_all(world.path("work/.git/hooks")).unwrap();
        fs::create_dir(world.path("work/githooks")).unwrap();
        symlink("../githooks", world.path("work/.git/hooks")).unwrap();
    };
    let config = |world: &World| {
        fs::rename(world.path("work/.git/config"), world.path("work/ours")).unwrap();
        symlink("../ours", world.path("work/.git/config")).unwrap();
    };
    let outside = |world: &World| {
        fs::remove_dir_all(world.path("work/.git/hooks")).unwrap();
        symlink(world.path("outside"), world.path("work/.git/hooks")).unwrap();
    };
    let makes: [&dyn Fn(&World); 3] = [&hooks, &config, &outside];
    for step in steps() {
        for make in makes {
            let world = World::new();
            make(&world);
            let output = world.run(step, "echo ran > built && cat .git/config");
            assert!(output.status.success(), "{step}: {}", said(&output));
            assert!(world.is_unharmed());
        }
    }
    for (line, evil) in [
        ("echo evil > githooks/post-commit", "githooks/post-commit"),
        (
            "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/post-commit",
            ".git/hooks/post-commit",
        ),
        (
            "mv githooks g; mkdir githooks; echo evil > githooks/post-commit",
            "githooks/post-commit",
        ),
    ] {
        check(hooks, &[line], evil);
    }
    for (line, evil) in [
        ("echo evil > ours", "ours"),
        ("rm .git/config; echo evil > .git/config", ".git/config"),
    ] {
        check(config, &[line], evil);
    }
}
