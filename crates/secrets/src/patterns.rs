//! The published forms of keys, so that keys which nobody registered are found too.
//!
//! Forms and lengths follow the rules of gitleaks
//! (<https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml>), except that maximum lengths are
//! generous and a token need not end at a quote or a space: hiding a character too many costs nothing. Its
//! rules that look for a vendor's name near any text are left out, because they hide ordinary text.

/// A set of ASCII characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CharSet {
    /// `[A-Za-z0-9]`
    Alphanumeric,
    /// `[A-Za-z0-9_]`
    Word,
    /// `[A-Za-z0-9_-]`
    Url,
    /// `[A-Za-z0-9_.=-]`
    Dotted,
    /// `[A-Z0-9]`
    Capital,
    /// `[A-Za-z]`
    Letter,
    /// `[A-Fa-f0-9]`
    Hex,
    /// The text between the marks of a private key block: base64, headers, line ends (also as escapes), and
    /// the signs and numbers that tools put before lines.
    KeyBlock,
}

impl CharSet {
    pub(crate) fn contains(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Dotted => byte.is_ascii_alphanumeric() || b"_-.=".contains(&byte),
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Letter => byte.is_ascii_alphabetic(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::KeyBlock => byte.is_ascii_alphanumeric() || b"+/= \t\r\n\\:,|-".contains(&byte),
        }
    }
}

/// A condition on the whole token, besides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenShape {
    /// No condition.
    Any,
    /// Three parts separated by dots, of which the second begins like a JSON object.
    Jwt,
    /// The first line announces a private key.
    PrivateKey,
}

/// A published form: a prefix, and a number of characters of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenForm {
    /// The name that the replacement shows.
    pub(crate) name: &'static str,
    pub(crate) prefix: &'static str,
    pub(crate) chars: CharSet,
    /// The minimum number of characters after the prefix.
    pub(crate) min: usize,
    /// The maximum number of characters after the prefix; the rest is ordinary text.
    pub(crate) max: usize,
    pub(crate) shape: TokenShape,
    /// Whether it has to begin a word. A prefix in the middle of a word is ordinary text or base64.
    pub(crate) begins_word: bool,
}

const fn pattern(
    name: &'static str,
    prefix: &'static str,
    chars: CharSet,
    lengths: std::ops::RangeInclusive<usize>,
) -> TokenForm {
    TokenForm {
        name,
        prefix,
        chars,
        min: *lengths.start(),
        max: *lengths.end(),
        shape: TokenShape::Any,
        begins_word: true,
    }
}

use CharSet::{Alphanumeric, Capital, Dotted, Hex, KeyBlock, Letter, Url, Word};

