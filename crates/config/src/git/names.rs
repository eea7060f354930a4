//! The relevant settings of a repository. With them, Git or a program that keeps its settings in Git's files
//! runs something, shows a file, or sends a request or credentials to another address than the one that a
//! person sees.
//!
//! Git's own settings are those of <https://git-scm.com/docs/git-config>; those of Git LFS are in its
//! `docs/man/git-lfs-config.adoc`. Settings that Git reads from a person's files alone (`trace2.*`, `safe.*`)
//! are left out.

use super::settings::{Setting, UNREADABLE};
use crate::digest::short_digest;

/// Last names of settings that hold a command, with any names before them.
const COMMANDS: &[&str] = &[
    "askpass",
    "authorsprog",
    "clean",
    "difffilter",
    "driver",
    "editor",
    "external",
    "gitproxy",
    "helper",
    "hookspath",
    "layout",
    "process",
    "program",
    "receivepack",
    "smtpserver",
    "smudge",
    "templatedir",
    "textconv",
    "tunnel",
    "uploadpack",
    "vcs",
    "virtualfilesystem",
];

/// Ends of last names of settings that hold a command, or words for the line of one.
const COMMAND_ENDS: &[&str] = &["cmd", "command", "hook", "options"];

/// Commands of Git for which an alias may stand without a word about it.
const HARMLESS_ALIASES: &[&str] = &["status", "log", "diff", "show"];

/// Sections whose `path` is that of a program.
const TOOLS: &[&str] = &["browser", "difftool", "guitool", "man", "mergetool"];

/// Sections that say where requests go, how a server is trusted, or who signs in, each with the last names
/// that do none of it.
const SENDING: &[(&str, &[&str])] = &[
    ("credential", &["usehttppath", "username"]),
    ("git-p4", &[]),
    ("gvfs", &[]),
    (
        "http",
        &[
            "lowspeedlimit",
            "lowspeedtime",
            "maxrequests",
            "minsessions",
            "noepsv",
            "postbuffer",
            "useragent",
            "version",
        ],
    ),
    ("imap", &[]),
    ("instaweb", &[]),
    (
        "lfs",
        &[
            "access",
            "allowincompletepush",
            "concurrenttransfers",
            "fetchexclude",
            "fetchinclude",
            "locksverify",
            "repositoryformatversion",
            "skipdownloaderrors",
        ],
    ),
    ("protocol", &["version"]),
    ("sendemail", &[]),
    ("url", &[]),
];

/// Last names within `remote.*` that send to another address than its `url`, or let any command fetch missing
/// objects.
const REMOTES: &[&str] = &[
    "lfspushurl",
    "lfsurl",
    "promisor",
    "proxy",
    "proxyauthmethod",
    "pushurl",
];

/// Last names that may hold the name of a remote, or an address in its place.
const NAME_OF_REMOTE: &[&str] = &["pushdefault", "pushremote", "remote"];

/// Last names whose value is a credential.
const SECRETS: &[&str] = &["extraheader", "pass", "password", "smtppass", "token"];

/// Maximum number of addresses of a remote to show.
const MOST_ADDRESSES: usize = 5;

/// Replaces a password or token that is left out.
const LEFT_OUT: &str = "***";

/// Returns whether this setting makes Git run a program, show a file, write into another folder, or send data
/// to another address.
pub(super) fn matters(setting: &Setting) -> bool {
    let (name, value) = (setting.name.as_str(), setting.value.as_str());
    let (section, last) = (setting.section(), setting.last());
    name == UNREADABLE
        || runs(setting)
        || names_file(setting)
        || setting.is_include()
        || is_sending(section, last)
        || (section == "remote" && REMOTES.contains(&last))
        || (matches!(section, "branch" | "remote") && NAME_OF_REMOTE.contains(&last) && is_address(value))
        || (section == "svn-remote" && matches!(last, "commiturl" | "pushurl"))
        || last.ends_with("uri")
        || shows_other_content(name, value)
        // `git format-patch` writes there.
        || name == "format.outputdirectory"
        // In such a repository, any command fetches missing objects, from an address that a server may
        // choose.
        || matches!(
            name,
            "extensions.partialclone" | "help.htmlpath" | "promisor.acceptfromserver"
        )
}

/// Returns whether a setting holds a command, or words that become a part of one.
pub(super) fn runs(setting: &Setting) -> bool {
    let (section, last) = (setting.section(), setting.last());
    let value = setting.value.as_str();
    COMMANDS.contains(&last)
        || COMMAND_ENDS.iter().any(|end| last.ends_with(end))
        || (TOOLS.contains(&section) && last == "path")
        // The name of a tool is that of a script that Git reads, so a path leads to another one.
        || (matches!(last, "tool" | "guitool") && value.contains('/'))
        || (section == "submodule" && value.starts_with('!'))
        // An alias may have options that run a program, or its command may do more than its name says.
        || (section == "alias" && !HARMLESS_ALIASES.contains(&value))
        || setting.name.contains("ext::")
        || (matches!(section, "remote" | "submodule" | "svn-remote") && uses_helper(value))
}

