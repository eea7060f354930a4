//! Repositories that name programs in every form that Git reads.

use std::process::Command;

use super::hooks::MAX_HOOKS;
use super::*;

fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
    std::fs::write(path, text).expect("it is written");
}

/// Runs Git without anybody's settings.
fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .args(["-c", "user.email=a@example.com", "-c", "user.name=a"])
        .args(arguments)
        .output()
        .expect("Git runs");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{arguments:?}: {said}");
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    git(folder.path(), &["init", "-q"]);
    folder
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    GitPrograms::of(folder.path()).names()
}

#[test]
fn what_a_repository_has_git_run_is_found_and_the_rest_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let git = folder.path().join(".git");
    let sub = folder.path().join("a/b");
    std::fs::create_dir_all(&sub).expect("it is made");
    write(&git.join("hooks/pre-commit.sample"), "exit 1");
    write(
        &git.join("config"),
        "[core]\n\tbare = false\n\tfsmonitor = true\n[remote \"origin\"]\n\turl = https://example.com/x\n\
         [branch \"main\"]\n\tmerge = refs/heads/main\n[alias]\n\tst = status\n",
    );
    assert!(GitPrograms::of(&sub).is_empty());
    write(
        &git.join("config"),
        "[Filter \"x\"] clean = touch a\n[diff \"y\"]\n textconv=\\\nsh\n[core]\n hooksPath = .husky\n\
         [include]\npath=../more\n[alias]\nst = !sh\n[remote \"o\"]\nurl = ext::sh\n[credential \"https://h\"]\nhelper = x\n\
         [extensions]\npartialClone = o\n[gc]\nrecentObjectsHook = x\n",
    );
    write(&git.join("hooks/post-checkout"), "not run: core.hooksPath is set");
    write(&folder.path().join(".husky/pre-commit"), "x");
    let found = GitPrograms::of(&sub);
    assert_eq!(
        found.names(),
        [
            "alias.st",
            "core.hookspath",
            "credential.https://h.helper",
            "diff.y.textconv",
            "extensions.partialclone",
            "filter.x.clean",
            "gc.recentobjectshook",
            "hook pre-commit",
            "hooks",
            "include.path",
            "remote.o.url",
        ]
    );
    let before = found.text();
    write(&folder.path().join(".husky/pre-commit"), "y");
    assert_ne!(
        GitPrograms::of(&sub).text(),
        before,
        "another hook is another text"
    );
    let before = GitPrograms::of(&sub).text();
    write(&folder.path().join("more"), "[diff \"z\"]\ncommand = x\n");
    assert_ne!(
        GitPrograms::of(&sub).text(),
        before,
        "so is what an included file says"
    );
}

