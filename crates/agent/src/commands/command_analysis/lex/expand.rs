//! Expands a word with braces, brackets and globs as a shell does: `.{env,x}` is two names, `.en?` may be
//! many.
//!
//! It works on the *shape* of a word (`Word::shape`), in which unquoted characters with a meaning are control
//! characters: so `'{'` in quotes is not a brace. A line cannot contain such characters itself, because the
//! lexer replaces them.
//!
//! | word | names |
//! | --- | --- |
//! | `a.{rs,md}` | `a.rs`, `a.md` |
//! | `.en?` | `.en` and [`STAR`] |
//! | `x{1..3}` | `x` and [`STAR`] |
//! | `{a}` | `{a}`: one alternative is not a brace |
//! | `$X/a` | [`ANYTHING`] and `/a` |
//!
//! The work is bounded: 64 names, 12 braces. Beyond these bounds the rest of a name matches anything.

/// Represents any run of characters in the open form of a word and in the names that it may become.
pub(crate) const ANYTHING: char = '\0';
/// The placeholder for text that `*`, `?` or `[…]` matches: any run of characters within a name.
pub(crate) const STAR: char = '\u{1}';
/// Unquoted `{` in a word's shape.
pub(crate) const BRACE: char = '\u{2}';
/// Unquoted `}` in a word's shape.
pub(crate) const BRACE_END: char = '\u{3}';
/// Unquoted `[` in a word's shape.
pub(crate) const BRACKET: char = '\u{4}';
/// Unquoted `]` in a word's shape.
pub(crate) const BRACKET_END: char = '\u{5}';
/// Unquoted `,` in a word's shape; the last of the marks.
pub(crate) const COMMA: char = '\u{6}';

/// Maximum number of names to expand one word to. Beyond it, the rest of each name matches anything.
const MOST: usize = 64;
/// Maximum number of braces of one word to expand. The names behind a later one match anything.
const MOST_BRACES: usize = 12;

/// Returns the names that a word may become. A name with neither [`STAR`] nor [`ANYTHING`] is known to the
/// letter.
pub(crate) fn expand(shape: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![brackets(shape)];
    let mut left = MOST_BRACES;
    while let Some(shape) = open.pop() {
        let Some((before, inside, after)) = first_brace(&shape) else {
            done.push(plain(&shape));
            continue;
        };
        left = left.saturating_sub(1);
        let pieces = alternatives(inside);
        if left == 0 || done.len() + open.len() + pieces.len() > MOST {
            done.push(format!("{}{ANYTHING}", plain(before)));
        } else if pieces.len() > 1 {
            open.extend(pieces.iter().map(|piece| format!("{before}{piece}{after}")));
        } else if inside.contains("..") {
            open.push(format!("{before}{STAR}{after}"));
        } else {
            open.push(format!("{before}{{{inside}}}{after}"));
        }
    }
    done
}

/// Returns a name in which a star also stands for names that begin with a dot. Two stars still stand for any
/// number of folders.
pub(crate) fn dotted(name: &str) -> String {
    let parts = name.split('/').map(|part| {
        if part.len() > 1 && part.chars().all(|c| c == STAR) {
            format!("{ANYTHING}{STAR}{STAR}")
        } else {
            part.replace(STAR, "\0")
        }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the shape with [`STAR`] instead of each bracket expression that has an end.
fn brackets(shape: &str) -> String {
    let mut text = String::with_capacity(shape.len());
    let mut rest = shape;
    while let Some((before, after)) = rest.split_once(BRACKET) {
        text.push_str(before);
        match after.split_once(BRACKET_END) {
            Some((_, after)) => {
                text.push(STAR);
                rest = after;
            }
            None => {
                text.push('[');
                rest = after;
                break;
            }
        }
    }
    text + rest
}

/// Returns the first brace with an end: the text before it, in it and behind it.
fn first_brace(shape: &str) -> Option<(&str, &str, &str)> {
    let mut starts = shape.match_indices(BRACE).take(MOST_BRACES);
    starts.find_map(|(start, _)| {
        let inside = &shape[start + 1..];
        let end = end_of_brace(inside)?;
        Some((&shape[..start], &inside[..end], &inside[end + 1..]))
    })
}

/// Returns the position of the brace that closes the one before `inside`, in bytes; `None` if there is none.
fn end_of_brace(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in inside.char_indices() {
        match c {
            BRACE => depth += 1,
            BRACE_END if depth == 0 => return Some(at),
            BRACE_END => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the pieces between the commas of this brace, without those of inner braces.
fn alternatives(inside: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = inside.split(|c| {
        match c {
            BRACE => depth += 1,
            BRACE_END => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == COMMA && depth == 0
    });
    parts.collect()
}

/// Returns the shape with the original characters in place of marks that have no meaning there.
fn plain(shape: &str) -> String {
    let written = |c| match c {
        BRACE => '{',
        BRACE_END => '}',
        BRACKET => '[',
        BRACKET_END => ']',
        COMMA => ',',
        c => c,
    };
    shape.chars().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lex;

    #[test]
    fn a_word_becomes_what_a_shell_makes_of_it() {
        for (line, names) in [
            (".{env,x}", &[".env", ".x"][..]),
            ("{a,b{c,d}}e", &["ae", "bce", "bde"]),
            (".{env}", &[".{env}"]),
            ("{}", &["{}"]),
            (".{a..z}nv", &[".\u{1}nv"]),
            (".en?", &[".en\u{1}"]),
            (".en[vw]x", &[".en\u{1}x"]),
            (".e*{v,w}", &[".e\u{1}v", ".e\u{1}w"]),
            ("'.{env,x}*'", &[".{env,x}*"]),
            ("a[b", &["a[b"]),
            ("a{b,c", &["a{b,c"]),
            ("a{b{c,d}", &["a{bc", "a{bd"]),
            ("a,b}]", &["a,b}]"]),
            ("$HOME/x", &["$HOME/x"]),
            ("$X/x", &["\0/x"]),
            ("\"$PWD\"/x", &["./x"]),
        ] {
            let mut found = super::expand(&lex(line, true).commands[0][0].shape);
            found.sort();
            assert_eq!(found, names, "{line}");
        }
    }

    #[test]
    fn many_braces_stay_few_names() {
        for line in [
            "{a,b}".repeat(10_000),
            "{".repeat(100_000),
            "{a,".repeat(50_000),
            "[".repeat(100_000),
        ] {
            assert!(lex(&line, true).commands[0][0].names().len() <= 100);
        }
    }
}
