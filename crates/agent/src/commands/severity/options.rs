//! Options by which a reading program, which people allow with a star, writes, deletes, sends or runs
//! something. No star matches them; a rule has to name them.
//!
//! This applies from version 9 of the rules. For a program that is missing here, a star allows every option.

use super::inner_commands::inner_command;
use crate::commands::command_analysis::{ANYTHING, BLANK, sed_does};

/// The options of a program that no star matches.
struct DangerousOptions {
    /// The programs, parted by blanks.
    programs: &'static str,
    /// Letters of short options, alone or in a group.
    letters: &'static str,
    /// Long options, and those of one dash that are words; `--` ones also by their beginning.
    long: &'static [&'static str],
}

/// A row of the table below.
const fn row(
    programs: &'static str,
    letters: &'static str,
    long: &'static [&'static str],
) -> DangerousOptions {
    DangerousOptions {
        programs,
        letters,
        long,
    }
}

/// The table.
#[rustfmt::skip]
const TABLE: &[DangerousOptions] = &[
    row("sort", "oT", &["--output", "--compress-program", "--files0-from"]),
    row("shuf", "o", &["--output"]),
    row("tree", "oR", &["--output"]),
    row("sed gsed", "if", &["--in-place", "--file"]),
    row("awk gawk mawk nawk", "fiElopdD", &["--file", "--include", "--exec", "--load", "--pretty-print", "--dump-variables", "--profile", "--debug", "--inplace"]),
    row("date", "s", &["--set"]),
    row("less more", "oOkTt", &["--log-file", "--LOG-FILE", "--lesskey", "--lesskey-file", "--lesskey-src", "--lesskey-content", "--tag"]),
    row("file", "CmfM", &["--compile", "--magic-file", "--files-from"]),
    row("rg", "", &["--pre", "--hostname-bin", "--search-zip"]),
    row("ag", "", &["--pager"]),
    row("fd fdfind", "xX", &["--exec", "--exec-batch"]),
    row("yq", "i", &["--inplace", "--in-place", "--split-exp"]),
    row("xxd", "r", &["-revert"]),
    row("split", "", &["--filter"]),
    row("curl", "oOTdFKJcXDQE", &[
        "--output", "--output-dir", "--remote-name", "--remote-name-all", "--remote-header-name", "--upload-file", "--data", "--data-ascii",
        "--data-binary", "--data-raw", "--data-urlencode", "--json", "--form", "--form-string", "--config", "--cookie-jar", "--dump-header",
        "--request", "--quote", "--trace", "--trace-ascii", "--stderr", "--netrc-file", "--libcurl", "--etag-save", "--hsts", "--alt-svc",
        "--engine", "--write-out",
    ]),
    row("wget", "OoaPeiBrm", &[
        "--output-document", "--output-file", "--append-output", "--directory-prefix", "--execute", "--input-file", "--post-data", "--post-file",
        "--body-data", "--body-file", "--method", "--use-askpass", "--config", "--save-cookies", "--recursive", "--mirror", "--warc-file",
        "--load-cookies", "--certificate", "--private-key", "--ca-certificate", "--hsts-file", "--rejected-log", "--input-metalink", "--warc-cdx",
        "--warc-dedup", "--warc-tempdir",
    ]),
    row("tar bsdtar", "xcruAIFTPCfgX", &[
        "--extract", "--get", "--create", "--append", "--update", "--concatenate", "--delete", "--remove-files", "--to-command", "--use-compress-program",
        "--checkpoint-action", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command", "--files-from", "--directory", "--file",
        "--index-file", "--listed-incremental", "--volno-file", "--exclude-from",
    ]),
    row("docker podman", "vH", &[
        "--privileged", "--volume", "--mount", "--pid", "--device", "--cap-add", "--security-opt", "--output", "--host", "--context",
        "--config", "--tls", "--tlscacert", "--tlscert", "--tlskey", "--tlsverify", "--cidfile", "--iidfile", "--metadata-file",
        "--url", "--connection", "--identity",
    ]),
    row("kubectl oc", "", &[
        "--kubeconfig", "-s", "--server", "--token", "--as", "--as-group", "--as-uid", "--certificate-authority", "--client-certificate",
        "--client-key", "--insecure-skip-tls-verify", "--tls-server-name", "--cache-dir", "--profile-output", "--enable-helm",
        "--helm-command",
    ]),
    row("helm", "", &[
        "--kubeconfig", "--kube-apiserver", "--kube-token", "--kube-as-user", "--kube-as-group", "--kube-ca-file",
        "--kube-insecure-skip-tls-verify", "--post-renderer", "--post-renderer-args", "--repository-config", "--repository-cache",
        "--registry-config", "--content-cache", "--output-dir",
    ]),
    row("aws", "", &["--endpoint-url", "--ca-bundle", "--no-verify-ssl", "--cli-input-json", "--cli-input-yaml"]),
    row("gcloud", "", &["--flags-file", "--access-token-file", "--impersonate-service-account", "--log-http"]),
    row("rsync", "eMT", &[
        "--rsh", "--rsync-path", "--remote-option", "--remove-source-files", "--delete", "--delete-before", "--delete-during", "--delete-delay",
        "--delete-after", "--delete-excluded", "--delete-missing-args", "--files-from", "--include-from", "--exclude-from", "--log-file",
        "--write-batch", "--only-write-batch", "--read-batch", "--password-file", "--early-input", "--temp-dir", "--backup-dir", "--partial-dir",
        "--config", "--daemon",
    ]),
    row("xargs", "aIi", &["--arg-file", "--replace"]),
    row("diff", "", &["--output"]),
    row("make gmake", "fIE", &["--file", "--makefile", "--eval", "--include-dir"]),
    row("find", "", &[
        "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from",
    ]),
    row("bat batcat delta", "", &["--pager"]),
    row("tcpdump", "wzW", &[]),
    row("unzip", "do", &[]),
    row("ip", "b", &["-batch", "--batch"]),
    row("base64 xmllint", "", &["--output"]),
    row("hexdump", "f", &[]),
    row("openssl", "", &["-out", "-engine", "-provider-path", "-config"]),
    row("journalctl", "", &["--vacuum-size", "--vacuum-time", "--vacuum-files", "--rotate", "--flush", "--cursor-file"]),
    row("dmesg", "cCDEn", &["--clear", "--read-clear", "--console-off", "--console-on", "--console-level"]),
    row("hostname", "Fb", &["--file", "--boot"]),
    row("sysctl", "wp", &["--write", "--load", "--system"]),
    row("sqlite3 sqlite duckdb", "A", &["-cmd", "--cmd", "-init", "--init", "-f", "-archive", "--archive"]),
    row("psql", "foL", &["--file", "--output", "--log-file"]),
    row("mysql mariadb", "", &[
        "--pager", "--tee", "--init-command", "--plugin-dir", "--defaults-file", "--defaults-extra-file", "--local-infile",
    ]),
    row("gdb", "x", &[
        "-ex", "--ex", "-eval-command", "--eval-command", "-iex", "--init-eval-command", "-ix", "--init-command", "--command",
        "-command", "-eix", "-eiex", "--early-init-command", "--early-init-eval-command",
    ]),
    row("lldb", "oOsSkK", &["--one-line", "--one-line-before-file", "--source", "--source-before-file", "--source-on-crash"]),
    row("vi vim nvim view gvim rvim ex", "cSsuUwWil", &["--cmd", "--remote-send", "--remote-expr", "--startuptime"]),
    row("emacs emacsclient", "elfx", &["--eval", "-eval", "--execute", "--load", "-load", "--funcall", "--script", "-script"]),
    row("nano", "sf", &["--speller", "--rcfile"]),
    row("lftp", "cef", &[]),
    row("ssh", "F", &[]),
    row("scp sftp", "FS", &[]),
    row("nc ncat netcat", "ec", &["--exec", "--sh-exec", "--lua-exec"]),
    row("nmap", "", &["--script", "--datadir"]),
    row("apt apt-get", "oc", &["--option", "--config-file"]),
    row("zip", "T", &["-TT", "--unzip-command"]),
    row("pandoc", "oFLd", &["--output", "--filter", "--lua-filter", "--defaults", "--pdf-engine", "--extract-media"]),
    row("gzip gunzip bzip2 xz zstd", "df", &["--decompress", "--force"]),
];

