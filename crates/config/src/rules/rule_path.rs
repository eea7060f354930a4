//! The paths of approval rules in one form, so that a rule means what it says however its path is spelled.
//!
//! Paths of calls are compared in their normal form. A pattern such as `./private/**` would match none of
//! them, and a rule that denies it would deny nothing.

use std::path::Path;

/// Returns the pattern of a path in its normal form: without `.`, doubled slashes and `..`, and with `/**` in
/// the place of a `/` at the end. A pattern that leaves its workspace begins at `base`.
///
/// # Errors
/// Returns the problem if `..` follows a `*`, or leads out of the workspace and there is no `base`.
///
/// ```
/// use agentx_config::rule_path;
/// assert_eq!(rule_path("./private/**", None).unwrap(), "private/**");
/// assert_eq!(rule_path("src/", None).unwrap(), "src/**");
/// assert_eq!(rule_path("../b/*.txt", Some("/home/me/a".as_ref())).unwrap(), "/home/me/b/*.txt");
/// assert!(rule_path("../b", None).is_err());
/// ```
pub fn rule_path(pattern: &str, base: Option<&Path>) -> Result<String, String> {
    if let Some(inside) = normal(pattern)? {
        return Ok(inside);
    }
    let absolute = base
        .and_then(Path::to_str)
        .map(|base| format!("{}/{pattern}", base.replace('*', "\\*")))
        .map(|pattern| normal(&pattern))
        .transpose()?
        .flatten();
    absolute.ok_or_else(|| {
        format!(
            "`{pattern}` leads out of the workspace: write an absolute path, or one that begins with `~/`"
        )
    })
}

/// The normal form; `None` if the pattern leads out of where it begins.
fn normal(pattern: &str) -> Result<Option<String>, String> {
    let is_absolute = pattern.starts_with('/');
    let mut levels: Vec<&str> = Vec::new();
    for level in pattern.split('/') {
        match level {
            "" | "." => {}
            ".." => match levels.pop() {
                Some(last) if last.replace("\\*", "").contains('*') => {
                    return Err(format!("`..` cannot follow `{last}` in `{pattern}`"));
                }
                Some(_) => {}
                None if is_absolute => {}
                None => return Ok(None),
            },
            level => levels.push(level),
        }
    }
    let is_directory = ["/", "/.", "/.."].iter().any(|end| pattern.ends_with(end));
    if levels.is_empty() || (is_directory && levels.last() != Some(&"**")) {
        levels.push("**");
    }
    let start = if is_absolute { "/" } else { "" };
    Ok(Some(format!("{start}{}", levels.join("/"))))
}

#[cfg(test)]
mod tests {
    use super::rule_path;

    #[test]
    fn every_spelling_has_one_form() {
        for (pattern, expected) in [
            ("src/**", "src/**"),
            ("./src/**", "src/**"),
            ("./**", "**"),
            (".", "**"),
            ("**/", "**"),
            ("src//a", "src/a"),
            ("src/sub/../a", "src/a"),
            ("/a/../b/**", "/b/**"),
            ("/tmp//x/**", "/tmp/x/**"),
            ("/dir/", "/dir/**"),
            ("/../etc", "/etc"),
            ("~/.ssh/", "~/.ssh/**"),
            (".env", ".env"),
            ("..data/x", "..data/x"),
        ] {
            assert_eq!(rule_path(pattern, None).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn a_path_out_of_the_workspace_begins_somewhere_or_is_refused() {
        let base = Some("/ws/one*".as_ref());
        assert_eq!(rule_path("../x.txt", base).as_deref(), Ok("/ws/x.txt"));
        assert_eq!(rule_path("a/../../x", base).as_deref(), Ok("/ws/x"));
        assert!(rule_path("../x.txt", None).unwrap_err().contains("absolute path"));
        assert!(
            rule_path("src/*/../x", None)
                .unwrap_err()
                .contains("cannot follow")
        );
    }
}
