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

use super::auto_run_since_9;
use crate::pattern::{fits, literal};

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
        || (version >= since::FILES_OF_TOOLS_ARE_GUARDED && auto_run_since_9::is_instructions(file))
}

/// Returns whether a normalized path leads to such a file. It ignores case, as some systems do.
///
/// ```
/// use agentx_agent::auto_run_files::is_guarded;
/// assert!(is_guarded("/ws/.git/config"));
/// assert!(is_guarded("/ws/sub/.envrc"));
/// assert!(!is_guarded("/ws/src/git/config.rs"));
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
    let since_9 = || version >= since::FILES_OF_TOOLS_ARE_GUARDED && auto_run_since_9::is_guarded(&path);
    is_file(file) || is_folder(file) || parts.any(is_folder) || since_9()
}

/// Returns whether a word of a command that writes the files it names leads to a guarded file. `HEAD` and
/// `config` alone may be a revision or a subcommand, so they count only in a folder.
pub(crate) fn is_guarded_word_as(word: &str, version: u32) -> bool {
    !auto_run_since_9::is_repository_file(&word.to_lowercase()) && is_guarded_as(word, version)
}

/// Returns whether a normalized glob may stand for such a file, or for one of instructions. Its stars are
/// control characters, and none of them stands for a dot at the beginning of a name.
pub(crate) fn may_be_guarded(glob: &str) -> bool {
    let glob = glob.to_lowercase();
    let parts: Vec<&str> = glob.split('/').filter(|part| !part.is_empty()).collect();
    let Some((file, above)) = parts.split_last() else {
        return false;
    };
    let lists = [
        FILES,
        FILES_SINCE_7,
        INSTRUCTIONS,
        INSTRUCTIONS_SINCE_7,
        auto_run_since_9::CI_FILES,
        auto_run_since_9::FILES,
        auto_run_since_9::INSTRUCTIONS,
    ];
    let is_file = lists
        .iter()
        .any(|list| list.iter().any(|name| may_be(file, name)));
    let is_hook = above.last().is_some_and(|folder| may_be(folder, "hooks"))
        && auto_run_since_9::HOOKS_OF_GIT
            .iter()
            .any(|name| may_be(file, name));
    let is_below = |folder: &&str| {
        let folder: Vec<&str> = folder.split('/').collect();
        let fits_all = |window: &[&str]| window.iter().zip(&folder).all(|(part, name)| may_be(part, name));
        parts.windows(folder.len()).any(fits_all)
    };
    let folders = [auto_run_since_9::CI_FOLDERS, auto_run_since_9::FOLDERS_WITHIN];
    is_file
        || is_hook
        || folders.iter().any(|folders| folders.iter().any(is_below))
        || above.iter().any(|part| part.ends_with(".git"))
        || (file.ends_with(".md") && file.contains(char::is_control))
}

/// Returns whether a path ends with a folder around one that continuous integration runs: `.github`.
pub(crate) fn is_around_ci(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let mut around = auto_run_since_9::CI_FOLDERS
        .iter()
        .filter_map(|folder| folder.split_once('/'));
    around.any(|(folder, _)| folder == name)
}

/// Returns whether a part of a glob may stand for this name.
fn may_be(part: &str, name: &str) -> bool {
    let pattern: String = literal(part)
        .chars()
        .map(|c| if c.is_control() { '*' } else { c })
        .collect();
    (part.starts_with('.') == name.starts_with('.')) && fits(&pattern, name)
}

/// Returns whether a part of a path begins with a dot and continues with a glob or a variable, so that it may
/// be any hidden name.
pub(crate) fn hides_a_dot(path: &str) -> bool {
    path.split('/')
        .filter_map(|part| part.strip_prefix('.'))
        .any(|rest| rest.contains(|c: char| c.is_control()))
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

    #[test]
    fn a_repository_made_by_hand_is_guarded_since_version_9() {
        for path in [
            "/ws/pkg/HEAD",
            "/ws/pkg/head",
            "/ws/pkg/config",
            "/ws/pkg/config.worktree",
            "/ws/pkg/commondir",
            "/ws/pkg/hooks/post-checkout",
        ] {
            assert!(is_guarded(path), "{path}");
            assert!(!is_guarded_as(path, 8), "{path}");
        }
        for path in [
            "/ws/src/config.rs",
            "/ws/src/config/mod.rs",
            "/ws/config/app.yaml",
            "/ws/config.yaml",
            "/ws/HEAD.md",
            "/ws/src/head.rs",
            "/ws/src/hooks/use_state.ts",
            "/ws/src/objects/x",
            "/ws/refs/x",
        ] {
            assert!(!is_guarded(path), "{path}");
        }
        // `git checkout HEAD -- x` names a revision.
        for (word, is_file) in [
            ("HEAD", false),
            ("config", false),
            ("pkg/HEAD", true),
            ("./config", true),
        ] {
            assert_eq!(is_guarded_word_as(word, RULES_VERSION), is_file, "{word}");
        }
    }

    #[test]
    fn files_that_tools_run_by_themselves_are_guarded_since_version_9() {
        for path in [
            "/ws/.dir-locals-2.el",
            "/ws/.pylintrc",
            "/ws/sub/devcontainer.json",
            "/ws/.yarn/releases/yarn-4.0.0.cjs",
            "/ws/sub/.yarn/plugins/a/b.cjs",
            "/ws/sitecustomize.py",
            "/ws/lib/usercustomize.py",
            "/ws/lib/a.pth",
            "/ws/.hgrc",
            "/ws/.hg/hgrc",
            "/ws/a.sublime-project",
            "/ws/.openhands/setup.sh",
            "/ws/.github/agents/a.md",
            "/ws/.github/prompts/a.prompt.md",
            "/ws/.github/chatmodes/a.chatmode.md",
            "/ws/.github/hooks/a.json",
            "/ws/.github/instructions/sub/a.md",
        ] {
            assert!(is_guarded(path), "{path}");
            assert_eq!(is_guarded_as(path, 8), path.contains("/.hg/"), "{path}");
        }
        for path in [
            "/ws/.github/CODEOWNERS",
            "/ws/.github/ISSUE_TEMPLATE/a.md",
            "/ws/agents/a.md",
            "/ws/prompts/a.md",
            "/ws/.yarn/versions/a.yml",
            "/ws/src/customize.py",
            "/ws/docs/a.pth.md",
            "/ws/src/openhands/a.rs",
        ] {
            assert!(!is_guarded(path), "{path}");
        }
    }

    #[test]
    fn more_files_are_instructions_since_version_9() {
        for path in [
            "/ws/.openhands_instructions",
            "/ws/.roorules",
            "/ws/.roorules-code",
            "/ws/.clinerules-test",
            "/ws/.continuerules",
            "/ws/.augment-guidelines",
            "/ws/CONVENTIONS.md",
            "/ws/sub/replit.md",
        ] {
            assert!(is_instructions(path), "{path}");
            assert!(!is_instructions_as(path, 8), "{path}");
        }
        for path in ["/ws/docs/convention.md", "/ws/replit.rs", "/ws/roorules.md"] {
            assert!(!is_instructions(path), "{path}");
        }
    }
}
