//! Programs behind a pipe that need no rule: they only read their standard input, and write it to their
//! output, as a whole or in part. `cargo test 2>&1 | tail -20` does no more than `cargo test`, so a rule for
//! that is enough.
//!
//! Only words that are listed here count, whatever other options a program has: `tail -f`, `grep -r`, `grep
//! -f x`, `sort -o x`, `uniq IN OUT` and any name of a file need a rule. The options by which `grep` stops
//! reading need one too, because this ends the command that writes to it. `head` is too common for that. All
//! this applies from version 9 of the rules.

/// A program with the words that make it read its standard input alone.
pub(crate) struct Reader {
    pub(crate) name: &'static str,
    /// Letters without a value.
    pub(crate) flags: &'static str,
    /// Letters with a number.
    pub(crate) numbers: &'static str,
    /// Letters with any text, which is never the name of a file or program.
    pub(crate) texts: &'static str,
    /// Long options; those that end in `=` have a value.
    pub(crate) long: &'static [&'static str],
    /// Whether `-20` is a number of lines.
    pub(crate) counts: bool,
    /// The minimum and maximum number of words that are not options. None of them names a file.
    pub(crate) plain: (usize, usize),
}

const READERS: &[Reader] = &[
    Reader {
        name: "cat",
        flags: "AbeEnstTuv",
        numbers: "",
        texts: "",
        long: &["--number", "--number-nonblank", "--show-all", "--squeeze-blank"],
        counts: false,
        plain: (0, 0),
    },
    Reader {
        name: "cut",
        flags: "s",
        numbers: "",
        texts: "bcdf",
        long: &[
            "--bytes=",
            "--characters=",
            "--complement",
            "--delimiter=",
            "--fields=",
            "--only-delimited",
            "--output-delimiter=",
        ],
        counts: false,
        plain: (0, 0),
    },
    Reader {
        name: "grep",
        flags: "EFGHPabchinosvwx",
        numbers: "ABC",
        texts: "",
        long: &[
            "--after-context=",
            "--before-context=",
            "--color=",
            "--context=",
            "--count",
            "--extended-regexp",
            "--fixed-strings",
            "--ignore-case",
            "--invert-match",
            "--line-buffered",
            "--line-number",
            "--only-matching",
            "--word-regexp",
        ],
        counts: true,
        plain: (1, 1),
    },
    Reader {
        name: "head",
        flags: "qv",
        numbers: "cn",
        texts: "",
        long: &["--bytes=", "--lines=", "--quiet", "--verbose"],
        counts: true,
        plain: (0, 0),
    },
    Reader {
        name: "sort",
        flags: "MVbdfghinrsu",
        numbers: "",
        texts: "kt",
        long: &[
            "--field-separator=",
            "--human-numeric-sort",
            "--ignore-case",
            "--key=",
            "--numeric-sort",
            "--reverse",
            "--stable",
            "--unique",
            "--version-sort",
        ],
        counts: false,
        plain: (0, 0),
    },
    Reader {
        name: "tail",
        flags: "qv",
        numbers: "cn",
        texts: "",
        long: &["--bytes=", "--lines=", "--quiet", "--verbose"],
        counts: true,
        plain: (0, 0),
    },
    Reader {
        name: "tr",
        flags: "Ccdst",
        numbers: "",
        texts: "",
        long: &["--complement", "--delete", "--squeeze-repeats", "--truncate-set1"],
        counts: false,
        plain: (1, 2),
    },
    Reader {
        name: "uniq",
        flags: "Dcdiu",
        numbers: "fsw",
        texts: "",
        long: &["--count", "--ignore-case", "--repeated", "--unique"],
        counts: false,
        plain: (0, 0),
    },
    Reader {
        name: "wc",
        flags: "Lclmw",
        numbers: "",
        texts: "",
        long: &["--bytes", "--chars", "--lines", "--max-line-length", "--words"],
        counts: false,
        plain: (0, 0),
    },
];

/// Returns whether a command only reads its standard input and writes to its output.
///
/// ```
/// use agentx_agent::command_split::only_reads_input;
/// assert!(only_reads_input("tail -20") && only_reads_input("grep -n 'a b'"));
/// assert!(!only_reads_input("tail -f") && !only_reads_input("grep word x"));
/// ```
pub fn only_reads_input(command: &str) -> bool {
    let Some(words) = known_words(command) else {
        return false;
    };
    let Some((program, words)) = words.split_first() else {
        return false;
    };
    let reader = READERS.iter().find(|reader| reader.name == program);
    reader.is_some_and(|reader| reader.takes(words))
}

/// The words of a reader, taken apart.
#[derive(Debug, Default)]
pub(crate) struct ReadWords<'w> {
    /// Words that are neither options nor their values.
    pub(crate) plain: Vec<&'w str>,
    /// The options: a letter, or a long option without its `=`, with the value.
    pub(crate) options: Vec<(&'w str, Option<&'w str>)>,
}

impl Reader {
    /// Returns whether all words are listed.
    fn takes(&self, words: &[String]) -> bool {
        self.read(words).is_some()
    }

