//! Programs that treat their input as data.
//!
//! The input of a command may be commands, as in `curl … | sh`. A program may therefore read it only if it is
//! on one of these lists: the programs that run their input are too many to list. `CommandAnalysis::command`
//! asks [`takes_data`] about each command with input; if the answer is no, the line hides something. This
//! applies from version 7 of the rules.
//!
//! A program on these lists causes no question, although a rule is about commands that could be its input.
//! Add a program only if none of its options runs anything, or add it to a list by which its words are
//! checked.

use super::subcommands::options_before_subcommand;
use super::wrapper_commands::basename;
use crate::commands::command_analysis::lex::word::Word;

/// Programs that run nothing, regardless of their words and their input. Many read no input at all: words of
/// the shell, and programs for texts, bytes, files, processes and the clipboard.
const DATA: &str = "done fi esac } ;; for case in select : true false read echo printf test [ [[ cd pushd popd pwd \
    export unset local declare typeset readonly return exit break continue let shift wait set exec \
    mapfile readarray cat tac rev head tail wc nl cut paste join tr uniq comm column fmt fold expand \
    unexpand pr shuf tsort grep egrep fgrep zgrep look diff cmp diffstat strings iconv dos2unix unix2dos \
    envsubst jq yq xmllint bc seq factor numfmt ts pv tee sponge rustfmt gofmt clang-format shellcheck \
    od xxd hexdump base32 base64 basenc cksum sum md5 md5sum sha1sum sha224sum sha256sum sha384sum \
    sha512sum b2sum b3sum shasum gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zstdcat \
    lz4 pbcopy xclip xsel wl-copy clip.exe ls tree stat file du df basename dirname realpath readlink \
    mktemp mkdir rmdir touch rm cp mv ln chmod chown sleep date kill ps pgrep id whoami hostname uname \
    nproc uptime which type cal tput clear";

/// Programs that run something only if their words say so. They are not safe if words also come from input.
const DATA_BY_WORDS: &str = "sort less more rg ag find fd fdfind curl xargs";

/// Programs some of whose subcommands treat input as data, with these subcommands.
const DATA_BY_SUBCOMMAND: &[(&str, &str)] = &[
    (
        "git",
        "add apply blame branch cat-file check-attr check-ignore checkout cherry-pick clean commit count-objects \
         describe diff diff-tree for-each-ref hash-object log ls-files ls-tree merge merge-base mktree mv name-rev \
         notes patch-id reflog reset restore rev-list rev-parse revert rm shortlog show show-ref stash status \
         stripspace switch symbolic-ref tag update-index worktree --version",
    ),
    ("gh", "api gist issue pr release"),
    ("kubectl", "apply create delete diff get"),
    (
        "openssl",
        "asn1parse base64 dgst enc md5 pkey rand req rsa sha256 x509",
    ),
    ("python", "-mjson.tool"),
    ("python3", "-mjson.tool"),
];

/// Directories of the system, in which a program's name can be trusted.
const SYSTEM: &[&str] = &["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"];

/// Returns whether a list, in which blanks separate the names, contains a name.
fn lists(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// Returns whether a command treats its input as data.
///
/// `given`: whether more words come from its input, as after `xargs`; then only programs count that run
/// nothing with any words. A program with a path counts if the path is a directory of the system.
pub(crate) fn takes_data(words: &[Word], given: bool) -> bool {
    let Some((first, arguments)) = words.split_first() else {
        return true;
    };
    let program = basename(&first.text);
    let is_of_system = SYSTEM
        .iter()
        .any(|place| first.text.strip_prefix(place) == Some(program));
    if first.text != program && !is_of_system {
        return false;
    }
    let word = |at: usize| arguments.get(at).map_or("", |word| word.text.as_str());
    if let Some((_, subcommands)) = DATA_BY_SUBCOMMAND.iter().find(|(name, _)| *name == program) {
        let options = options_before_subcommand(words);
        let subcommand = match word(options) {
            "-m" => format!("-m{}", word(options + 1)),
            text => text.to_owned(),
        };
        return lists(subcommands, &subcommand);
    }
    match program {
        "awk" | "gawk" | "mawk" | "nawk" => awk_takes_data(arguments),
        "sed" | "gsed" => !given && sed_takes_data(arguments),
        "tar" | "bsdtar" => !given && tar_takes_data(arguments),
        _ if lists(DATA, program) => true,
        _ => !given && lists(DATA_BY_WORDS, program) && !reads_options(program, arguments),
    }
}

/// Returns whether a command writes names of existing files, and nothing else.
pub(crate) fn lists_names(words: &[Word]) -> bool {
    let has = |letter: char, long: &[&str]| {
        words.iter().any(|word| {
            let text = word.text.as_str();
            let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            long.contains(&text) || short.is_some_and(|letters| letters.contains(letter))
        })
    };
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let names_matches = || has('l', &["--files-with-matches"]);
    match (word(0), word(1)) {
        ("find", _) => !words
            .iter()
            .any(|word| word.text.starts_with("-printf") || word.text.starts_with("-exec")),
        ("fd" | "fdfind", _) => !has('x', &["--exec"]) && !has('X', &["--exec-batch"]),
        ("grep", _) => names_matches(),
        ("rg", _) => names_matches() || has('\0', &["--files"]),
        ("git", "grep") => names_matches(),
        ("git", "ls-files") => true,
        ("git", "diff") => has('\0', &["--name-only"]),
        _ => false,
    }
}

/// Returns whether `awk` has its program in its words and not in files, and the program neither runs nor
/// reads anything: `awk -f -` runs its input.
fn awk_takes_data(arguments: &[Word]) -> bool {
    let mut words = arguments.iter().map(|word| word.text.as_str());
    let mut program = None;
    while let Some(word) = words.next() {
        match word {
            "-F" | "-v" => {
                words.next();
            }
            _ if word.starts_with("-F") || word.starts_with("-v") => {}
            _ if word.starts_with('-') => return false,
            _ => {
                program = Some(word);
                break;
            }
        }
    }
    program.is_some_and(|program| {
        !["system", "|", "getline", "@", "/dev/"]
            .iter()
            .any(|sign| program.contains(sign))
    })
}

/// Returns whether `sed` has its script in its words, and the script neither runs nor writes anything.
fn sed_takes_data(arguments: &[Word]) -> bool {
    let from_file = |text: &str| match text.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.starts_with("-f"),
        Some(short) => short.contains('f') && !short.starts_with(['e', 'l']),
        None => false,
    };
    !arguments.iter().any(|word| {
        let text = word.text.as_str();
        word.dynamic && text.starts_with('-') || from_file(text) || sed_does(text, &['e', 'w', 'W'])
    })
}

