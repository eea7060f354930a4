//! The rules of a `robots.txt` file (RFC 9309). No I/O happens here.

/// The product token of AgentX in `robots.txt`, in lower case.
const PRODUCT: &str = "agentx";
/// The number of characters of a rule that an error shows.
const SHOWN_PATH: usize = 200;

/// The rules of a file that apply to AgentX.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RobotsRules(Vec<RobotsRule>);

/// A line that allows or disallows paths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RobotsRule {
    allows: bool,
    /// The path, in the form in which paths are compared; `*` stands for any run of characters, a last `$`
    /// for the end.
    path: String,
    /// The number of the line, from 1.
    line: usize,
}

/// The groups that a line of the file belongs to.
#[derive(Clone, Copy, Default)]
struct OpenGroup {
    is_ours: bool,
    is_of_all: bool,
    /// Whether the last line named a program, so that the next name joins the same group.
    is_named: bool,
}

impl RobotsRules {
    /// Reads a file. Lines that are not understood are skipped.
    ///
    /// The groups for AgentX count together; without one, those for `*` do.
    pub(super) fn read(text: &str) -> Self {
        let (mut ours, mut of_all) = (None::<Vec<RobotsRule>>, Vec::new());
        let mut group = OpenGroup::default();
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        for (index, line) in text.split(['\n', '\r']).enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match &*key {
                "user-agent" => {
                    group = group.joined_by(value);
                    if group.is_ours {
                        ours.get_or_insert_default();
                    }
                }
                "allow" | "disallow" => {
                    group.is_named = false;
                    let rule = RobotsRule {
                        allows: key == "allow",
                        path: pattern(value),
                        line: index + 1,
                    };
                    if value.is_empty() {
                        continue;
                    }
                    if group.is_of_all {
                        of_all.push(rule.clone());
                    }
                    if let Some(ours) = ours.as_mut().filter(|_| group.is_ours) {
                        ours.push(rule);
                    }
                }
                _ => {}
            }
        }
        Self(ours.unwrap_or(of_all))
    }

    /// Returns the rule that forbids a path with its query, as line and words; `None` if it may be fetched.
    ///
    /// The longest rule that matches decides; of two of the same length, the one that allows.
    pub(super) fn refusal(&self, path: &str) -> Option<String> {
        let path = one_form(path, true);
        let matching = self.0.iter().filter(|rule| matches(&rule.path, &path));
        let decides = matching.max_by_key(|rule| (rule.path.len(), rule.allows))?;
        let shown: String = decides.path.chars().take(SHOWN_PATH).collect();
        (!decides.allows).then(|| format!("line {}, `Disallow: {shown}`", decides.line))
    }
}

impl OpenGroup {
    /// The group after a line that names a program.
    fn joined_by(self, value: &str) -> Self {
        let before = if self.is_named { self } else { Self::default() };
        let end = value.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '_');
        let name = &value[..end.unwrap_or(value.len())];
        Self {
            is_ours: before.is_ours || name.eq_ignore_ascii_case(PRODUCT),
            is_of_all: before.is_of_all || value == "*" || value.starts_with("* "),
            is_named: true,
        }
    }
}

/// The path of a rule in the form in which paths are compared. Stars that follow each other are one.
fn pattern(value: &str) -> String {
    let mut path = one_form(value, false);
    while path.contains("**") {
        path = path.replace("**", "*");
    }
    path
}

/// A path in which each character has one form: unreserved ones stand for themselves, and what is encoded or
/// has to be is `%XX`. With `is_literal`, so are `*` and `$`.
fn one_form(path: &str, is_literal: bool) -> String {
    let bytes = path.as_bytes();
    let mut form = String::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let encoded = (byte == b'%').then(|| decoded(&bytes[at + 1..])).flatten();
        at += if encoded.is_some() { 3 } else { 1 };
        match encoded {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                form.push(char::from(byte))
            }
            Some(byte) => form.push_str(&format!("%{byte:02X}")),
            None if is_encoded(byte) || (is_literal && b"*$".contains(&byte)) => {
                form.push_str(&format!("%{byte:02X}"));
            }
            None => form.push(char::from(byte)),
        }
    }
    form
}

/// Returns whether addresses have a byte only as `%XX`.
fn is_encoded(byte: u8) -> bool {
    byte <= b' ' || byte >= 0x7f || b"\"'<>\\^`{|}".contains(&byte)
}

