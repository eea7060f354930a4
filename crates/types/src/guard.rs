//! The files that an agent's calls are kept from by default, and the programs that Git would run. They are
//! part of an agent's configuration, so a session keeps the list with which it began.

use serde::{Deserialize, Serialize};

/// Files that calls may not touch by default, as patterns like those of a rule's path, without regard to
/// case. They are absolute, or begin with `~/`, which means any home directory that a call names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guard {
    /// Files that may hold secrets: a person is asked, unless a rule allows it that names such a file.
    pub secrets: Vec<String>,
    /// Files that hold none although a pattern of `secrets` fits them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// The program's own files, such as sessions and keys: refused regardless of the rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// Programs that Git runs because the workspace's repository configures them (`filter.lfs.clean`,
    /// `hooks/pre-commit`) and that the person has not accepted: while there are any, a rule with a star
    /// allows no command of Git.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git: Vec<String>,
    /// The remotes of the workspace's repository; absent if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_remotes: Option<GitRemotes>,
    /// Whether the person made the workspace read-only: the rules refuse every tool that does more than read,
    /// and give this as the reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Whether a command line that certainly only reads the workspace runs without a question: the person
    /// trusts the folder, and their settings do not ask about such commands. Not in the session of a member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reading_commands: bool,
    /// The home directory of the person, absolute, as it is written and without links: `~/` in the path of a
    /// rule means it, too. Empty if nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub homes: Vec<String>,
}

/// The remotes of the workspace's repository: no star of a rule matches one that may be a path, because Git
/// runs the hooks of the repository there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GitRemotes {
    /// The names of those that lead to other machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Whether there may be others, so that a command without a name may reach one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_paths: bool,
}