/// All published forms.
#[rustfmt::skip]
pub(crate) const PATTERNS: &[TokenForm] = &[
    pattern("anthropic-key", "sk-ant-", Url, 24..=256),
    pattern("openai-key", "sk-proj-", Url, 32..=256),
    pattern("openai-key", "sk-svcacct-", Url, 32..=256),
    pattern("openai-key", "sk-admin-", Url, 32..=256),
    pattern("openrouter-key", "sk-or-v1-", Hex, 48..=128),
    pattern("api-key", "sk-", Alphanumeric, 32..=256),
    pattern("google-key", "AIza", Url, 35..=35),
    pattern("github-token", "ghp_", Alphanumeric, 36..=255),
    pattern("github-token", "gho_", Alphanumeric, 36..=255),
    pattern("github-token", "ghu_", Alphanumeric, 36..=255),
    pattern("github-token", "ghs_", Alphanumeric, 36..=255),
    pattern("github-token", "ghr_", Alphanumeric, 36..=255),
    pattern("github-token", "github_pat_", Word, 60..=255),
    pattern("gitlab-token", "glpat-", Dotted, 20..=320),
    pattern("slack-token", "xoxa-", Url, 8..=256),
    pattern("slack-token", "xoxb-", Url, 8..=256),
    pattern("slack-token", "xoxe-", Url, 8..=256),
    pattern("slack-token", "xoxe.xox", Url, 8..=256),
    pattern("slack-token", "xoxo-", Url, 8..=256),
    pattern("slack-token", "xoxp-", Url, 8..=256),
    pattern("slack-token", "xoxr-", Url, 8..=256),
    pattern("slack-token", "xoxs-", Url, 8..=256),
    pattern("slack-token", "xapp-", Url, 16..=256),
    pattern("aws-key-id", "AKIA", Capital, 16..=16),
    pattern("aws-key-id", "ASIA", Capital, 16..=16),
    pattern("aws-key-id", "ABIA", Capital, 16..=16),
    pattern("aws-key-id", "ACCA", Capital, 16..=16),
    pattern("stripe-key", "sk_live_", Alphanumeric, 10..=99),
    pattern("stripe-key", "sk_test_", Alphanumeric, 10..=99),
    pattern("stripe-key", "sk_prod_", Alphanumeric, 10..=99),
    pattern("stripe-key", "rk_live_", Alphanumeric, 10..=99),
    pattern("stripe-key", "rk_test_", Alphanumeric, 10..=99),
    pattern("stripe-key", "rk_prod_", Alphanumeric, 10..=99),
    pattern("huggingface-token", "hf_", Letter, 34..=34),
    pattern("npm-token", "npm_", Alphanumeric, 36..=36),
    pattern("pypi-token", "pypi-AgEIcHlwaS5vcmc", Url, 50..=1000),
    pattern("sendgrid-key", "SG.", Dotted, 66..=66),
    pattern("digitalocean-token", "dop_v1_", Hex, 64..=64),
    pattern("databricks-token", "dapi", Hex, 32..=32),
    pattern("shopify-token", "shpat_", Hex, 32..=32),
    pattern("linear-key", "lin_api_", Alphanumeric, 40..=40),
    pattern("perplexity-key", "pplx-", Alphanumeric, 48..=48),
    pattern("age-key", "AGE-SECRET-KEY-1", Capital, 58..=58),
    pattern("vault-token", "hvs.", Url, 90..=120),
    pattern("vault-token", "hvb.", Url, 138..=300),
    TokenForm { name: "jwt", prefix: "eyJ", chars: Dotted, min: 36, max: 4096, shape: TokenShape::Jwt, begins_word: true },
    TokenForm { name: "private-key", prefix: "-----BEGIN ", chars: KeyBlock, min: 64, max: 16_384, shape: TokenShape::PrivateKey, begins_word: false },
];

/// The progress of a token, which may become complete or impossible before its characters end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Further characters belong to it.
    Open,
    /// The text is a complete token.
    Complete,
    /// The text cannot be a token of this form.
    Impossible,
}

/// The longest first line of a private key, in bytes: `-----BEGIN RSA PRIVATE KEY-----`.
const MAX_HEADER: usize = 100;
/// The beginning of the last line of a private key.
const LAST_LINE: &[u8] = b"-----END ";

impl TokenShape {
    /// Returns whether the text of a whole token has this shape.
    pub(crate) fn accepts(self, text: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Jwt => is_jwt(text),
            Self::PrivateKey => names_private_key(text),
        }
    }

    /// Returns the progress of a token with one more byte. It reads a bounded part of `text`, so it may be
    /// called after each byte.
    pub(crate) fn progress(self, text: &[u8]) -> Progress {
        if self != Self::PrivateKey {
            return Progress::Open;
        }
        let is_closed = text.ends_with(b"-----");
        let is_header = text.len() <= MAX_HEADER;
        if is_header && is_closed && !names_private_key(text) {
            return Progress::Impossible;
        }
        if !is_header && text.len() == MAX_HEADER + 1 && !names_private_key(text) {
            return Progress::Impossible;
        }
        let last = text
            .get(text.len().saturating_sub(MAX_HEADER)..)
            .unwrap_or_default();
        let has_last_line = |at| at + LAST_LINE.len() + 5 < last.len();
        if is_closed && find(last, LAST_LINE).is_some_and(has_last_line) {
            Progress::Complete
        } else {
            Progress::Open
        }
    }
}

fn is_jwt(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b'.');
    let (header, payload, signature) = (parts.next(), parts.next(), parts.next());
    let is_long = |part: Option<&[u8]>| part.is_some_and(|part| part.len() >= 12);
    let has_claims = payload.is_some_and(|payload| payload.starts_with(b"ey"));
    is_long(header) && is_long(payload) && has_claims && signature.is_some()
}

fn names_private_key(text: &[u8]) -> bool {
    let header = text.get(..MAX_HEADER).unwrap_or(text);
    find(header, b"PRIVATE KEY").is_some()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}
