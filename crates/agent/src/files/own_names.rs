//! Names that lead to the program's own files by a part that the line does not show: `cat
//! ${HOME:-x}/.config/agentx/config.yaml`, or code in another language with such a path in it.
//!
//! The folder of the program is recognized by the end of its path, whatever stands before it. The ends are
//! made from the patterns of the guard, so they follow the configuration.
//!
//! | name | end of a guarded path | counts |
//! | --- | --- | --- |
//! | `$X/.config/agentx/x`, `~1/.config/agentx` | `.config/agentx` | yes: two names of it |
//! | `$X/.config/*/x` | `.config/agentx` | yes: a hidden name, and a glob for the other |
//! | `$X/agentx/x` | `.config/agentx` | no: one name |
//! | `src/share/agentx/x` | `share/agentx` | no: the place is known |
//! | `open(home + "/.config/agentx")` | `.config/agentx` | yes: in code |

use crate::commands::command_analysis::{ANYTHING, CommandAnalysis, STAR, names_meet};
use crate::files::prepared_guard::{Guarded, PreparedGuard, shown};
use crate::pattern::normalize;

/// Maximum number of characters between two names of a path in code: `"a", "b"`.
const LONGEST_GAP: usize = 4;

/// A name that no file of the program has.
const NO_NAME: &str = "\u{e000}";

/// Returns the first name of a line that leads to the program's own files although its beginning is not
/// known.
pub(crate) fn own_name(
    prepared: &PreparedGuard<'_>,
    reading: &CommandAnalysis,
    version: u32,
) -> Option<String> {
    let ends = prepared.own_ends();
    let mut names = reading
        .globs
        .iter()
        .chain(&reading.spoken)
        .chain(&reading.joined)
        .chain(&reading.paths);
    let is_own = |name: &&String| ends.iter().any(|end| leads_to(end, name));
    let by_glob = |name: &&String| may_be_own(name, prepared, version);
    let mut spoken = reading.spoken.iter();
    let named = names.find(is_own).or_else(|| spoken.find(by_glob));
    let in_code = || {
        reading
            .code
            .iter()
            .find_map(|text| ends.iter().find_map(|end| end_in_code(end, text)))
    };
    named.map(|name| shown(name)).or_else(in_code)
}

/// Returns whether a name that no command opens by itself may be one of the program's own files. If a folder
/// of them lies in the workspace, an unknown beginning may stand for it, and then every name would be one
/// (`sh x.sh`, `echo "$i/10"`): so the known parts have to fit a part of the path, or name a file from the
/// workspace on.
fn may_be_own(name: &str, prepared: &PreparedGuard<'_>, version: u32) -> bool {
    let fits = |name: &str| prepared.reason_of_glob(name, version) == Some(Guarded::Own);
    if !name.starts_with(ANYTHING) || name.contains("..") {
        return fits(name);
    }
    let known = name.trim_start_matches([ANYTHING, '/']);
    let is_here = || match known {
        "" => false,
        _ if known.contains([STAR, ANYTHING]) => fits(known),
        _ => prepared.reason(known) == Some(Guarded::Own),
    };
    (fits(name) && !fits(&without_known_parts(name))) || is_here()
}

