//! The environment of programs that run for an agent. A model that prints its environment must not see the
//! API keys of the program, nor those of the person, so variables whose name or value looks like a secret are
//! left out.

use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::tokens::{has_token, is_like_token};

/// Texts that mark a secret anywhere in a name: `TOKEN_FOR_CI`, `OPENAIKEY`, `AUTHX`.
const SECRET_ANYWHERE: &[&str] = &[
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "CREDS",
    "JWT",
    "KEY",
    "PASS",
    "SECRET",
    "TOKEN",
    "WEBHOOK",
];

/// Ordinary words that contain such a text. The rest of the name decides.
const ORDINARY: &[&str] = &[
    "ASKPASS",
    "AUTHORITY",
    "AUTHORS",
    "BYPASS",
    "COMPASS",
    "COOKIECUTTER",
    "HOTKEY",
    "KEYBOARD",
    "KEYMAP",
    "KEYWORD",
    "MONKEY",
    "PASSENGER",
    "PASSIVE",
    "PASSTHROUGH",
    "SECRETARY",
    "TOKENIZE",
    "TOKENIZATION",
    "TURKEY",
];

/// A name with this whole word is about the author of something: `GIT_AUTHOR_NAME`.
const AUTHOR: &str = "AUTHOR";

/// Ends of the last word of a name (words are joined by `_`) that mark a secret.
const SECRET_ENDINGS: &[&str] = &["DSN", "PWD"];

/// A text that marks a secret as the last word.
const SECRET_LAST: &str = "PAT";

/// Plurals that mark no secret beside a word for a count: `MAX_TOKENS`.
const PLURALS: &[&str] = &["KEYS", "TOKENS", "PASSWORDS"];
const COUNTS: &[&str] = &["MAX", "MIN", "NUM", "COUNT", "LIMIT", "BUDGET"];

/// Whole names that only look like a secret: directories, and the socket of an agent that signs.
const HARMLESS_NAMES: &[&str] = &["PWD", "OLDPWD", "SSH_AUTH_SOCK"];

/// Names that programs need and that hold no secret. A folder's settings may name any variable for a header,
/// which hides it. Without `PATH`, a shell looks for programs in other places, perhaps in the folder.
const NEEDED_NAMES: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TERM", "LANG", "LC_ALL", "TZ",
];

/// A shorter value is not a secret: hiding it would hide ordinary words.
const SHORTEST_VALUE: usize = 8;

/// Selects the variables of this process that programs get. By default all but those whose names or values
/// look like secrets.
#[derive(Clone, Default)]
pub struct ProgramEnvironment {
    keep: Vec<String>,
    hidden_names: Vec<String>,
    hidden_values: Vec<String>,
}

/// Values are not shown.
impl fmt::Debug for ProgramEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramEnvironment")
            .field("keep", &self.keep)
            .field("hidden_names", &self.hidden_names)
            .finish_non_exhaustive()
    }
}