/// Returns whether a word may be a script of sed with one of these commands, or with one of them as a flag of
/// `s`. It has false positives.
pub(crate) fn sed_does(text: &str, commands: &[char]) -> bool {
    let script = match text.strip_prefix('-') {
        None => text,
        Some(option) => match option.split_once('=') {
            Some((_, script)) => script,
            None if option.starts_with('e') => &option[1..],
            None => return false,
        },
    };
    // The character before, blanks aside; `;` at the beginning.
    let mut before = ';';
    let mut rest = script.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next().unwrap_or(';');
        let begins = before.is_ascii_digit() || "$;{}!\n".contains(before);
        // The command may follow the pattern of an address, or be in the text of `s`.
        let may_begin = "/|,#:IM".contains(before) && after != before && !after.is_alphanumeric();
        if commands.contains(&c) && (begins || may_begin || is_flags(script, rest.as_str())) {
            return true;
        }
        if c == '\n' || !c.is_whitespace() {
            before = c;
        }
    }
    false
}

/// Returns whether the text before `rest` in a script ends in flags of `s`: a few letters behind its
/// delimiter, before the end of a command.
fn is_flags(script: &str, rest: &str) -> bool {
    const MOST: usize = 8;
    let is_flag = |c: &char| c.is_ascii_alphanumeric();
    let end = rest.chars().take(MOST).find(|c| !is_flag(c)).unwrap_or(';');
    let until = &script[..script.len() - rest.len()];
    let border = until.chars().rev().take(MOST).find(|c| !is_flag(c));
    matches!(end, ';' | '}' | '\n' | ' ') && border.is_some_and(|c| "/|,#:!@%~+".contains(c))
}

/// Returns whether `tar` has only short options, and none of them names a program or a list of names, which
/// can contain options too.
fn tar_takes_data(arguments: &[Word]) -> bool {
    let mut is_first = true;
    !arguments.iter().any(|word| {
        let is_letters = std::mem::take(&mut is_first) || word.text.starts_with('-');
        word.dynamic && is_letters
            || word.text.starts_with("--")
            || (is_letters && word.text.contains(['T', 'I', 'F']))
    })
}

/// Returns whether an option makes the program read its options from a file.
fn reads_options(program: &str, arguments: &[Word]) -> bool {
    let begins = |start: &str| arguments.iter().any(|word| word.text.starts_with(start));
    match program {
        "curl" => begins("-K") || begins("--config"),
        "sort" => begins("--compress"),
        "rg" => begins("--pre"),
        "find" => begins("-files0-from"),
        _ => false,
    }
}

/// Returns whether the words of a program that usually runs none of its words name a program to run.
pub(crate) fn names_a_program(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let begins = |start: &str| arguments.iter().any(|word| word.text.starts_with(start));
    match basename(&program.text) {
        "ag" => begins("--pager"),
        "hash" => begins("-p"),
        "mapfile" | "readarray" => begins("-C"),
        "sed" | "gsed" => arguments.iter().any(|word| sed_does(&word.text, &['e'])),
        "awk" | "gawk" | "mawk" | "nawk" => begins("-l") || begins("--load") || begins("@load"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_flags_of_sed_are_found() {
        for script in [
            "1e git push",
            "e",
            "$e x",
            "/x/e git push",
            "/x/ e git push",
            "{e x",
            "{ e x; }",
            "p;e",
            "s/a/b/e",
            "s/a/b/ge",
            "s|a|b|2e",
            "-e1e x",
            "--expression=1e x",
            "-es/a/b/e",
            "1!e x",
            "1egit push",
            "$ egit push",
            "/x/Ie x",
        ] {
            assert!(sed_does(script, &['e']), "{script:?}");
        }
        for script in [
            "s/a/e/",
            "s/the/one/g",
            "p",
            "1,5p",
            "-n",
            "-i",
            "-e",
            "-E",
            "/^e/d",
            "s/^e/x/",
            "s/a/b/;s/c/d/g",
            "/e/d",
            "file.e",
        ] {
            assert!(!sed_does(script, &['e']), "{script:?}");
        }
    }
}
