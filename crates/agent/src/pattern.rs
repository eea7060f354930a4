//! Patterns of approval rules.
//!
//! | in a pattern | of command lines and names | of paths |
//! | --- | --- | --- |
//! | `*` | any run of characters | any run of characters but `/` |
//! | `**` | the same as `*` | any number of segments |
//! | `\*` | a star itself | a star itself |
//! | a blank and `*` at the end | also nothing at all | – |
//!
//! Only text is compared: no file is looked up, so it does not matter whether a path exists or leads
//! elsewhere.

/// Returns whether `text` fits `pattern`, in which `*` stands for any run of characters. A pattern that ends
/// in ` *` also fits without the blank: `git status *` fits `git status`.
///
/// ```
/// use agentx_agent::pattern::fits;
/// assert!(fits("git *", "git status"));
/// assert!(fits("git *", "git"));
/// assert!(!fits("git *", "gitk"));
/// ```
pub fn fits(pattern: &str, text: &str) -> bool {
    glob(pattern.as_bytes(), text.as_bytes())
        || pattern
            .strip_suffix(" *")
            .is_some_and(|stem| glob(stem.as_bytes(), text.as_bytes()))
}

/// Returns whether a name fits `pattern`, in which `*` stands for any run of characters. A blank before a
/// star stands for itself.
pub(crate) fn fits_name(pattern: &str, name: &str) -> bool {
    glob(pattern.as_bytes(), name.as_bytes())
}

/// The pattern that fits `text` and nothing else.
///
/// ```
/// use agentx_agent::pattern::{fits, literal};
/// assert_eq!(literal("rm build/*"), r"rm build/\*");
/// assert!(fits(&literal("rm build/*"), "rm build/*"));
/// assert!(!fits(&literal("rm build/*"), "rm build/../src"));
/// ```
pub fn literal(text: &str) -> String {
    text.replace('*', "\\*")
}

/// Returns whether the absolute, normal `path` fits `pattern`. `*` stops at `/`, `**` does not; a relative
/// pattern starts at `workspace`.
///
/// ```
/// use agentx_agent::pattern::fits_path;
/// assert!(fits_path("src/**", "/ws/src/a/b.rs", "/ws"));
/// assert!(fits_path("**", "/ws/a", "/ws"));
/// assert!(!fits_path("*.rs", "/ws/src/a.rs", "/ws"));
/// ```
pub fn fits_path(pattern: &str, path: &str, workspace: &str) -> bool {
    if pattern.starts_with('/') {
        return fits_absolute(pattern, path);
    }
    let absolute = format!("{}/{pattern}", literal(workspace.trim_end_matches('/')));
    fits_absolute(&absolute, path)
}

/// Returns whether the absolute, normal `path` fits `pattern`, which is absolute too.
pub(crate) fn fits_absolute(pattern: &str, path: &str) -> bool {
    path_glob(pattern.as_bytes(), path.as_bytes())
}

/// Resolves `path` against `workspace` as text: `.`, `..` and doubled slashes go.
///
/// ```
/// use agentx_agent::pattern::normalize;
/// assert_eq!(normalize("/ws", "a/../b//c"), "/ws/b/c");
/// assert_eq!(normalize("/ws", "../../x"), "/x");
/// ```
pub fn normalize(workspace: &str, path: &str) -> String {
    let before = if path.starts_with('/') { "" } else { workspace };
    let mut normal = String::with_capacity(before.len() + path.len() + 1);
    for segment in before.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." => normal.truncate(normal.rfind('/').unwrap_or(0)),
            name => {
                normal.push('/');
                normal.push_str(name);
            }
        }
    }
    if normal.is_empty() {
        normal.push('/');
    }
    normal
}