impl ProgramEnvironment {
    /// Passes these on although they look like secrets.
    #[must_use]
    pub fn keep<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.keep.extend(names.into_iter().map(Into::into));
        self
    }

    /// Never passes this variable on, even if `keep` names it; only variables that every program needs
    /// (`PATH`, `HOME`, `TERM`, …) stay.
    #[must_use]
    pub fn hide_name(mut self, name: impl Into<String>) -> Self {
        self.hidden_names.push(name.into());
        self
    }

    /// Never passes on a variable that equals this value, or contains it. A value of less than 8 bytes is
    /// ignored.
    #[must_use]
    pub fn hide_value(mut self, value: impl Into<String>) -> Self {
        let value = value.into();
        if value.len() >= SHORTEST_VALUE {
            self.hidden_values.push(value);
        }
        self
    }

    /// Returns the variables of this process that a program does not get, sorted by name.
    pub fn withheld(&self) -> Vec<WithheldVariable> {
        self.withheld_of(std::env::vars_os())
    }

    fn withheld_of(&self, own: impl Iterator<Item = (OsString, OsString)>) -> Vec<WithheldVariable> {
        let withheld = own.filter(|(name, value)| !self.passes(name, value));
        let mut withheld: Vec<WithheldVariable> = withheld
            .map(|(name, value)| WithheldVariable {
                name: name.to_string_lossy().into_owned(),
                may_be_kept: !self.hides(&name, &value),
            })
            .collect();
        withheld.sort_by(|a, b| a.name.cmp(&b.name));
        withheld
    }

    /// Returns the variables of this process that look like secrets and that a program does not get, with
    /// their values, sorted by name. Values of less than 8 bytes are left out.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let withheld = std::env::vars_os().filter(|(name, value)| !self.passes(name, value));
        let readable = withheld.filter_map(|(name, value)| {
            let value = value.into_string().ok()?;
            (value.len() >= SHORTEST_VALUE).then(|| (name.to_string_lossy().into_owned(), value))
        });
        let mut secrets: Vec<(String, String)> = readable.collect();
        secrets.sort();
        secrets
    }

    /// Returns whether a variable is kept from commands: it looks like a secret by its name or value, or is
    /// hidden.
    pub fn withholds(&self, name: &str, value: &str) -> bool {
        !self.passes(OsStr::new(name), OsStr::new(value))
    }

    /// Returns the variables of this process that a program gets.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + '_ {
        self.of(std::env::vars_os())
    }

    /// Returns the variables of `own` that a program gets, and those that keep Git from running programs of a
    /// folder.
    pub(crate) fn of<'a>(
        &'a self,
        own: impl Iterator<Item = (OsString, OsString)> + 'a,
    ) -> impl Iterator<Item = (OsString, OsString)> + 'a {
        let passed: Vec<_> = own.filter(|(name, value)| self.passes(name, value)).collect();
        let guards = git_guards(&passed);
        let replaced = |name: &OsString| guards.iter().any(|(guard, _)| guard == name);
        let passed: Vec<_> = passed.into_iter().filter(|(name, _)| !replaced(name)).collect();
        passed.into_iter().chain(guards)
    }

    fn passes(&self, name: &OsStr, value: &OsStr) -> bool {
        let hidden = self.hides(name, value);
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let kept = self.keep.iter().any(|kept| *kept == name);
        !hidden
            && (kept
                || !(is_secret_name(&name)
                    || has_password(&value)
                    || has_webhook(&value)
                    || has_token(&value)
                    || is_like_token(&value)))
    }

    /// Returns whether a variable is never passed on, even if `keep` names it.
    fn hides(&self, name: &OsStr, value: &OsStr) -> bool {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if NEEDED_NAMES.contains(&&*name) {
            return false;
        }
        self.hidden_names.iter().any(|hidden| *hidden == name)
            || self.hidden_values.iter().any(|hidden| value.contains(hidden))
    }
}

/// A variable of this process that programs do not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldVariable {
    /// The name of the variable.
    pub name: String,
    /// Whether [`ProgramEnvironment::keep`] would pass it on, because it only looks like a secret. Otherwise
    /// it is explicitly hidden.
    pub may_be_kept: bool,
}

/// Settings of Git that override the configuration of a repository. A folder may contain a bare repository,
/// or a `.git` of its own, and `git status` would run the program in its `core.fsmonitor`
/// (<https://github.com/justinsteven/advisories/blob/main/2022_git_buried_bare_repos_and_fsmonitor_various_abuses.md>).
/// With `diff.submodule=diff`, `git diff` and `git show` print the files of submodules, which `--name-only`
/// does not list. With `gc.autoDetach`, a commit would leave a process that ends with the sandbox of the
/// commit, before its work is done. Worktrees outside of the workspace look as if they were gone there, and
/// the collection of garbage after a commit would forget them.
const GIT: [(&str, &str); 5] = [
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("diff.submodule", "short"),
    ("gc.autoDetach", "false"),
    ("gc.worktreePruneExpire", "never"),
];