/// Programs with the number of words, other than options, that a star may match: the next word would be a
/// file to write, or a value to set.
const PLAIN_WORDS: &[(&str, usize)] = &[
    ("uniq", 1),
    ("hostname", 0),
    ("xxd", 1),
    ("split", 0),
    ("csplit", 0),
    ("tee", 0),
];

/// Returns whether a program of this name has words that no star matches.
pub(super) fn lists(program: &str) -> bool {
    let mut rows = TABLE.iter().flat_map(|row| row.programs.split(' '));
    rows.any(|name| name == program) || PLAIN_WORDS.iter().any(|(name, _)| *name == program)
}

/// Returns the words of one command that no star matches, as they would be written in a pattern. `in_words`
/// has marks for blanks within a word.
pub(super) fn of_programs(in_words: &str) -> Vec<String> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    let Some(program) = words.next() else {
        return Vec::new();
    };
    let words: Vec<&str> = words.collect();
    let mut found = Vec::new();
    let rows = TABLE
        .iter()
        .filter(|row| row.programs.split(' ').any(|name| name == program));
    for row in rows {
        let until = words.iter().position(|word| *word == "--");
        for word in &words[..until.unwrap_or(words.len())] {
            found.extend(row.option(word).map(|option| format!("{program} {option}")));
        }
    }
    found.extend(positional_effect(program, &words));
    let effect = script_effect(program, &words).or_else(|| inner_command(program, &words));
    found.extend(effect.map(|what| format!("{program} {what}")));
    found
}

