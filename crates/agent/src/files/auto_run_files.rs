//! Files that programs run or read for commands by themselves, without being named.
//!
//! An agent that may write `.git/config` can make the next `git status` run anything, and one that may write
//! `AGENTS.md` can instruct the next agent. So only a rule with the exact name of such a file allows changing
//! it, never a pattern. Reading them is not restricted here; files with secrets are in
//! [`crate::files::closed_files`].
//!
//! Names are compared in lower case, anywhere in a path. Each list belongs to a version of the rules: a
//! session with an earlier version ignores later additions.

use agentx_types::{RULES_VERSION, since};

/// Folders of which everything is guarded, anywhere in a path.
const FOLDERS: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".agentx",
    ".githooks",
    ".husky",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".direnv",
    ".cargo",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".ssh",
    ".gnupg",
];

/// Files of any folder that shells, editors and build tools run or read by themselves.
const FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xprofile",
    ".xinitrc",
    ".envrc",
    ".direnvrc",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".mise.toml",
    "mise.toml",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".emacs",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".inputrc",
    ".tmux.conf",
];

/// Folders that are guarded from version 7 of the rules on.
const FOLDERS_SINCE_7: &[&str] = &[
    ".zed",
    ".fleet",
    ".lefthook",
    ".qwen",
    ".opencode",
    ".mise",
    // Folders of agents.
    ".windsurf",
    ".kiro",
    ".roo",
    ".clinerules",
    ".amazonq",
    ".junie",
    ".trae",
    ".augment",
    ".continue",
    ".factory",
    ".crush",
    // Folders of editors, shells and desktops.
    ".vim",
    ".emacs.d",
    ".theia",
    ".run",
    ".idx",
    ".ipython",
    ".config",
];
/// Files that are guarded from version 7 of the rules on.
const FILES_SINCE_7: &[&str] = &[
    ".devcontainer.json",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    "lefthook-local.yml",
    ".lefthook-local.yml",
    ".pre-commit-config.yml",
    "mise.local.toml",
    ".mise.local.toml",
    ".tool-versions",
    ".pdbrc",
    ".rprofile",
    ".renviron",
    ".irbrc",
    ".pryrc",
    ".aider.conf.yml",
    "opencode.json",
    "opencode.jsonc",
    "crush.json",
    ".crush.json",
    ".roomodes",
    "mcp.json",
    ".gvimrc",
    ".lvimrc",
    ".local.vimrc",
    ".lazy.lua",
    ".rtx.toml",
    ".autoenv",
    ".env.fish",
    ".rdbgrc",
    ".byebugrc",
    ".pdbrc.py",
    ".psqlrc",
    ".sqliterc",
    ".screenrc",
    ".overcommit.yml",
    ".gitpod.yml",
    ".replit",
    ".curlrc",
    ".wgetrc",
    ".xresources",
    ".xsession",
    ".pam_environment",
];

/// Paths of folders whose files continuous integration runs, often with the secrets of the project (from
/// version 9 of the rules on).
const CI_FOLDERS: &[&str] = &[
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

/// Files that such services read, in any folder (from version 9 of the rules on).
#[rustfmt::skip]
const CI_FILES: &[&str] = &[
    ".gitlab-ci.yml", ".gitlab-ci.yaml", "azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml",
    "jenkinsfile", ".travis.yml", ".drone.yml", ".drone.jsonnet", ".drone.star", ".woodpecker.yml",
    ".woodpecker.yaml", "appveyor.yml", ".appveyor.yml", "cloudbuild.yaml", "cloudbuild.yml", "cloudbuild.json",
    "buildspec.yml", "buildspec.yaml", ".cirrus.yml", ".cirrus.star", "codemagic.yaml", "bitrise.yml",
    "wercker.yml", ".build.yml", "screwdriver.yaml",
];

/// Hooks that Git runs by their name. A bare repository has them in `hooks/` of any folder, while `hooks/` of
/// a program's source holds other files (from version 9 of the rules on).
#[rustfmt::skip]
const HOOKS_OF_GIT: &[&str] = &[
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
];

/// Returns whether a path in lower case leads to a file or a folder that continuous integration runs, or to a
/// hook of a repository.
fn is_of_ci(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_below = |folder: &str| {
        let folder: Vec<&str> = folder.split('/').collect();
        parts.windows(folder.len()).any(|window| window == folder)
    };
    let Some((file, above)) = parts.split_last() else {
        return false;
    };
    let is_hook = above.last() == Some(&"hooks") && HOOKS_OF_GIT.contains(file);
    is_hook
        || is_of_bare_repository(&parts)
        || CI_FILES.contains(file)
        || CI_FOLDERS.iter().any(|folder| is_below(folder))
}

/// Returns whether a path leads to what Git runs or reads as settings in a repository without a working tree,
/// which ends with `.git` by custom (from version 9 of the rules on).
fn is_of_bare_repository(parts: &[&str]) -> bool {
    const SETTINGS: [&str; 3] = ["config", "config.worktree", "commondir"];
    let is_bare = |name: &str| name.len() > ".git".len() && name.ends_with(".git");
    let starts = parts.iter().enumerate().filter(|(_, name)| is_bare(name));
    starts.map(|(at, _)| &parts[at + 1..]).any(|inside| match inside {
        ["hooks" | "modules", ..] => true,
        [.., file] => SETTINGS.contains(file) && (inside.len() == 1 || inside[0] == "worktrees"),
        [] => false,
    })
}

/// Files that agents read as instructions by themselves, in any folder. They count from version 3 of the
/// rules on.
const INSTRUCTIONS: &[&str] = &[
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "skill.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
];

/// Files of instructions that count from version 7 of the rules on, besides names that end with
/// `.instructions.md`.
const INSTRUCTIONS_SINCE_7: &[&str] = &["agent.md", "qwen.md", "crush.md", "warp.md", ".rules"];

/// Returns whether a path leads to a file that agents take for instructions, by the latest version of the
/// rules.
///
/// Only the name of the file counts, in any folder; capitals and small letters are the same.
///
/// ```
/// use agentx_agent::auto_run_files::is_instructions;
/// assert!(is_instructions("/ws/AGENTS.md") && is_instructions("/ws/sub/claude.md"));
/// assert!(!is_instructions("/ws/README.md"));
/// ```
pub fn is_instructions(path: &str) -> bool {
    is_instructions_as(path, RULES_VERSION)
}

/// Returns whether a path leads to a file that agents take for instructions, by rules of this version; none
/// does before version 3.
pub(crate) fn is_instructions_as(path: &str, version: u32) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let file = file.as_str();
    let since_7 = || INSTRUCTIONS_SINCE_7.contains(&file) || file.ends_with(".instructions.md");
    (version >= since::INSTRUCTIONS_ARE_GUARDED && INSTRUCTIONS.contains(&file))
        || (version >= since::MORE_GUARDED_FILES && since_7())
}