/// The byte that two hexadecimal digits at the beginning stand for.
fn decoded(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Returns whether a pattern matches the beginning of a path. It takes time in proportion to their lengths,
/// however many stars there are.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_end) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some(at) = rest.find(before) else {
                return false;
            };
            rest = &rest[at + before.len()..];
        }
    }
    match (last, to_end) {
        (None, true) => rest.is_empty(),
        (None, false) => true,
        (Some(last), true) => rest.ends_with(last),
        (Some(last), false) => rest.contains(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_the_rfc_says() {
        for (rule, path, wanted) in [
            ("/", "/", true),
            ("/", "/a?b", true),
            ("/fish", "/fishheads/yummy.html", true),
            ("/fish", "/Fish.asp", false),
            ("/fish", "/catfish", false),
            ("/fish/", "/fish", false),
            ("/fish*", "/fish.html", true),
            ("/*.php", "/folder/any.php5?x", true),
            ("/*.php", "/", false),
            ("/*.php$", "/filename.php", true),
            ("/*.php$", "/filename.php?parameters", false),
            ("/*.php$", "/a.php/b.php", true),
            ("/fish*.php", "/fishheads/catfish.php?parameters", true),
            ("/a*b*c$", "/a-b-b-c", true),
            ("/a*b*c$", "/a-c-b", false),
            ("*/private", "/x/private/y", true),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("private", "/private", false),
            ("/a%3cd.html", "/a%3Cd.html", true),
            ("/a/b%2fc", "/a/b/c", false),
            ("/%7ejoe", "/~joe", true),
            ("/ツ", "/%E3%83%84", true),
            ("/foo-%24", "/foo-$", true),
            ("/foo-%2A", "/foo-*", true),
            ("/100%", "/100%", true),
            ("/<a>", "/%3Ca%3E", true),
        ] {
            assert_eq!(
                matches(&pattern(rule), &one_form(path, true)),
                wanted,
                "{rule} {path}"
            );
        }
    }

    #[test]
    fn the_group_of_agentx_counts_and_else_that_of_all() {
        let refused = |text: &str, path: &str| RobotsRules::read(text).refusal(path).is_some();
        let all = "User-agent: *\nDisallow: /\n";
        assert!(refused(all, "/a") && !refused("", "/a") && !refused("<html>\n<p>Disallow: /", "/a"));
        assert!(refused("\u{feff}user-AGENT : * # all\r\nDISALLOW:/x\r\n", "/x"));
        assert!(
            !refused(&format!("{all}User-Agent: AgentX/2.0\nAllow: /b\n"), "/a"),
            "only its own group counts"
        );
        assert!(
            !refused(&format!("{all}User-agent: agentx\nDisallow:\n"), "/a"),
            "an empty rule forbids nothing"
        );
        assert!(
            refused("User-agent: other\nUser-agent: agentx\nDisallow: /a\n", "/a"),
            "names share a group"
        );
        assert!(!refused(
            "User-agent: agentx\nAllow: /\nUser-agent: other\nDisallow: /\n",
            "/a"
        ));
        let twice = "User-agent: agentx\nDisallow: /a\n\nUser-agent: o\nDisallow: /\n\n\
                     User-agent: agentx\nDisallow: /b\n";
        assert!(
            refused(twice, "/a") && refused(twice, "/b") && !refused(twice, "/c"),
            "groups of one name are joined"
        );
        assert!(
            refused(
                "User-agent: agentx\nCrawl-delay: 9\nSitemap: x\nDisallow: /a\n",
                "/a"
            ),
            "other lines end none"
        );
        assert!(
            !refused("Disallow: /\nUser-agent: agentx-not\nDisallow: /\n", "/a"),
            "a rule needs a group"
        );
    }

    #[test]
    fn the_longest_rule_decides_and_is_named() {
        let rules = RobotsRules::read(
            "User-agent: *\nDisallow: /p\nAllow: /p/open\nDisallow: /*.gif$\nAllow: /same\nDisallow: /same\n",
        );
        assert_eq!(rules.refusal("/p/x").as_deref(), Some("line 2, `Disallow: /p`"));
        assert_eq!(rules.refusal("/p/open/x"), None);
        assert_eq!(rules.refusal("/p/open.gif").as_deref(), None);
        assert_eq!(
            rules.refusal("/q.gif").as_deref(),
            Some("line 4, `Disallow: /*.gif$`")
        );
        assert_eq!(rules.refusal("/same"), None);
        assert_eq!(rules.refusal("/other"), None);
    }
}