/// Returns a name with another one in place of each known part.
fn without_known_parts(name: &str) -> String {
    let parts = name.split('/').map(|part| match part {
        "" | "." | ".." => part,
        _ if part.contains([STAR, ANYTHING]) => part,
        _ => NO_NAME,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns whether a name whose beginning is unknown has the last names of a path in it.
fn leads_to(end: &[String], name: &str) -> bool {
    let Some(unknown) = first_unknown(name) else {
        return false;
    };
    let name = normalize("/", &name.to_lowercase());
    let parts: Vec<&str> = name.split('/').skip(1).collect();
    (unknown.min(parts.len())..parts.len()).any(|last| ends_at(end, &parts[..=last]))
}

/// Returns the position of the first unknown part of a normal name; `None` if the whole name is known.
///
/// Parts that lead up from an unknown folder, or out of a home, make the place of the whole name unknown.
fn first_unknown(name: &str) -> Option<usize> {
    let behind_home = ["~/", "$HOME/", "${HOME}/"]
        .iter()
        .find_map(|home| name.strip_prefix(home));
    let goes_up = |text: &str| text.split('/').any(|part| part == "..");
    let first = name.find(ANYTHING);
    match (first, behind_home) {
        (Some(at), _) if goes_up(&name[at..]) => Some(0),
        (Some(at), _) => {
            let (folders, _) = name[..at].rsplit_once('/').unwrap_or_default();
            let before = normalize("/", folders);
            Some(before.split('/').filter(|part| !part.is_empty()).count())
        }
        (None, Some(behind)) if goes_up(behind) => Some(0),
        (None, _) => None,
    }
}

/// Returns whether these parts end as the path does: by two names, or by a hidden name and globs.
fn ends_at(end: &[String], parts: &[&str]) -> bool {
    let pairs = end.iter().rev().zip(parts.iter().rev());
    let is_known = |part: &str| !part.contains([STAR, ANYTHING]);
    let has_letters = |part: &str| part.chars().any(|c| c != STAR && c != ANYTHING);
    let (mut exact, mut named) = (false, 0);
    for (at, (wanted, part)) in pairs.enumerate() {
        if !names_meet(wanted, part) || (!has_letters(part) && part.chars().all(|c| c == ANYTHING)) {
            return false;
        }
        exact |= is_known(part);
        named += usize::from(has_letters(part));
        let is_hidden = at > 0 && part.starts_with('.') && has_letters(&part[1..]);
        if is_hidden || (at > 0 && exact && named > 1) {
            return true;
        }
        if at > 1 && named == 0 {
            return false;
        }
    }
    false
}

/// Returns the end of a path as it stands in code, with or without quotes and other signs between its names.
fn end_in_code(end: &[String], text: &str) -> Option<String> {
    let plain: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '\'' | '"' | '\\'))
        .collect();
    let is_name = |c: char| c.is_alphanumeric() || "._-~+".contains(c);
    // Each name, with the signs before it.
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut rest = plain.as_str();
    while let Some(start) = rest.find(is_name) {
        let (gap, behind) = rest.split_at(start);
        let length = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
        let (name, after) = behind.split_at(length);
        names.push((gap, name));
        rest = after;
    }
    let two = &end[end.len().saturating_sub(2)..];
    let hidden = end.iter().rposition(|part| part.starts_with('.'));
    let from_hidden = hidden.map(|at| &end[at..]).filter(|part| part.len() > 1);
    let is_slash: fn(&str) -> bool = |gap| gap == "/";
    let is_short: fn(&str) -> bool = |gap| gap.len() <= LONGEST_GAP && !gap.contains('\n');
    let has_two = names
        .windows(2)
        .any(|window| stand_in_order(two, window, is_slash));
    let has_hidden = || {
        from_hidden.is_some_and(|wanted| {
            names
                .windows(wanted.len())
                .any(|window| stand_in_order(wanted, window, is_short))
        })
    };
    (has_two || has_hidden()).then(|| two.join("/"))
}

/// Returns whether names in code are these, in this order, with signs between them that join them.
fn stand_in_order(wanted: &[String], names: &[(&str, &str)], joins: fn(&str) -> bool) -> bool {
    let mut pairs = wanted.iter().zip(names).enumerate();
    pairs.all(|(at, (wanted, (gap, name)))| names_meet(wanted, name) && (at == 0 || joins(gap)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_by_its_end() {
        let end: Vec<String> = ["home", "me", ".local", "share", "agentx"]
            .map(str::to_owned)
            .into();
        for (name, expected) in [
            ("$/.local/share/agentx/identity", true),
            ("$/share/agentx", true),
            ("$al/share/agentx/x", true),
            ("$/../../.local/share/agentx/x", true),
            ("~/../me/.local/share/agentx/x", true),
            ("../$/share/agentx/x", true),
            ("$/.local/share/*/x", true),
            ("$/.local/*/agentx/x", true),
            ("$/agentx/x", false),
            ("$/$/agentx/x", false),
            ("$/share/*/x", false),
            ("$/*/*/x", false),
            ("src/share/agentx/$", false),
            ("src/share/agentx/x", false),
            ("~/share/agentx/x", false),
        ] {
            let marked = name.replace('$', "\0").replace('*', "\u{1}");
            assert_eq!(leads_to(&end, &marked), expected, "{name}");
        }
    }

    #[test]
    fn a_path_is_known_in_code() {
        let end: Vec<String> = ["me", ".local", "share", "agentx"].map(str::to_owned).into();
        for (text, expected) in [
            ("open(home + \"/.local/share/agentx/identity\")", true),
            ("[\"..\", \".local\", \"share\", \"agentx\"].join(\"/\")", true),
            ("s/.*/cat ..\\/.local\\/share\\/agentx\\/identity/e", true),
            ("home() / '.local' / 'share' / 'agentx'", true),
            ("they share agentx sessions", false),
            ("open('crates/agentx/src/main.rs')", false),
        ] {
            assert_eq!(end_in_code(&end, text).is_some(), expected, "{text}");
        }
    }
}