#[test]
fn a_worktree_has_the_hooks_of_its_repository() {
    let folder = tempfile::tempdir().expect("a folder");
    let (git, tree) = (folder.path().join("main/.git"), folder.path().join("tree"));
    write(&git.join("hooks/post-checkout"), "x");
    write(&git.join("worktrees/tree/commondir"), "../..\n");
    let names_it = format!("{}/.git\n", tree.display());
    write(&git.join("worktrees/tree/gitdir"), names_it);
    write(&tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n");
    assert_eq!(GitPrograms::of(&tree).names(), ["hook post-checkout"]);
}

#[cfg(unix)]
#[test]
fn a_repository_of_somebody_else_is_said() {
    let other = repository();
    let git = other.path().join(".git");
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join(".git");
    std::os::unix::fs::symlink(&git, &link).expect("a link");
    assert_eq!(names(&folder), [".git elsewhere"]);
    std::fs::remove_file(&link).expect("it is removed");
    write(&link, format!("gitdir: {}\n", git.display()));
    assert_eq!(names(&folder), [".git elsewhere"]);
    std::fs::remove_file(&link).expect("it is removed");
    // Git itself leaves no trace in a repository that it makes beside its working tree: a person accepts
    // that.
    let beside = other.path().join("beside");
    self::git(
        folder.path(),
        &["init", "-q", "--separate-git-dir", &beside.to_string_lossy()],
    );
    assert_eq!(names(&folder), [".git elsewhere"]);
    let tree = other.path().join("tree");
    self::git(other.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
    self::git(other.path(), &["worktree", "add", "-q", &tree.to_string_lossy()]);
    assert!(
        GitPrograms::of(&tree).is_empty(),
        "{:?}",
        GitPrograms::of(&tree).names()
    );
}

#[test]
fn what_cannot_be_read_counts() {
    let folder = repository();
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    let config = folder.path().join(".git/config");
    let before = std::fs::read(&config).expect("it is read");
    for text in [b"[core\n".to_vec(), vec![b' '; 2 << 20], b"[a]b=\0".to_vec()] {
        write(&config, text);
        assert_eq!(names(&folder), [UNREADABLE]);
    }
    write(&config, before);
    write(&folder.path().join(".git/index"), "DIRC and no more");
    assert_eq!(names(&folder), ["index that cannot be read"]);
    std::fs::remove_dir_all(folder.path().join(".git")).expect("it is removed");
    write(&folder.path().join(".git"), "gitdir elsewhere");
    assert_eq!(names(&folder), [UNREADABLE]);
}

#[cfg(unix)]
#[test]
fn a_repository_behind_a_name_that_is_no_text_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().join(repository_files::path_of(b"r\xff "));
    write(&real.join("hooks/post-checkout"), "x");
    write(&folder.path().join(".git"), b"gitdir: r\xff \n");
    assert_eq!(names(&folder), [".git elsewhere", "hook post-checkout"]);
}

#[test]
fn samples_do_not_hide_a_hook_and_too_many_hooks_are_said() {
    let folder = repository();
    let hooks = folder.path().join(".git/hooks");
    for number in 0..=MAX_HOOKS {
        write(&hooks.join(format!("{number}.sample")), "x");
    }
    assert!(names(&folder).is_empty());
    write(&hooks.join("pre-commit"), "x");
    assert_eq!(names(&folder), ["hook pre-commit"]);
    for number in 0..MAX_HOOKS {
        write(&hooks.join(number.to_string()), "x");
    }
    assert!(names(&folder).contains(&"more hooks than are checked".to_owned()));
}

#[test]
fn a_folder_that_only_looks_like_a_repository_does_not_hide_the_one_around_it() {
    let folder = repository();
    write(&folder.path().join(".git/hooks/post-checkout"), "x");
    let inner = folder.path().join("inner");
    std::fs::create_dir_all(inner.join(".git")).expect("it is made");
    assert_eq!(GitPrograms::of(&inner).names(), ["hook post-checkout"]);
}

#[test]
fn repositories_in_the_index_are_looked_at() {
    for version in ["2", "4"] {
        let folder = repository();
        let top = folder.path();
        for inner in ["a/sub", "b/other"] {
            std::fs::create_dir_all(top.join(inner)).expect("it is made");
            git(&top.join(inner), &["init", "-q"]);
            git(&top.join(inner), &["commit", "-q", "--allow-empty", "-m", "x"]);
        }
        write(&top.join("a/file"), "x");
        git(top, &["add", "-A"]);
        git(top, &["update-index", "--index-version", version]);
        assert!(names(&folder).is_empty(), "{:?}", names(&folder));
        write(
            &top.join("b/other/.git/config"),
            "[filter \"x\"]\nclean = touch a\n",
        );
        assert_eq!(names(&folder), ["b/other: filter.x.clean"]);
        git(top, &["update-index", "--split-index"]);
        assert_eq!(names(&folder), ["index that cannot be read"]);
    }
}

#[test]
fn a_working_tree_elsewhere_counts_and_that_of_a_submodule_does_not() {
    let folder = repository();
    let top = folder.path();
    git(top, &["config", "core.worktree", "../.."]);
    assert_eq!(names(&folder), ["core.worktree"]);
    git(top, &["config", "core.worktree", ".."]);
    assert!(names(&folder).is_empty());
}

#[cfg(unix)]
#[test]
fn a_decoy_whose_head_is_a_link_does_not_hide_the_repository_around_it() {
    let folder = repository();
    write(&folder.path().join(".git/hooks/post-checkout"), "x");
    let inner = folder.path().join("inner/.git");
    for part in ["objects", "refs"] {
        std::fs::create_dir_all(inner.join(part)).expect("it is made");
    }
    write(&inner.join("HX"), "ref: refs/heads/main\n");
    std::os::unix::fs::symlink("HX", inner.join("HEAD")).expect("a link");
    let found = GitPrograms::of(&folder.path().join("inner"));
    assert_eq!(found.names(), ["hook post-checkout"]);
}

#[test]
fn a_sparse_index_and_a_format_that_a_worktree_claims_hide_no_repository() {
    let folder = repository();
    let top = folder.path();
    std::fs::create_dir_all(top.join("a/sub")).expect("it is made");
    git(&top.join("a/sub"), &["init", "-q"]);
    git(&top.join("a/sub"), &["commit", "-q", "--allow-empty", "-m", "x"]);
    write(&top.join("file"), "x");
    git(top, &["add", "-A"]);
    write(
        &top.join("a/sub/.git/config"),
        "[filter \"x\"]\nclean = touch a\n",
    );
    let claim = "[extensions]\nobjectFormat = sha256\n";
    write(&top.join(".git/config.worktree"), claim);
    write(&top.join("more"), claim);
    git(top, &["config", "include.path", "../more"]);
    assert_eq!(names(&folder), ["a/sub: filter.x.clean", "include.path"]);

    let folder = repository();
    let top = folder.path();
    for file in ["hidden/file", "file"] {
        write(&top.join(file), "x");
    }
    git(top, &["add", "-A"]);
    git(top, &["commit", "-q", "-m", "x"]);
    git(top, &["sparse-checkout", "init", "--cone", "--sparse-index"]);
    assert!(names(&folder).contains(&"index that cannot be read".to_owned()));
}

#[test]
fn files_that_settings_name_and_commands_under_other_names_are_said() {
    let folder = repository();
    let config = folder.path().join(".git/config");
    for (text, name) in [
        ("[format]\nsignatureFile = /x", "format.signaturefile"),
        ("[blame]\nignoreRevsFile = /x", "blame.ignorerevsfile"),
        ("[fsck]\nskipList = /x", "fsck.skiplist"),
        ("[commit]\ntemplate = /x", "commit.template"),
        ("[diff]\nsubmodule = diff", "diff.submodule"),
        ("[core]\ndisambiguate = blob", "core.disambiguate"),
        ("[diff]\nexternal = x", "diff.external"),
        ("[diff \"y\"]\ntextconv = x", "diff.y.textconv"),
        ("[diff \"y\"]\ncommand = x", "diff.y.command"),
        ("[alias]\ntidy = clean", "alias.tidy"),
        ("[alias]\nup = push", "alias.up"),
    ] {
        write(&config, text);
        assert_eq!(names(&folder), [name]);
    }
    write(&config, "[alias]\nst = status\n[diff]\nsubmodule = log\n");
    assert!(names(&folder).is_empty());
}

/// The setting stays the same when the script that it names changes.
#[test]
fn a_script_that_a_filter_names_is_a_part_of_what_is_accepted() {
    let folder = repository();
    let settings = folder.path().join(".git/config");
    for command in [
        "sh tools/clean.sh %f",
        "./tools/clean.sh",
        "!\"tools/clean.sh\"; cat",
    ] {
        write(&settings, format!("[filter \"x\"]\nclean = '{command}'\n"));
        write(&folder.path().join("tools/clean.sh"), "cat\n");
        let before = GitPrograms::of(folder.path());
        assert_eq!(before.names().len(), 2, "{command}: {:?}", before.names());
        assert!(before.text().contains("clean.sh "), "{command}");
        write(&folder.path().join("tools/clean.sh"), "curl thief.example\n");
        let after = GitPrograms::of(folder.path());
        assert_eq!(after.names(), before.names(), "{command}");
        assert_ne!(after.text(), before.text(), "{command}");
    }
    write(&settings, "[filter \"x\"]\nclean = /bin/cat\n");
    assert_eq!(
        names(&folder),
        ["filter.x.clean"],
        "programs of the machine change with it"
    );
}

/// A shell finds scripts that no word names.
#[test]
fn a_command_that_may_run_any_file_counts_with_the_whole_folder() {
    let folder = repository();
    let settings = folder.path().join(".git/config");
    for command in [
        "sh t*/clean.sh",
        "make",
        "sh -c \\\"cd tools; ./clean.sh\\\"",
        "true; make",
    ] {
        write(&settings, format!("[filter \"x\"]\nclean = \"{command}\"\n"));
        write(&folder.path().join("tools/clean.sh"), "cat\n");
        let before = GitPrograms::of(folder.path());
        assert_eq!(before.names(), ["filter.x.clean"], "{command}");
        let (shown, text) = (before.effects().concat(), before.text());
        let shown = shown.strip_prefix("Git runs this program: ").expect("a program");
        assert_eq!(
            text.trim_end().len() - shown.len(),
            64 - 12,
            "a question shows 12 digits: {shown}"
        );
        assert!(text.starts_with(shown.trim_end_matches(')')), "{shown}");
        write(&folder.path().join("tools/clean.sh"), "curl thief.example\n");
        assert_ne!(GitPrograms::of(folder.path()).text(), before.text(), "{command}");
    }
    write(&settings, "[filter \"lfs\"]\nclean = git-lfs clean -- %f\n");
    let before = GitPrograms::of(folder.path());
    write(&folder.path().join("tools/clean.sh"), "cat\n");
    assert_eq!(GitPrograms::of(folder.path()), before);
}

#[test]
fn hooks_count_with_the_files_that_they_name_and_those_that_lie_around_them() {
    let folder = repository();
    write(
        &folder.path().join(".git/hooks/pre-push"),
        "#!/bin/sh\nexec sh tools/check.sh\n",
    );
    write(&folder.path().join("tools/check.sh"), "true\n");
    write(&folder.path().join("tools/other.sh"), "true\n");
    let before = GitPrograms::of(folder.path());
    assert_eq!(
        before.names(),
        ["hook pre-push", "hook pre-push runs tools/check.sh"]
    );
    write(&folder.path().join("tools/other.sh"), "false\n");
    assert_eq!(GitPrograms::of(folder.path()), before);
    write(&folder.path().join("tools/check.sh"), "false\n");
    assert_ne!(GitPrograms::of(folder.path()).text(), before.text());
    // Husky's hooks read `../pre-commit`, whose name they put together.
    git(folder.path(), &["config", "core.hooksPath", ".husky/_"]);
    write(
        &folder.path().join(".husky/_/pre-commit"),
        ". \"$(dirname \"$0\")/h\"\n",
    );
    write(&folder.path().join(".husky/pre-commit"), "true\n");
    let before = GitPrograms::of(folder.path()).text();
    write(&folder.path().join(".husky/pre-commit"), "false\n");
    assert_ne!(GitPrograms::of(folder.path()).text(), before);
}

#[test]
fn remotes_that_may_be_paths_are_told_from_those_on_other_machines() {
    for (text, names, may_be_paths) in [
        ("", "", false),
        (
            "[remote \"o\"]\nurl = https://example.com/x\n[branch \"m\"]\nremote = o\n",
            "o",
            false,
        ),
        (
            "[remote \"a.b\"]\nurl = me@example.com:x/y\n[branch \"m\"]\nremote = .\n",
            "a.b",
            false,
        ),
        (
            "[remote \"o\"]\nurl = https://example.com/x\npushurl = bare.git\n",
            "",
            true,
        ),
        (
            "[remote \"o\"]\nurl = ssh://example.com/x\n[remote \"p\"]\nurl = file:///srv/x\n",
            "o",
            true,
        ),
        (
            "[remote \"o\"]\nurl = ssh://example.com/x\n[remote]\npushDefault = bare\n",
            "o",
            true,
        ),
        ("[branch \"m\"]\npushRemote = bare\n", "", true),
    ] {
        let folder = repository();
        write(&folder.path().join(".git/config"), text);
        let found = GitPrograms::of(folder.path()).remotes();
        assert_eq!(
            (found.names.join(" ").as_str(), found.may_be_paths),
            (names, may_be_paths),
            "{text}"
        );
    }
}

/// Sections, and settings in them, that run something, show a file, write into another folder, or send a
/// request or what one signs in with elsewhere.
const MATTERING: &[(&str, &str)] = &[
    (
        "http",
        "proxy sslVerify sslCAInfo extraHeader cookieFile saveCookies followRedirects curloptResolve delegation \
             emptyAuth pinnedPubkey proxySSLCAInfo sslBackend proactiveAuth",
    ),
    ("http \"https://h\"", "proxy sslVerify"),
    (
        "remote \"o\"",
        "proxy proxyAuthMethod pushurl lfsurl lfspushurl annex-ssh-options",
    ),
    ("url \"https://thief/\"", "insteadOf pushInsteadOf"),
    ("format", "outputDirectory"),
    ("instaweb", "httpd browser modulePath local"),
    ("lfs", "url pushurl standaloneTransferAgent storage sshTransfer"),
    ("lfs \"customtransfer.x\"", "path args"),
    ("lfs \"extension.x\"", "clean smudge"),
    ("svn", "authorsProg authorsFile"),
    ("svn-remote \"s\"", "pushurl commiturl"),
    (
        "core",
        "virtualFileSystem editor sshCommand gitProxy askPass attributesFile",
    ),
    ("gvfs", "cache-server"),
    ("git-p4", "port"),
    ("imap", "host tunnel"),
    ("sendemail", "smtpServer bcc sendmailCmd"),
    (
        "credential",
        "helper credentialStore provider sanitizePrompt protectProtocol",
    ),
    ("bundle \"b\"", "uri"),
    ("fetch", "bundleURI"),
    ("transfer", "bundleURI"),
    ("help", "htmlPath"),
    ("mergetool \"vimdiff\"", "layout path cmd"),
    ("init", "templateDir"),
    ("hook \"x\"", "command"),
    ("promisor", "acceptFromServer"),
    ("branch \"m\"", "mergeOptions"),
];

#[test]
fn settings_that_send_or_run_something_are_said() {
    let folder = repository();
    let config = folder.path().join(".git/config");
    for (section, settings) in MATTERING {
        for name in settings.split_whitespace() {
            write(&config, format!("[{section}]\n{name} = x\n"));
            assert_eq!(names(&folder).len(), 1, "[{section}] {name}");
        }
    }
    for (text, is_said) in [
        ("[merge]\ntool = ../../x", true),
        ("[merge]\ntool = meld", false),
        ("[remote]\npushDefault = https://thief/x", true),
        ("[remote]\npushDefault = mine", false),
        ("[branch \"m\"]\npushRemote = thief:x", true),
        ("[branch \"m\"]\nremote = origin", false),
        ("[submodule \"s\"]\nurl = odd::x", true),
        ("[submodule \"s\"]\nurl = https://example.com/x", false),
        (
            "[http]\npostBuffer = 1\nversion = HTTP/1.1\nlowSpeedLimit = 1",
            false,
        ),
        ("[lfs]\nrepositoryFormatVersion = 0", false),
        (
            "[lfs \"https://example.com/x\"]\nlocksVerify = true\naccess = basic",
            false,
        ),
        ("[credential]\nuseHttpPath = true", false),
        ("[protocol]\nversion = 2", false),
        ("[user]\nname = a\nemail = b", false),
        ("[pull]\nrebase = true\n[push]\ndefault = simple", false),
    ] {
        write(&config, text);
        assert_eq!(!names(&folder).is_empty(), is_said, "{text}");
    }
}

#[test]
fn what_one_signs_in_with_is_not_shown_and_another_one_is_another_text() {
    let folder = repository();
    let config = folder.path().join(".git/config");
    for text in [
        "[http]\nproxy = http://me:SECRET@proxy:80",
        "[http]\nproxy = me:SECRET@proxy:80",
        "[http \"https://h/\"]\nextraHeader = Authorization: basic SECRET",
        "[url \"https://me:SECRET@host/\"]\ninsteadOf = https://host/",
        "[lfs]\nurl = https://SECRET@host/lfs",
        "[sendemail]\nsmtpPass = SECRET",
        "[imap]\npass = SECRET",
    ] {
        write(&config, text.replace("SECRET", "hunter2"));
        let found = GitPrograms::of(folder.path());
        assert_eq!(found.names().len(), 1, "{text}");
        assert!(!found.text().contains("hunter2"), "{}", found.text());
        assert!(!found.with_passwords().is_empty(), "{text}");
        write(&config, text.replace("SECRET", "hunter3"));
        let other = GitPrograms::of(folder.path());
        assert_eq!(other.names(), found.names(), "{text}");
        assert_ne!(other.text(), found.text(), "{text}");
    }
    write(&config, "[lfs]\nurl = ssh://git@host/lfs\n");
    let found = GitPrograms::of(folder.path());
    assert_eq!(found.text(), "lfs.url = ssh://git@host/lfs\n");
    assert!(found.with_passwords().is_empty());
}

#[test]
fn passwords_in_the_settings_of_submodules_and_worktrees_are_found() {
    for file in [
        "modules/a/config",
        "modules/a/b/config",
        "modules/a/modules/c/config",
        "modules/objects/config",
        "modules/a/worktrees/t/config.worktree",
        "worktrees/t/config.worktree",
    ] {
        let folder = repository();
        let file = folder.path().join(".git").join(file);
        write(&file, "[remote \"o\"]\nurl = https://example.com/x\n");
        assert!(GitPrograms::of(folder.path()).with_passwords().is_empty());
        write(&file, "[remote \"o\"]\nurl = https://me:hunter2@example.com/x\n");
        let found = GitPrograms::of(folder.path());
        assert!(found.with_passwords().contains(&file), "{}", file.display());
        assert!(!found.text().contains("hunter2"), "{}", found.text());
    }
    let folder = repository();
    for number in 0..2100 {
        let module = folder.path().join(format!(".git/modules/{number}"));
        std::fs::create_dir_all(module).expect("it is made");
    }
    assert_eq!(names(&folder), ["more repositories than are checked"]);
}

#[test]
fn what_editors_leave_beside_hooks_is_not_asked_about_unless_a_hook_runs_it() {
    let folder = repository();
    let hooks = folder.path().join(".git/hooks");
    let left = [
        "pre-commit~",
        ".pre-commit.swp",
        "pre-commit.orig",
        "pre-push.rej",
        "pre-commit.bak",
        "#pre-commit#",
        ".#pre-commit",
        "pre-commit.sample",
    ];
    for name in left {
        write(&hooks.join(name), "x");
    }
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    write(&hooks.join("pre-commit"), "cd ~/x && make # hello\n");
    assert_eq!(names(&folder), ["hook pre-commit"]);
    write(&hooks.join("pre-commit"), "exec \"$0.orig\"\n");
    assert_eq!(names(&folder), ["hook pre-commit", "hook pre-commit.orig"]);
    write(&hooks.join("pre-commit"), "exec \"$0~\"\n");
    assert_eq!(names(&folder), ["hook pre-commit", "hook pre-commit~"]);
}
