//! Files that programs run or agents read by themselves, and that are guarded from version 9 of the rules on:
//! those of continuous integration, of repositories, and of tools that came later than the lists of
//! `auto_run_files`, which calls this module.

/// Paths of folders whose files continuous integration runs, often with the secrets of the project.
pub(super) const CI_FOLDERS: &[&str] = &[
    ".github/workflows",
    ".github/actions",
    ".forgejo/workflows",
    ".forgejo/actions",
    ".gitea/workflows",
    ".gitea/actions",
    ".gitlab/ci",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".semaphore",
    ".azure-pipelines",
    ".tekton",
    ".teamcity",
];

/// Files that such services read, in any folder.
#[rustfmt::skip]
pub(super) const CI_FILES: &[&str] = &[
    ".gitlab-ci.yml", ".gitlab-ci.yaml", "azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml",
    "jenkinsfile", ".travis.yml", ".drone.yml", ".drone.jsonnet", ".drone.star", ".woodpecker.yml",
    ".woodpecker.yaml", "appveyor.yml", ".appveyor.yml", "cloudbuild.yaml", "cloudbuild.yml", "cloudbuild.json",
    "buildspec.yml", "buildspec.yaml", ".cirrus.yml", ".cirrus.star", "codemagic.yaml", "bitrise.yml",
    "wercker.yml", ".build.yml", "screwdriver.yaml",
];

/// Hooks that Git runs by their name. A bare repository has them in `hooks/` of any folder, while `hooks/` of
/// a program's source holds other files.
#[rustfmt::skip]
pub(super) const HOOKS_OF_GIT: &[&str] = &[
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
];

/// Files by which Git takes any folder for a repository, or by which such a folder has settings. Git needs
/// `HEAD` beside `objects` and `refs`, and runs the program in `core.fsmonitor` of `config` for a mere `git
/// status` there.
const REPOSITORY_FILES: &[&str] = &["head", "config", "config.worktree", "commondir"];

/// Folders of which everything is guarded, anywhere in a path.
const FOLDERS: &[&str] = &[".openhands", ".kilocode", ".agents"];

/// Paths of folders whose files agents read or package managers run.
pub(super) const FOLDERS_WITHIN: &[&str] = &[
    ".github/agents",
    ".github/prompts",
    ".github/chatmodes",
    ".github/hooks",
    ".github/instructions",
    ".yarn/releases",
    ".yarn/plugins",
    ".yarn/sdks",
];

/// Files of any folder that editors, interpreters and other tools run by themselves.
pub(super) const FILES: &[&str] = &[
    ".dir-locals-2.el",
    ".pylintrc",
    "pylintrc",
    "devcontainer.json",
    "sitecustomize.py",
    "usercustomize.py",
    ".hgrc",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".ycm_extra_conf.py",
];

/// Ends of names of files that Python or Sublime Text run by themselves.
const FILE_ENDS: &[&str] = &[".pth", ".sublime-project"];

/// Files that agents read as instructions by themselves.
pub(super) const INSTRUCTIONS: &[&str] = &[
    ".openhands_instructions",
    ".continuerules",
    ".augment-guidelines",
    ".kilocodemodes",
    "conventions.md",
    "replit.md",
];

/// Beginnings of names of such files: one for each mode, as `.roorules-code`.
const INSTRUCTION_BEGINNINGS: &[&str] = &[".roorules", ".clinerules-", ".kilocoderules"];

/// Returns whether the name of a file in lower case is that of instructions.
pub(super) fn is_instructions(file: &str) -> bool {
    INSTRUCTIONS.contains(&file)
        || INSTRUCTION_BEGINNINGS
            .iter()
            .any(|beginning| file.starts_with(beginning))
}

/// Returns whether a name in lower case is that of a file by which Git takes a folder for a repository.
pub(super) fn is_repository_file(name: &str) -> bool {
    REPOSITORY_FILES.contains(&name)
}

/// Returns whether a path in lower case leads to a file that programs run or read by themselves.
pub(super) fn is_guarded(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_below = |folder: &str| {
        let folder: Vec<&str> = folder.split('/').collect();
        parts.windows(folder.len()).any(|window| window == folder)
    };
    let Some((file, above)) = parts.split_last() else {
        return false;
    };
    let is_hook = above.last() == Some(&"hooks") && HOOKS_OF_GIT.contains(file);
    let is_file = CI_FILES.contains(file) || FILES.contains(file) || is_repository_file(file);
    is_hook
        || is_file
        || is_of_bare_repository(&parts)
        || FILE_ENDS.iter().any(|end| file.ends_with(end))
        || parts.iter().any(|part| FOLDERS.contains(part))
        || [CI_FOLDERS, FOLDERS_WITHIN]
            .iter()
            .any(|folders| folders.iter().any(|folder| is_below(folder)))
}

/// Returns whether a path leads to hooks or submodules of a repository without a working tree, whose name
/// ends with `.git` by custom.
fn is_of_bare_repository(parts: &[&str]) -> bool {
    let is_bare = |name: &str| name.len() > ".git".len() && name.ends_with(".git");
    parts
        .windows(2)
        .any(|pair| is_bare(pair[0]) && matches!(pair[1], "hooks" | "modules"))
}