/// Returns whether the normalized `path` is `directory` or below it.
///
/// It compares text, so both have to be absolute and normal (see [`normalize`]).
///
/// ```
/// use agentx_agent::pattern::is_within;
/// assert!(is_within("/ws", "/ws") && is_within("/ws/", "/ws/a/b"));
/// assert!(!is_within("/ws", "/ws2/a") && !is_within("/ws", "/"));
/// ```
pub fn is_within(directory: &str, path: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path == directory
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// Greedy matching with one point to fall back to: linear in practice, never exponential.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut fallback: Option<(usize, usize)> = None;
    while t < text.len() {
        let starred = pattern[p..].starts_with(br"\*");
        let wanted = pattern.get(p + usize::from(starred));
        if !starred && wanted == Some(&b'*') {
            fallback = Some((p, t));
            p += 1;
        } else if wanted == Some(&text[t]) {
            p += 1 + usize::from(starred);
            t += 1;
        } else if let Some((star, from)) = fallback {
            fallback = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Matches segment by segment; `**` stands for any number of segments. Like [`glob`], it has one point to
/// fall back to.
fn path_glob(pattern: &[u8], path: &[u8]) -> bool {
    let segments = |text| <[u8]>::split(text, |byte: &u8| *byte == b'/');
    let (mut wanted, mut rest) = (segments(pattern), segments(path));
    // The pattern after the last `**`, and the segments on which it has not been tried yet.
    let mut fallback = None;
    while let Some(segment) = rest.clone().next() {
        let mut behind = wanted.clone();
        match behind.next() {
            Some(b"**") => {
                wanted = behind;
                fallback = Some((wanted.clone(), rest.clone()));
            }
            Some(pattern) if glob(pattern, segment) => {
                wanted = behind;
                rest.next();
            }
            _ => {
                let Some((after, from)) = &mut fallback else {
                    return false;
                };
                from.next();
                (wanted, rest) = (after.clone(), from.clone());
            }
        }
    }
    wanted.all(|segment| segment == b"**")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let cases = [
            ("*", "", true),
            ("*", "rm -rf /", true),
            ("ls", "ls", true),
            ("ls", "lsblk", false),
            ("ls *", "ls", true),
            ("*.rs", "a.rs", true),
            ("a*b*c", "a__b__b__c", true),
            ("a*b*c", "a__c__b", false),
            ("你*", "你好", true),
            (r"rm \*", "rm *", true),
            (r"rm \*", "rm -rf /", false),
            (r"*\*", "a*b*", true),
            (r"*\*", "a*b", false),
            (r"\\*", r"\*", true),
            (r"\\*", r"\x", false),
            (r"a\b", r"a\b", true),
            (r"\*", "", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(fits(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn normal_paths() {
        for (workspace, path, normal) in [
            ("/ws", "", "/ws"),
            ("/ws/", "./a/.//b/", "/ws/a/b"),
            ("/ws/sub", "../../../a", "/a"),
            ("/ws", "..", "/"),
            ("/ws", "/", "/"),
            ("/ws", "/../a/../é", "/é"),
            ("", "a/..", "/"),
            ("/ws", "a/...", "/ws/a/..."),
        ] {
            assert_eq!(normalize(workspace, path), normal, "{workspace:?} {path:?}");
        }
    }

    #[test]
    fn paths() {
        let cases = [
            ("**", "/ws/a/b", true),
            ("**", "/etc/passwd", false),
            ("/etc/*", "/etc/passwd", true),
            ("/etc/*", "/etc/a/b", false),
            ("src/**/x.rs", "/ws/src/x.rs", true),
            ("src/**/x.rs", "/ws/src/a/b/x.rs", true),
            ("src/*.rs", "/ws/src/a/x.rs", false),
            (r"a\*", "/ws/a*", true),
            (r"a\*", "/ws/ab", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(fits_path(pattern, path, "/ws"), expected, "{pattern:?} {path:?}");
        }
    }

    #[test]
    fn many_stars_stay_fast() {
        let pattern = "*a".repeat(2_000);
        let text = "a".repeat(1_999) + &"b".repeat(20_000);
        assert!(!fits(&pattern, &text));
    }
}
