//! Files that programs run, or read to know what to run, without anybody naming them.
//!
//! An agent that may write `.git/config` has the next `git status` run anything, and one that may write
//! `AGENTS.md` tells the next agent what to do. So no pattern covers a change of such a file, only a rule
//! that names the file itself. Reading them is not restricted here; files with secrets are in
//! [`crate::secrets`].
//!
//! Names are compared in lower case, anywhere in a path. Each list belongs to a version of the rules: a
//! session that keeps to an earlier version does not see what later ones added.

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
    // Of agents.
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
    // Of editors, shells and desktops.
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

/// Files that agents take for instructions without being told, in any folder. They count from version 3 of the rules on.
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

/// Files of instructions that count from version 7 of the rules on, beside names that end with
/// `.instructions.md`.
const INSTRUCTIONS_SINCE_7: &[&str] = &["agent.md", "qwen.md", "crush.md", "warp.md", ".rules"];

/// Whether a path leads to a file that agents take for instructions, by the latest version of the rules.
pub fn is_instructions(path: &str) -> bool {
    is_instructions_as(path, RULES_VERSION)
}

/// Whether a path leads to a file that agents take for instructions, by rules of this version; none does
/// before version 3.
pub(crate) fn is_instructions_as(path: &str, version: u32) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let file = file.as_str();
    let since_7 = || INSTRUCTIONS_SINCE_7.contains(&file) || file.ends_with(".instructions.md");
    (version >= since::INSTRUCTIONS_ARE_GUARDED && INSTRUCTIONS.contains(&file))
        || (version >= since::MORE_GUARDED_FILES && since_7())
}

/// Whether a normal path leads to such a file. Upper and lower case are the same: on some systems they are.
///
/// ```
/// use agentx_agent::guarded_files::is_guarded;
/// assert!(is_guarded("/ws/.git/config"));
/// assert!(is_guarded("/ws/sub/.envrc"));
/// assert!(!is_guarded("/ws/src/git/config"));
/// ```
pub fn is_guarded(path: &str) -> bool {
    is_guarded_as(path, RULES_VERSION)
}

/// Whether a normal path is guarded by rules of this version; none is before version 1.
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
    is_file(file) || is_folder(file) || parts.any(is_folder)
}