/// Returns the variables by which Git takes these settings, after those that are already set
/// (<https://git-scm.com/docs/git-config#ENVIRONMENT>). The person's own settings there stay.
fn git_guards(own: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let value = |name: &str| {
        let found = own.iter().find(|(own, _)| own.to_str() == Some(name));
        found.and_then(|(_, value)| value.to_str())
    };
    let count = match value("GIT_CONFIG_COUNT") {
        None | Some("") => 0,
        Some(count) => match count.trim().parse::<usize>() {
            Ok(count) if count < 1000 => count,
            // Git refuses to run with an invalid value, which is not repaired here.
            _ => return Vec::new(),
        },
    };
    let is_set = |key: &str| {
        (0..count)
            .any(|at| value(&format!("GIT_CONFIG_KEY_{at}")).is_some_and(|set| set.eq_ignore_ascii_case(key)))
    };
    let added = GIT.iter().filter(|(key, _)| !is_set(key)).zip(count..);
    let mut guards: Vec<(OsString, OsString)> = added
        .flat_map(|((key, value), at)| {
            [
                (format!("GIT_CONFIG_KEY_{at}").into(), (*key).into()),
                (format!("GIT_CONFIG_VALUE_{at}").into(), (*value).into()),
            ]
        })
        .collect();
    let all = count + guards.len() / 2;
    guards.push(("GIT_CONFIG_COUNT".into(), all.to_string().into()));
    guards
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // Such a name is that of a setting.
    if HARMLESS_NAMES.contains(&&*name) || name.starts_with("GIT_CONFIG_KEY_") {
        return false;
    }
    // `GITLAB_PAT2` and `MYSQL_PWD_2` are numbered copies.
    let words: Vec<&str> = name
        .split('_')
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
        .filter(|word| !word.is_empty())
        .collect();
    let last = words.last().copied().unwrap_or_default();
    let counts = words.iter().any(|word| COUNTS.contains(word));
    last == SECRET_LAST
        || SECRET_ENDINGS.iter().any(|ending| last.ends_with(ending))
        || words.iter().any(|word| marks_secret(word, counts))
}

/// Returns whether a word of a name marks a secret, wherever it stands.
fn marks_secret(word: &str, counts: bool) -> bool {
    if word == AUTHOR || (counts && PLURALS.contains(&word)) {
        return false;
    }
    let mut rest = word.to_owned();
    for ordinary in ORDINARY {
        rest = rest.replace(ordinary, "_");
    }
    SECRET_ANYWHERE.iter().any(|text| rest.contains(text))
}

/// Returns whether an address in the text has a password (`postgres://me:secret@host/db`), or settings of a
/// connection do (`host=db;password=secret`).
fn has_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if ["password=", "passwd=", "pwd="]
        .iter()
        .any(|name| has_value(&lower, name))
    {
        return true;
    }
    value.match_indices("://").any(|(at, sign)| {
        let rest = &value[at + sign.len()..];
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .and_then(|(who, _)| who.split_once(':'))
            .is_some_and(|(_, password)| !password.is_empty())
    })
}

/// Addresses whose path is a secret: anyone who knows it may post.
const WEBHOOKS: &[&str] = &[
    "://hooks.slack.com/services/",
    "://hooks.slack.com/workflows/",
    "://hooks.slack.com/triggers/",
    "://discord.com/api/webhooks/",
    "://discordapp.com/api/webhooks/",
    "://hooks.zapier.com/hooks/",
    ".webhook.office.com/webhookb2/",
    "://outlook.office.com/webhook/",
    "://api.telegram.org/bot",
];

/// Returns whether an address in the text is that of a webhook, followed by its secret path.
fn has_webhook(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    WEBHOOKS.iter().any(|start| {
        let rest = lower.split_once(start).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
    })
}

