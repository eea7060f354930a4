//! Files that programs run, or read to know what to run, without anybody naming them: who may write `.git/config` has the next
//! `git status` run anything. No pattern covers a change of one, only a rule that names the file itself.

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

/// Files, in any folder.
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

/// Whether a path leads to a file that agents take for instructions.
pub fn is_instructions(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    INSTRUCTIONS.contains(&file.as_str())
}

/// Whether a normal path leads to such a file. Upper and lower case are the same: on some systems they are.
///
/// ```
/// use agentx_agent::guarded::is_guarded;
/// assert!(is_guarded("/ws/.git/config"));
/// assert!(is_guarded("/ws/sub/.envrc"));
/// assert!(!is_guarded("/ws/src/git/config"));
/// ```
pub fn is_guarded(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut parts = path.split('/');
    let file = parts.next_back().unwrap_or_default();
    FILES.contains(&file) || FOLDERS.contains(&file) || parts.any(|folder| FOLDERS.contains(&folder))
}
