//! Recognizes secrets by their form: private keys, and tokens of services that begin each token with a fixed
//! prefix.
//!
//! Sources are the pages of the services themselves, if they have one: GitHub
//! (<https://github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available/>),
//! AWS
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids>),
//! GitLab (<https://docs.gitlab.com/security/tokens/#token-prefixes>), Slack
//! (<https://docs.slack.dev/authentication/tokens>,
//! <https://docs.slack.dev/reference/methods/tooling.tokens.rotate>), and Stripe, which says that its test
//! keys can do no harm (<https://gitlab.com/gitlab-org/gitlab/-/issues/458019>). The others are those of
//! <https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml>; `dckr_pat_`, `gsk_`, `xai-` and
//! `whsec_` were seen in use.

/// The prefixes of tokens.
const BEGINNINGS: &[&str] = &[
    // GitHub
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    // GitLab
    "glagent-",
    "glcbt-",
    "gldt-",
    "glffct-",
    "glft-",
    "glimt-",
    "gloas-",
    "glpat-",
    "glptt-",
    "glrt-",
    "glsoat-",
    // Clouds
    "ABIA",
    "AIza",
    "AKIA",
    "ASIA",
    "dop_v1_",
    "doo_v1_",
    "dor_v1_",
    // Models
    "gsk_",
    "hf_",
    "pplx-",
    "sk-admin-",
    "sk-ant-",
    "sk-or-",
    "sk-proj-",
    "sk-svcacct-",
    "xai-",
    // Payments
    "rk_live_",
    "sk_live_",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "sq0atp-",
    "whsec_",
    // Slack
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxe.",
    "xoxo-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    // Packages and images
    "dckr_pat_",
    "npm_",
    "pypi-",
    "rubygems_",
    // Others
    "ATATT3",
    "NRAK-",
    "PMAK-",
    "SG.",
    "api_org_",
    "dt0c01.",
    "glc_",
    "glsa_",
    "hvb.",
    "hvs.",
    "lin_api_",
    "ops_eyJ",
    "pscale_tkn_",
    "sntrys_",
    "sntryu_",
];

/// The smallest number of letters and digits after such a prefix.
const SHORTEST_REST: usize = 16;

/// The prefix of keys of many model vendors. In older keys of OpenAI, a longer rest without structure follows
/// it.
const MODEL_KEY: &str = "sk-";
const SHORTEST_MODEL_KEY: usize = 32;

/// Returns whether a text contains a secret that is known by its form.
pub(crate) fn has_token(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut words = text.split(|c: char| !is_part(c));
    (text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----"))
        || words.any(|word| is_token(word) || word.split('.').any(is_token))
}

/// Returns whether a text begins like a token and is nothing else: one of the prefixes, and only letters,
/// digits, `-` and `_` behind it, at least as many as a token has.
pub(crate) fn is_like_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let mut rests = BEGINNINGS
        .iter()
        .chain([&MODEL_KEY])
        .filter_map(|beginning| text.strip_prefix(beginning));
    rests.any(|rest| rest.len() >= SHORTEST_REST && rest.bytes().all(is_part))
}

/// The replacement for a secret that is left out.
const LEFT_OUT: &str = "(left out)";
/// The beginning and the end of a private key in its text form.
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// Returns the text without anything that has the form of a secret: private keys, tokens of services,
/// passwords in addresses. `None` if it contains none.
///
/// ```
/// use agentx_tools::without_tokens;
/// let cleaned = without_tokens("curl -H 'token: ghp_0123456789abcdefghij' x");
/// assert_eq!(cleaned.as_deref(), Some("curl -H 'token: (left out)' x"));
/// let cleaned = without_tokens("postgres://me:made-up@host/db");
/// assert_eq!(cleaned.as_deref(), Some("postgres://me:(left out)@host/db"));
/// assert_eq!(without_tokens("nothing here"), None);
/// ```
pub fn without_tokens(text: &str) -> Option<String> {
    let mut cleaned = without_private_keys(text);
    cleaned = without_passwords(&cleaned);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut out = String::with_capacity(cleaned.len());
    let mut rest = cleaned.as_str();
    while let Some(begin) = rest.find(is_part) {
        let end = rest[begin..]
            .find(|c| !is_part(c))
            .map_or(rest.len(), |end| begin + end);
        let word = &rest[begin..end];
        out.push_str(&rest[..begin]);
        let is_secret = is_token(word) || word.split('.').any(is_token);
        out.push_str(if is_secret { LEFT_OUT } else { word });
        rest = &rest[end..];
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// Returns the text without private keys. A key without an end extends to the end of the text.
fn without_private_keys(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(KEY_BEGINS) {
        let key = &rest[begin..];
        let head = key.lines().next().unwrap_or_default();
        if !head.contains("PRIVATE KEY-----") {
            let next = begin + KEY_BEGINS.len();
            out.push_str(&rest[..next]);
            rest = &rest[next..];
            continue;
        }
        out.push_str(&rest[..begin]);
        out.push_str(LEFT_OUT);
        let end = key.find(KEY_ENDS).map(|at| at + KEY_ENDS.len());
        let behind = end.and_then(|at| key[at..].find("-----").map(|dashes| at + dashes + 5));
        rest = behind.map_or("", |behind| &key[behind..]);
    }
    out.push_str(rest);
    out
}

/// Returns the text without the passwords of addresses (`postgres://me:secret@host/db`).
fn without_passwords(text: &str) -> String {
    const SIGN: &str = "://";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(SIGN) {
        let begin = at + SIGN.len();
        out.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'');
        let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let who = authority.rsplit_once('@').map(|(who, _)| who);
        if let Some((name, password)) = who.and_then(|who| who.split_once(':'))
            && !password.is_empty()
        {
            out.push_str(&format!("{name}:{LEFT_OUT}"));
            rest = &rest[name.len() + 1 + password.len()..];
        }
    }
    out.push_str(rest);
    out
}

fn is_token(word: &str) -> bool {
    let mut rests = BEGINNINGS
        .iter()
        .filter_map(|beginning| word.strip_prefix(beginning));
    let is_model_key = word
        .strip_prefix(MODEL_KEY)
        .is_some_and(|rest| rest.len() >= SHORTEST_MODEL_KEY && rest.contains(|c: char| c.is_ascii_digit()));
    is_model_key || rests.any(|rest| rest.len() >= SHORTEST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_known_by_their_beginnings_and_ordinary_values_are_not() {
        // All of them are made up.
        for token in [
            "ghp_madeupmadeupmadeupmadeup",
            "glrt-madeupmadeupmadeup12",
            "xoxe.xoxp-1-madeupmadeupmadeup",
            "xapp-1-A0MADEUP-123456-madeup",
            "Bearer sk-svcacct-madeupmadeup1234",
            "sk-0123456789abcdef0123456789abcdef",
            "https://me.example/?key=AIzaMadeUpMadeUpMadeUp12",
            "SG.madeupmadeupmadeup.madeup",
            "hvs.madeupmadeupmadeup",
            "dckr_pat_madeupmadeupmadeup",
            "a;pypi-madeupmadeupmadeup",
        ] {
            assert!(has_token(token), "{token}");
        }
        for ordinary in [
            "ASIA",
            "glpat-short",
            "/home/me/sk-learn-and-other-long-directory-names",
            "npm_config",
            "sk_test_madeupmadeupmadeup",
            "https://hf.example/models",
            "en_US.UTF-8",
        ] {
            assert!(!has_token(ordinary), "{ordinary}");
        }
    }
}
