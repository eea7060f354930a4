//! An incomplete sentence: open signs are closed, so that emphasised text looks emphasised before its end
//! arrives, and does not change then.

/// Returns the text with its open signs closed.
pub(super) fn closed(text: &str) -> String {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if c == '\\' {
            rest = rest.get(1..).map_or("", skip_one);
            before = 'x';
            continue;
        }
        let Some(sign) = sign_at(rest) else {
            before = c;
            rest = skip_one(rest);
            continue;
        };
        let after = rest[sign.len()..].chars().next();
        if sign.starts_with('`') {
            match rest[sign.len()..].find(sign) {
                Some(end) => rest = &rest[sign.len() + end + sign.len()..],
                None => return format!("{text}{}{sign}", if text.ends_with('`') { " " } else { "" }),
            }
            before = 'x';
            continue;
        }
        // A sign within a word or a number, as in `2*3`, is seldom emphasis.
        let is_within = before.is_ascii_alphanumeric() || (sign.starts_with('_') && before.is_alphanumeric());
        let opens = after.is_some_and(|c| !c.is_whitespace()) && !is_within;
        if open.last() == Some(&sign) && !before.is_whitespace() {
            open.pop();
        } else if opens {
            open.push(sign);
        }
        before = 'x';
        rest = &rest[sign.len()..];
    }
    // A sign after a blank closes nothing.
    let trimmed = text.trim_end();
    let mut closed = if open.is_empty() { text } else { trimmed }.to_owned();
    open.iter().rev().for_each(|sign| closed.push_str(sign));
    closed
}

fn sign_at(text: &str) -> Option<&str> {
    let c = text
        .chars()
        .next()
        .filter(|c| matches!(c, '*' | '_' | '`' | '~'))?;
    let run = text.len() - text.trim_start_matches(c).len();
    match c {
        '`' => Some(&text[..run]),
        '~' => (run == 2).then(|| &text[..2]),
        _ if run <= 3 => Some(&text[..run]),
        _ => None,
    }
}

fn skip_one(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn what_is_open_is_closed() {
        for (text, expected) in [
            ("plain", "plain"),
            ("it is **very wa", "it is **very wa**"),
            ("a *b **c", "a *b **c***"),
            ("`let x", "`let x`"),
            ("`a` and ``b`c", "`a` and ``b`c``"),
            ("2 * 3 and 4", "2 * 3 and 4"),
            ("5*3 and 2**10", "5*3 and 2**10"),
            ("你**好", "你**好**"),
            ("**done** and", "**done** and"),
            ("snake_case_name", "snake_case_name"),
            ("**bold ", "**bold**"),
            ("\\*not", "\\*not"),
            ("~~gone", "~~gone~~"),
            ("ends with **", "ends with **"),
            ("你 **好", "你 **好**"),
        ] {
            assert_eq!(closed(text), expected, "{text:?}");
        }
    }
}