/// Returns whether a name occurs in the text as a word of its own, followed by a value.
fn has_value(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, name)| {
        let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '/');
        begins && text[at + name.len()..].starts_with(|c: char| !c.is_whitespace() && !";&".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of these variables a command gets, without the additional ones for Git.
    fn names(environment: &ProgramEnvironment, own: &[(&str, &str)]) -> Vec<String> {
        let own = own.iter().map(|(name, value)| (name.into(), value.into()));
        let passed = environment.of(own);
        passed
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .filter(|name| !name.starts_with("GIT_CONFIG_"))
            .collect()
    }

    #[test]
    fn names_that_look_like_secrets_stay_behind() {
        for secret in [
            "OPENAI_API_KEY",
            "github_token",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SESSION_TOKEN",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "GITLAB_PAT",
            "SIGNING_KEY",
            "STRIPE_SECRET",
            "SECRET_KEY_BASE",
            "SMTP_PASS",
            "MyApiKey",
            "TOKEN",
            "TOKEN_FOR_CI",
            "SLACK_WEBHOOK_URL",
            "JWT_SIGNING",
            "NPM_CONFIG__AUTH",
            "npm_config__authToken",
            "BASIC_AUTH",
            "AUTHORIZATION",
            "APP_PRIVATE_KEY_PEM",
            "DB_PASSWORD_FILE",
            "SENTRY_DSN",
            "OPENAI_API_KEY_2",
            "ANTHROPIC_API_KEYS",
            "API_KEY_PROD",
            "STRIPE_KEY_LIVE",
            "DB_PASS_PROD",
            "TOKENS",
            "TOKEN2",
            "PASSWORD2",
            "SECRETKEY",
            "CLIENTSECRET",
            "AWS_CREDS",
            "DOCKER_AUTH_CONFIG",
            "OPENAIKEY",
            "USERPASS",
            "SECRETSAUCE",
            "AUTHX",
            "MYTOKENX",
            "XDSN",
            "PGPASSFILE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CREDENTIALS_FILE",
            "COOKIES",
            "MYSQL_PWD_2",
            "MONKEY_KEY",
            "MONKEYKEY",
            "AUTHORIZATION_HEADER",
            "AUTHORTOKEN",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
    }

    #[test]
    fn what_is_no_secret_reaches_commands() {
        let own = [
            ("HOME", "/home/me"),
            ("PWD", "/ws"),
            ("OLDPWD", "/"),
            ("KEYBOARD", "de"),
            ("X_BYPASS", "1"),
            ("MAX_TOKENS", "9"),
            ("NPM_PREFIX", "/home/me/.npm_global"),
            ("CONTINENT", "ASIA"),
            ("PACKAGE", "sk-madeupmadeupmad"),
            ("PLACES", "sk-madeupmadeupmade:/usr/lib"),
            ("MONKEY", "1"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("GIT_AUTHOR_NAME", "me"),
            ("GIT_ASKPASS", "/usr/bin/askpass"),
            ("MAX_KEYS", "9"),
            ("COMPAT", "1"),
            ("JOB", "cd x; pwd=; echo"),
            ("XAUTHORITY", "/home/me/.Xauthority"),
            ("LANG", "C"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("ORIGIN", "https://me@example.com/x:y@z"),
            ("HTTP_PROXY", "http://proxy:8080"),
            ("é", "x"),
        ];
        let all: Vec<String> = own.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(names(&ProgramEnvironment::default(), &own), all);
    }

    #[test]
    fn values_that_look_like_secrets_stay_behind() {
        for (name, value) in [
            ("DATABASE_URL", "postgres://me:hunter2@db/x"),
            ("REMOTES", "a https://x:y@h b"),
            ("CONNECTION", "Server=db;User Id=me;Password=hunter2;"),
            ("LIBPQ", "host=db password=hunter2"),
            ("JDBC", "jdbc:postgresql://db/x?user=me&password=hunter2"),
            ("KEPT_TOKEN", "x"),
            ("PLAIN", "ghp_madeupmadeupmadeupmadeup"),
            ("HEADER", "Authorization: Bearer sk-ant-made-up-made-up-made-up"),
            ("ID", "AKIAMADEUPMADEUP1234"),
            ("X1", "sk-madeupmadeupmade"),
            ("X2", "sk-made-up_made-up-made"),
            ("PEM", "-----BEGIN OPENSSH PRIVATE KEY-----\nmade up"),
        ] {
            let nothing: [String; 0] = [];
            assert_eq!(names(&ProgramEnvironment::default(), &[(name, value)]), nothing);
            let kept = ProgramEnvironment::default().keep([name]);
            assert_eq!(names(&kept, &[(name, value)]), [name]);
        }
    }

    #[test]
    fn what_programs_need_is_not_hidden_whatever_a_header_names() {
        let path = "/home/me/.cargo/bin:/usr/bin:/bin";
        let environment = ProgramEnvironment::default().hide_name("PATH").hide_value(path);
        let own = [("PATH", path), ("MY_PATH", path)];
        assert_eq!(names(&environment, &own), ["PATH"]);
    }

    #[test]
    fn a_key_that_the_agent_runs_on_stays_behind_whatever_holds_it() {
        let environment = ProgramEnvironment::default()
            .keep(["MODEL_ACCESS", "COPY"])
            .hide_name("MODEL_ACCESS")
            .hide_value("made-up-key-1234")
            .hide_value("short")
            .hide_value("a-company");
        let own = [
            ("MODEL_ACCESS", "made-up-key-1234"),
            ("COPY", "made-up-key-1234"),
            ("HEADER", "Bearer made-up-key-1234"),
            ("SHELL", "a short one"),
            ("HOME", "/home/a-company"),
        ];
        assert_eq!(names(&environment, &own), ["SHELL", "HOME"]);
        assert!(!format!("{environment:?}").contains("made-up-key"));
    }

    #[test]
    fn short_keys_within_values_and_addresses_of_webhooks_stay_behind() {
        let environment = ProgramEnvironment::default().hide_value("k-open-123");
        let own = [
            ("PREFIXED", "Bearer k-open-123"),
            ("NOTIFY", "https://hooks.slack.com/services/T0/B0/made-up"),
            ("CHANNEL", "https://discord.com/api/webhooks/1/made-up"),
            ("DOCS", "https://discord.com/developers"),
            ("PLAIN", "Bearer k-open"),
        ];
        assert_eq!(names(&environment, &own), ["DOCS", "PLAIN"]);
    }

    #[test]
    fn what_is_left_out_is_told_with_whether_it_may_be_passed_on() {
        let environment = ProgramEnvironment::default()
            .keep(["KEPT_TOKEN"])
            .hide_name("OPAL_KEY");
        let own = ["PATH", "OPAL_KEY", "KEPT_TOKEN", "GITHUB_TOKEN"];
        let withheld = environment.withheld_of(own.iter().map(|name| (name.into(), "x".into())));
        let told: Vec<_> = withheld
            .iter()
            .map(|variable| (variable.name.as_str(), variable.may_be_kept))
            .collect();
        assert_eq!(told, [("GITHUB_TOKEN", true), ("OPAL_KEY", false)]);
    }

    #[test]
    fn git_runs_nothing_that_a_repository_names() {
        let of = |own: &[(&str, &str)]| {
            let own: Vec<_> = own
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            let environment = ProgramEnvironment::default();
            let mut all: Vec<String> = environment
                .of(own.into_iter())
                .map(|(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display()))
                .collect();
            all.sort();
            all
        };
        assert_eq!(
            of(&[("HOME", "/x")]),
            [
                "GIT_CONFIG_COUNT=5",
                "GIT_CONFIG_KEY_0=safe.bareRepository",
                "GIT_CONFIG_KEY_1=core.fsmonitor",
                "GIT_CONFIG_KEY_2=diff.submodule",
                "GIT_CONFIG_KEY_3=gc.autoDetach",
                "GIT_CONFIG_KEY_4=gc.worktreePruneExpire",
                "GIT_CONFIG_VALUE_0=explicit",
                "GIT_CONFIG_VALUE_1=false",
                "GIT_CONFIG_VALUE_2=short",
                "GIT_CONFIG_VALUE_3=false",
                "GIT_CONFIG_VALUE_4=never",
                "HOME=/x",
            ]
        );
        let own = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.fsMonitor"),
            ("GIT_CONFIG_VALUE_0", "true"),
        ];
        assert_eq!(
            of(&own),
            [
                "GIT_CONFIG_COUNT=5",
                "GIT_CONFIG_KEY_0=core.fsMonitor",
                "GIT_CONFIG_KEY_1=safe.bareRepository",
                "GIT_CONFIG_KEY_2=diff.submodule",
                "GIT_CONFIG_KEY_3=gc.autoDetach",
                "GIT_CONFIG_KEY_4=gc.worktreePruneExpire",
                "GIT_CONFIG_VALUE_0=true",
                "GIT_CONFIG_VALUE_1=explicit",
                "GIT_CONFIG_VALUE_2=short",
                "GIT_CONFIG_VALUE_3=false",
                "GIT_CONFIG_VALUE_4=never",
            ]
        );
        assert_eq!(of(&[("GIT_CONFIG_COUNT", "many")]), ["GIT_CONFIG_COUNT=many"]);
    }
}