pub(super) fn is_sending(section: &str, last: &str) -> bool {
    SENDING
        .iter()
        .any(|(sending, harmless)| *sending == section && !harmless.contains(&last))
}

/// Returns whether a setting names a file of which Git shows parts in its output or its errors.
pub(super) fn names_file(setting: &Setting) -> bool {
    let last = setting.last();
    setting.name == "commit.template" || last == "skiplist" || last.ends_with("file")
}

/// Returns whether a setting makes Git show the files of submodules in a diff, or read a short hash as
/// another object than the commit that it names by default.
pub(super) fn shows_other_content(name: &str, value: &str) -> bool {
    (name == "diff.submodule" && value == "diff") || name == "core.disambiguate"
}

/// Returns whether this is an address, and not the name of a remote.
fn is_address(value: &str) -> bool {
    value.contains([':', '/'])
}

/// Returns whether an address names a program that knows how to fetch it: `ext::sh`.
fn uses_helper(address: &str) -> bool {
    let scheme = address.split_once("::").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Returns whether a setting contains credentials: `https://me:token@host/x`, `http.extraHeader`.
pub(super) fn holds_password(setting: &Setting) -> bool {
    is_secret(setting) || without_passwords(setting).is_some()
}

/// Returns the addresses of a remote without passwords, for a setting that lets commands fetch from it; none
/// for any other setting.
pub(super) fn addresses_of_remote(setting: &Setting, all: &[Setting]) -> Vec<String> {
    let named = match setting.name.as_str() {
        "extensions.partialclone" => Some(setting.value.as_str()),
        name => name
            .strip_prefix("remote.")
            .and_then(|rest| rest.strip_suffix(".promisor")),
    };
    let Some(remote) = named else { return Vec::new() };
    let url = format!("remote.{remote}.url");
    let urls = all.iter().filter(|other| other.name == url);
    urls.map(|url| shown(url).1).take(MOST_ADDRESSES).collect()
}

/// Returns the name and the value of a setting for showing and storing. Credentials are replaced by a hash in
/// the value, so that a change is noticed, and are left out of the name.
pub(super) fn shown(setting: &Setting) -> (String, String) {
    let (name, value) =
        without_passwords(setting).unwrap_or_else(|| (setting.name.clone(), setting.value.clone()));
    if is_secret(setting) {
        return (name, format!("{LEFT_OUT} ({})", short_digest(&setting.value)));
    }
    if name == setting.name && value == setting.value {
        (name, value)
    } else {
        let whole = format!("{}={}", setting.name, setting.value);
        (name, format!("{value} ({LEFT_OUT}: {})", short_digest(&whole)))
    }
}

fn is_secret(setting: &Setting) -> bool {
    SECRETS.contains(&setting.last())
}

/// Returns the name and the value without the part before the `@` of an address; `None` if there is no such
/// part.
fn without_passwords(setting: &Setting) -> Option<(String, String)> {
    let name = without_sign_in(&setting.name);
    let value = if setting.value.contains("://") || !setting.last().ends_with("proxy") {
        without_sign_in(&setting.value)
    } else {
        // A proxy needs no scheme.
        setting
            .value
            .rsplit_once('@')
            .map(|(_, host)| format!("{LEFT_OUT}@{host}"))
    };
    if name.is_none() && value.is_none() {
        return None;
    }
    Some((
        name.unwrap_or_else(|| setting.name.clone()),
        value.unwrap_or_else(|| setting.value.clone()),
    ))
}

/// Returns a text without the part before the `@` of its addresses; `None` if there is no such part. The user
/// name of an SSH address is not a secret.
pub(super) fn without_sign_in(text: &str) -> Option<String> {
    let mut pieces = text.split("://");
    let mut before = pieces.next()?;
    let (mut shown, mut is_changed) = (before.to_owned(), false);
    for piece in pieces {
        let end = piece.find('/').unwrap_or(piece.len());
        let (place, rest) = piece.split_at(end);
        shown.push_str("://");
        match place.rsplit_once('@') {
            Some((_, host)) if !before.ends_with("ssh") => {
                shown.push_str(&format!("{LEFT_OUT}@{host}{rest}"));
                is_changed = true;
            }
            _ => shown.push_str(piece),
        }
        before = piece;
    }
    is_changed.then_some(shown)
}
