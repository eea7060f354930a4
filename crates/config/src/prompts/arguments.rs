//! Inserts the arguments of a command into its text: `$ARGUMENTS` for all of them, `$1` to `$9` for one each.

/// The placeholder for all words.
const ALL: &str = "$ARGUMENTS";

/// A place for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    All,
    /// The word with this number, from 1.
    Word(usize),
}

impl Placeholder {
    /// Returns the placeholder at the beginning of a text. `$10` and `$ARGUMENTS_OF` are none.
    fn at(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix(ALL) {
            let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            return (!goes_on).then_some(Self::All);
        }
        let mut chars = text.strip_prefix('$')?.chars();
        let digit = chars.next()?.to_digit(10).filter(|digit| *digit > 0)?;
        let goes_on = chars.next().is_some_and(|c| c.is_ascii_digit());
        (!goes_on).then(|| Self::Word(usize::try_from(digit).unwrap_or(usize::MAX)))
    }

    fn len(self) -> usize {
        match self {
            Self::All => ALL.len(),
            Self::Word(_) => 2,
        }
    }
}

/// Returns whether a text has a place for words.
pub(super) fn has_placeholder(text: &str) -> bool {
    text.match_indices('$')
        .any(|(at, _)| Placeholder::at(&text[at..]).is_some() && !text[..at].ends_with('\\'))
}

/// Returns the text with the words in their places. Words that a text has no place for follow it. A backslash
/// before a placeholder keeps it as it is. Placeholders among the words stay as they are.
pub(super) fn with_arguments(text: &str, arguments: &str) -> String {
    let arguments = arguments.trim();
    let words = words(arguments);
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let Some(placeholder) = Placeholder::at(from) else {
            filled.push_str(before);
            filled.push('$');
            rest = &from[1..];
            continue;
        };
        let (written, after) = from.split_at(placeholder.len());
        rest = after;
        if let Some(before) = before.strip_suffix('\\') {
            filled.push_str(before);
            filled.push_str(written);
            continue;
        }
        filled.push_str(before);
        filled.push_str(match placeholder {
            Placeholder::All => arguments,
            Placeholder::Word(number) => words.get(number - 1).map_or("", String::as_str),
        });
    }
    filled.push_str(rest);
    if !arguments.is_empty() && !has_placeholder(text) {
        filled.push_str("\n\n");
        filled.push_str(arguments);
    }
    filled
}

/// Splits at blanks. Quotes keep words together; a single quote only at the beginning of a word, because it
/// may be an apostrophe.
fn words(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = Default::default();
    for c in arguments.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || (c == '\'' && word.is_none()) => {
                quote = Some(c);
                word = Some(word.unwrap_or_default());
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_into_their_places_once() {
        for (text, arguments, filled) in [
            ("Fix $ARGUMENTS.", " a b ", "Fix a b."),
            ("$2 before $1", "one \"two words\"", "two words before one"),
            ("$1 and $2", "one", "one and "),
            ("It costs $10 or \\$1.", "", "It costs $10 or $1."),
            ("$1 $2", "$2 x", "$2 x"),
            ("$ARGUMENTS_OF $", "x", "$ARGUMENTS_OF $\n\nx"),
            ("No place.", "don't stop", "No place.\n\ndon't stop"),
            ("No place.", "  ", "No place."),
            ("[$1]", "'a b", "[a b]"),
            ("é$1é", "ü", "éüé"),
        ] {
            assert_eq!(with_arguments(text, arguments), filled, "{text:?} {arguments:?}");
        }
    }
}