impl DangerousOptions {
    /// The option of this row that a word is, or has in its group.
    fn option(&self, word: &str) -> Option<String> {
        let name = word.split('=').next().unwrap_or_default();
        let long = self.long.iter().find(|option| {
            let is_begun = name.len() > 2 && name.starts_with("--") && option.starts_with(name);
            name == **option || is_begun || (self.programs == "gdb" && is_begun_of_gdb(name, option))
        });
        let short = word
            .strip_prefix('-')
            .filter(|short| !short.starts_with('-'))
            .filter(|short| short.len() <= 1 || !self.is_a_word(short));
        let letter = short.and_then(|short| {
            // A value follows the letters. `psql -1` and `xz -9` take none.
            let is_letter =
                |c: &char| c.is_ascii_alphabetic() || (self.programs == "psql" && c.is_ascii_digit());
            let short = short.trim_start_matches(|c: char| c.is_ascii_digit());
            let mut letters = short.chars().take_while(is_letter);
            letters.find(|c| self.letters.contains(*c))
        });
        long.map(|option| (*option).to_owned())
            .or_else(|| letter.map(|letter| format!("-{letter}")))
    }

    /// Returns whether an option with one dash is a whole word, and not a group of letters, as those of
    /// `find` are.
    fn is_a_word(&self, short: &str) -> bool {
        self.letters.is_empty() && short.len() > 1
    }
}

/// Returns whether a word is a beginning of a long option of `gdb`, which takes it with one dash, too: `-ev`.
fn is_begun_of_gdb(name: &str, option: &str) -> bool {
    let letters = name.trim_start_matches('-');
    name.starts_with('-') && letters.len() > 1 && option.trim_start_matches('-').starts_with(letters)
}

/// Returns the effect of a word by its position: `uniq IN OUT` writes a file.
fn positional_effect(program: &str, words: &[&str]) -> Option<String> {
    let plain = || {
        let words = words
            .iter()
            .filter(|word| !word.starts_with(['-', '+']) || **word == "-");
        words.copied()
    };
    let counted = PLAIN_WORDS.iter().find(|(name, _)| *name == program);
    if let Some((_, count)) = counted {
        return plain().nth(*count).map(|_| format!("{program} FILE"));
    }
    let sets =
        |word: &&str| word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match program {
        // `date 01011200` sets the clock.
        "date" => words
            .first()
            .filter(|word| sets(word))
            .map(|_| "date TIME".to_owned()),
        "tar" | "bsdtar" => words
            .first()
            .filter(|word| !word.starts_with('-'))
            .map(|_| format!("{program} LETTERS")),
        // The address may follow the letter: `kubectl get -Ashttps://x`.
        "kubectl" | "oc" => words
            .iter()
            .take_while(|word| **word != "--")
            .any(|word| names_server(word))
            .then(|| format!("{program} -s")),
        "less" | "more" => plain_or_command(words).then(|| format!("{program} +")),
        _ => None,
    }
}

/// Returns whether a word is a group of short options of `kubectl` in which `-s` names a server. The letters
/// before it take no value.
fn names_server(word: &str) -> bool {
    let short = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
    let first = short.and_then(|short| short.chars().find(|letter| "Lcfklnosv".contains(*letter)));
    first == Some('s')
}

/// Returns whether the words give a pager commands: `less +!sh x`.
fn plain_or_command(words: &[&str]) -> bool {
    words.iter().any(|word| word.starts_with('+') && word.len() > 1)
}

/// Returns whether a program of `awk` may write a file: behind `print`, `>` redirects. Before it, `>`
/// compares, as `>=` always does.
fn awk_writes(words: &[&str]) -> bool {
    let text = words.join(" ").replace(">=", " ");
    let printed = text.find("print").unwrap_or(text.len());
    text[printed..].contains('>')
}

/// Returns the effect of a script in the words, of `sed` and `awk`.
fn script_effect(program: &str, words: &[&str]) -> Option<&'static str> {
    let is_any = |signs: &[&str]| {
        words
            .iter()
            .any(|word| signs.iter().any(|sign| word.contains(sign)))
    };
    match program {
        "sed" | "gsed" => words
            .iter()
            .any(|word| sed_does(&word.replace(BLANK, " "), &['e', 'w', 'W', 'r', 'R']))
            .then_some("SCRIPT"),
        "awk" | "gawk" | "mawk" | "nawk" => {
            let runs = is_any(&["system", "|", "getline", "@", "/inet", "ARGV", "close"]);
            let is_unknown = words.iter().any(|word| word.contains(ANYTHING));
            (runs || is_unknown || awk_writes(words)).then_some("PROGRAM")
        }
        _ => None,
    }
}
