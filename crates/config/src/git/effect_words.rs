//! The words in which a person reads what Git would do in a repository: each kind of effect has its own,
//! because a setting that shows a file or sends a request runs no program.

use super::names;
use super::scripts;
use super::settings::{Setting, UNREADABLE};

/// The name of a repository whose contents are elsewhere.
pub(super) const ELSEWHERE: &str = ".git elsewhere";
/// The end of the name of a part that could not be read.
const CANNOT_BE_READ: &str = " that cannot be read";

/// The kinds of effects that a repository has on Git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GitEffectKind {
    /// Git runs a program or a hook.
    Program,
    /// Git runs the hooks in a folder, or copies them from there.
    HookFolder,
    /// A name stands for another command of Git.
    Alias,
    /// Words are added to a command line.
    Words,
    /// The contents that Git shows are those of another repository.
    OtherRepository,
    /// Git takes the files of another folder for its working tree.
    OtherFolder,
    /// Git shows parts of a file.
    File,
    /// Git reads more settings from a file.
    MoreSettings,
    /// Git sends requests or credentials elsewhere, or trusts a server otherwise.
    Requests,
    /// Any command may fetch contents from a server.
    Fetches,
    /// Git shows other contents than by default.
    Contents,
    /// Git writes files into a folder.
    Output,
    /// A part of the repository could not be read.
    Unread,
    /// Not all parts of the repository were checked.
    Unchecked,
}

impl GitEffectKind {
    /// Returns the kind of a setting that [`names::matters`].
    pub(super) fn of(setting: &Setting) -> Self {
        let (section, last, name) = (setting.section(), setting.last(), setting.name.as_str());
        match last {
            "hookspath" | "templatedir" => Self::HookFolder,
            _ if section == "alias" && !setting.value.starts_with('!') => Self::Alias,
            _ if last.ends_with("options") => Self::Words,
            _ if names::runs(setting) => Self::Program,
            _ if setting.is_include() => Self::MoreSettings,
            "worktree" if section == "core" => Self::OtherFolder,
            "promisor" | "partialclone" | "acceptfromserver" => Self::Fetches,
            _ if names::is_sending(section, last) => Self::Requests,
            _ if names::names_file(setting) || name == "help.htmlpath" => Self::File,
            _ if names::shows_other_content(name, &setting.value) => Self::Contents,
            "outputdirectory" => Self::Output,
            _ if name == UNREADABLE => Self::Unread,
            _ => Self::Requests,
        }
    }

    fn lead(self) -> &'static str {
        match self {
            Self::Program => "Git runs this program",
            Self::HookFolder => "Git runs the hooks in this folder",
            Self::Alias => "this name stands for another command of Git",
            Self::Words => "Git adds these words to a command",
            Self::OtherRepository => "Git shows the contents of another repository",
            Self::OtherFolder => "Git shows and changes the files of another folder",
            Self::File => "Git shows parts of this file",
            Self::MoreSettings => "Git reads further settings from this file",
            Self::Requests => "Git sends requests or credentials by this setting",
            Self::Fetches => "any command of Git may fetch contents from a server",
            Self::Contents => "Git shows other contents than by default",
            Self::Output => "Git writes files into this folder",
            Self::Unread => "AgentX cannot read this, and Git may run what it names",
            Self::Unchecked => "AgentX checks only a part, and Git may run what the rest names",
        }
    }

    /// Returns a finding in words, with the first digits of each hash.
    pub(super) fn sentence(self, name: &str, rest: &str) -> String {
        let rest = scripts::with_short_hash(rest);
        let what = match self {
            Self::OtherRepository | Self::Fetches if name.ends_with(ELSEWHERE) => {
                let place = name.strip_suffix(ELSEWHERE).unwrap_or(name);
                let path = rest.strip_prefix(" = ").unwrap_or(rest.trim_start());
                format!("{place}{path}")
            }
            Self::Unread => {
                let part = name.strip_suffix(CANNOT_BE_READ).unwrap_or(name);
                format!("{part}{}", rest.replacen(" = ", ": ", 1))
            }
            _ => format!("{name}{rest}"),
        };
        format!("{}: {what}", self.lead())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::git::GitPrograms;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }

    /// The addresses and paths are made up.
    #[test]
    fn each_kind_of_effect_has_its_own_words() {
        for (settings, said) in [
            (
                "[filter \"x\"]\nclean = cat",
                "Git runs this program: filter.x.clean = cat",
            ),
            (
                "[core]\nhooksPath = /no/hooks",
                "Git runs the hooks in this folder: core.hookspath = /no/hooks",
            ),
            (
                "[alias]\ntidy = clean",
                "this name stands for another command of Git: alias.tidy = clean",
            ),
            (
                "[core]\nworktree = /no/alice",
                "Git shows and changes the files of another folder: core.worktree = /no/alice",
            ),
            (
                "[blame]\nignoreRevsFile = /no/key",
                "Git shows parts of this file: blame.ignorerevsfile = /no/key",
            ),
            (
                "[include]\npath = /no/more",
                "Git reads further settings from this file: include.path = /no/more",
            ),
            (
                "[http]\nproxy = a.example",
                "Git sends requests or credentials by this setting: http.proxy = a.example",
            ),
            (
                "[remote \"o\"]\nurl = https://a.example\npromisor = true",
                "any command of Git may fetch contents from a server: remote.o.promisor = true, from \
                 https://a.example",
            ),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            write(&folder.path().join(".git/config"), settings);
            assert_eq!(GitPrograms::of(folder.path()).effects(), [said]);
        }
    }

    #[test]
    fn another_repository_and_an_unreadable_index_are_not_called_programs() {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("own/.git/index"), "DIRC and no more");
        let effects = GitPrograms::of(&folder.path().join("own")).effects().concat();
        let said = "AgentX cannot read this, and Git may run what it names: index: ";
        assert!(effects.starts_with(said), "{effects}");

        let other = folder.path().join("other/.git");
        write(&other.join("config"), "");
        write(
            &folder.path().join("ws/.git"),
            &format!("gitdir: {}\n", other.display()),
        );
        let effects = GitPrograms::of(&folder.path().join("ws")).effects();
        let other = std::fs::canonicalize(&other).expect("it is there");
        let said = format!(
            "Git shows the contents of another repository: {}",
            other.display()
        );
        assert_eq!(effects, [said]);
    }

    /// A promise to fetch from one server is not a promise to fetch from the next one.
    #[test]
    fn another_address_of_a_promisor_is_another_text_to_accept() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |address: &str| {
            let settings = format!("[remote \"o\"]\nurl = {address}\npromisor = true\n");
            write(&folder.path().join(".git/config"), &settings);
            GitPrograms::of(folder.path()).text()
        };
        assert_ne!(of("https://a.example/x"), of("https://b.example/x"));
        let hidden = of("https://me:secret@a.example/x");
        assert!(
            !hidden.contains("secret") && hidden.contains("@a.example/x"),
            "{hidden}"
        );
    }
}