/// Returns whether a normalized path leads to such a file. It ignores case, as some systems do.
///
/// ```
/// use agentx_agent::auto_run_files::is_guarded;
/// assert!(is_guarded("/ws/.git/config"));
/// assert!(is_guarded("/ws/sub/.envrc"));
/// assert!(!is_guarded("/ws/src/git/config"));
/// ```
pub fn is_guarded(path: &str) -> bool {
    is_guarded_as(path, RULES_VERSION)
}

/// Returns whether a normal path is guarded by rules of this version; none is before version 1.
pub(crate) fn is_guarded_as(path: &str, version: u32) -> bool {
    if version < since::GUARDED_FILES {
        return false;
    }
    let path = path.to_lowercase();
    let is_folder = |name: &str| {
        FOLDERS.contains(&name) || (version >= since::MORE_GUARDED_FILES && FOLDERS_SINCE_7.contains(&name))
    };
    let since_7 = |name: &str| FILES_SINCE_7.contains(&name) || name.ends_with(".code-workspace");
    let is_file =
        |name: &str| FILES.contains(&name) || (version >= since::MORE_GUARDED_FILES && since_7(name));
    let mut parts = path.split('/');
    let file = parts.next_back().unwrap_or_default();
    let is_of_ci = || version >= since::CI_FILES_ARE_GUARDED && is_of_ci(&path);
    is_file(file) || is_folder(file) || parts.any(is_folder) || is_of_ci()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_services_of_continuous_integration_run_are_guarded_since_version_9() {
        for path in [
            "/ws/.github/workflows/x.yml",
            "/ws/sub/.github/actions/a/action.yml",
            "/ws/.forgejo/workflows/x.yml",
            "/ws/.gitea/workflows/x.yml",
            "/ws/.circleci/config.yml",
            "/ws/.buildkite/pipeline.yml",
            "/ws/.gitlab-ci.yml",
            "/ws/azure-pipelines.yml",
            "/ws/bitbucket-pipelines.yml",
            "/ws/Jenkinsfile",
            "/ws/.travis.yml",
            "/ws/.drone.yml",
            "/ws/.woodpecker/a.yml",
            "/ws/.woodpecker.yml",
            "/ws/appveyor.yml",
            "/ws/cloudbuild.yaml",
            "/ws/bare.git/hooks/post-receive",
            "/ws/src/bare.git/config",
            "/ws/bare.git/modules/a/config",
            "/ws/bare.git/worktrees/a/commondir",
        ] {
            assert!(is_guarded(path), "{path}");
            assert!(!is_guarded_as(path, 8), "{path}");
        }
        for path in [
            "/ws/.github/CODEOWNERS",
            "/ws/workflows/x.yml",
            "/ws/src/hooks/use_state.ts",
            "/ws/docs/jenkinsfile.md",
        ] {
            assert!(!is_guarded(path), "{path}");
        }
    }
}