    /// Takes the words apart; `None` if one of them is not listed.
    pub(crate) fn read<'w>(&self, words: &'w [String]) -> Option<ReadWords<'w>> {
        let mut read = ReadWords::default();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word.starts_with("--") {
                read.options.push(self.long_option(word)?);
            } else if let Some(group) = word.strip_prefix('-') {
                self.read_group(group, &mut words, &mut read)?;
            } else {
                read.plain.push(word);
            }
        }
        (self.plain.0..=self.plain.1)
            .contains(&read.plain.len())
            .then_some(read)
    }

    /// Returns a long option with its value; `None` if it is not listed.
    fn long_option<'w>(&self, word: &'w str) -> Option<(&'w str, Option<&'w str>)> {
        self.long
            .iter()
            .find_map(|option| match option.strip_suffix('=') {
                Some(name) => {
                    let value = word.strip_prefix(*option).filter(|value| !value.is_empty())?;
                    Some((&word[..name.len()], Some(value)))
                }
                None => (word == *option).then_some((word, None)),
            })
    }

    /// Takes apart the letters behind a dash: flags, and at the end perhaps one with a value, which may be
    /// the next word. `None` if a letter is not listed.
    fn read_group<'w>(
        &self,
        group: &'w str,
        words: &mut impl Iterator<Item = &'w str>,
        read: &mut ReadWords<'w>,
    ) -> Option<()> {
        if group.is_empty() {
            return None;
        }
        if self.counts && group.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(());
        }
        for (at, letter) in group.char_indices() {
            let (name, value) = (
                &group[at..at + letter.len_utf8()],
                &group[at + letter.len_utf8()..],
            );
            let is_number = self.numbers.contains(letter);
            if is_number || self.texts.contains(letter) {
                let value = if value.is_empty() { words.next()? } else { value };
                read.options.push((name, Some(value)));
                return (!is_number || is_count(value)).then_some(());
            }
            if !self.flags.contains(letter) {
                return None;
            }
            read.options.push((name, None));
        }
        Some(())
    }
}

/// Returns whether a text is a number of lines or bytes: `20`, `+5`, `-3`.
fn is_count(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words of a command without their quotes; `None` if a shell may read one of them in another way than as
/// it is written.
pub(crate) fn known_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`' | '!') => return None,
            (Some('"'), '\\') => {
                let next = letters.next().filter(|next| !"$`\"\\\n".contains(*next))?;
                word.get_or_insert_default().extend([c, next]);
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, c) if c.is_ascii_alphanumeric() || "-_./,:+@%".contains(c) => {
                word.get_or_insert_default().push(c);
            }
            (None, '=') if word.is_some() => word.get_or_insert_default().push(c),
            // Within a word a shell expands neither, as in `HEAD~1` and `main^`.
            (None, '~' | '^') if word.as_deref().is_some_and(is_of_revision) => {
                word.get_or_insert_default().push(c);
            }
            (None, _) => return None,
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Returns whether a word may be the beginning of `HEAD~1` or `main^^`: not of `a:~/x`.
fn is_of_revision(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_alphanumeric() || "~^".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_a_shell_leaves_as_they_are_are_known() {
        let words = known_words("git diff HEAD~1 'a b' --stat=80 x^^").unwrap();
        assert_eq!(words, ["git", "diff", "HEAD~1", "a b", "--stat=80", "x^^"]);
        for command in [
            "cat ~/x",
            "cat a:~/x",
            "cat x=~/y",
            "cat ^x",
            "cat *",
            "cat $X",
            "cat {a,b}",
            "cat a\\ b",
        ] {
            assert_eq!(known_words(command), None, "{command}");
        }
    }

    #[test]
    fn readers_with_listed_words_need_no_rule() {
        for command in [
            "tail -20",
            "tail -n +5",
            "tail --lines=20",
            "head -c100",
            "wc -lw",
            "grep -n word",
            "grep -vE 'a|b' -A 3",
            r#"grep "a\|b""#,
            "grep word -i --color=never",
            "grep -5 word",
            "sort -t, -k 2,2n",
            "sort -rn",
            "uniq -c",
            "cut -d' ' -f1",
            "cut -d : -f 1,3",
            "tr a-z A-Z",
            r"tr -d '\n'",
            "cat",
            "cat -A",
        ] {
            assert!(only_reads_input(command), "{command}");
        }
    }

    #[test]
    fn words_that_are_not_listed_need_one() {
        for command in [
            "tail -f",
            "tail -20f",
            "tail -20 x",
            "tail -n x",
            "tail +5",
            "tail --pid=1",
            "tail --follow",
            "tail --lines",
            "tail -n",
            "head --by=5",
            "head -",
            "head -- x",
            "grep",
            "grep word x",
            "grep -f x",
            "grep -fx word",
            "grep -r word",
            "grep -nr word",
            "grep -A word x",
            "grep -q word",
            "grep -nq word",
            "grep -m 1 word",
            "grep -m1 word",
            "grep -l word",
            "grep -L word",
            "grep --quiet word",
            "grep --max-count=1 word",
            "grep -e a",
            "grep -d recurse word",
            "grep --include=x word",
            "grep $X",
            "grep \"$X\"",
            "grep \"`x`\"",
            "grep *",
            "grep ~",
            "grep =ls",
            "sort -o x",
            "sort -ox",
            "sort -no x",
            "sort --output=x",
            "sort --compress-program=x",
            "sort --files0-from=-",
            "sort -T x",
            "sort x",
            "uniq x",
            "uniq - x",
            "uniq -c x y",
            "cut -f1 x",
            "cut -d , -f1 x",
            "wc --files0-from=x",
            "wc -l x",
            "tr a b c",
            "tr",
            "cat x",
            "cat -",
            "./tail -5",
            "/bin/tail -5",
            "tee",
            "less",
            "sed p",
            "",
        ] {
            assert!(!only_reads_input(command), "{command}");
        }
    }
}
