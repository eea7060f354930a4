//! Replaces parts of screens that differ from run to run: directories, ids, times, what turns. Each is as
//! long as it was, so that columns stay columns; but for the home, whose path ends its row wherever it is
//! shown.

/// The name of a world's folder has this number of letters, so that rows always break at the same place.
pub(crate) const ROOT: usize = "/tmp/ax123456".len();

/// Rows as they would be in every run of a world that lies at `root`.
pub(crate) fn stable(rows: &[String], root: &str) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| row_of(row, root)).collect();
    for at in 1..rows.len() {
        // An id that the terminal has broken.
        let begun = rows[at - 1].rsplit_once("ses_").map(|(_, id)| id.len());
        if let Some(begun) = begun.filter(|begun| begun + rows[at].len() == ID.len()) {
            rows[at] = ID[begun..].to_owned();
        }
        // A digest that the terminal has broken.
        let is_digit = |c: char| c.is_ascii_hexdigit();
        let begun = rows[at - 1].len() - rows[at - 1].trim_end_matches(is_digit).len();
        let is_rest = (1..20).contains(&rows[at].len()) && rows[at].chars().all(is_digit);
        if is_rest && begun >= 20 {
            rows[at] = DIGITS[..rows[at].len()].to_owned();
        }
    }
    rows
}

/// Replaces the varying parts of one row.
pub(crate) fn row_of(row: &str, root: &str) -> String {
    assert_eq!(root.len(), ROOT, "{root}");
    let row = row
        .replace(&format!("{root}/ws"), "/home/ada/garden")
        .replace(&format!("{root}/home"), "/home/ada")
        .replace(root, "/home/ada/dir");
    let row = row.replace(env!("CARGO_PKG_VERSION"), "0.1.0");
    let row: String = row
        .chars()
        .map(|c| if TURNING.contains(c) { '⠋' } else { c })
        .collect();
    times(&hashes(&ids(&ports(&row))))
}

/// The digits that stand for those of a digest.
const DIGITS: &str = "39a3f02fc12495f439a3f02fc12495f439a3f02fc12495f439a3f02fc12495f4";

/// Digests: 20 to 64 digits, as words or behind a sign.
fn hashes(row: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, 'a'..='f');
    let mut replaced = String::new();
    let mut rest = row;
    while let Some(start) = rest.find(is_digit) {
        let run = rest[start..].find(|c| !is_digit(c)).unwrap_or(rest.len() - start);
        replaced.push_str(&rest[..start]);
        match DIGITS.get(..run).filter(|_| run >= 20) {
            Some(digits) => replaced.push_str(digits),
            None => replaced.push_str(&rest[start..start + run]),
        }
        rest = &rest[start + run..];
    }
    replaced.push_str(rest);
    replaced
}

/// The port of Ollama, which texts name.
const PORT_IN_TEXTS: &str = "11434";

/// Replaces the ports of servers on this machine.
fn ports(row: &str) -> String {
    let mut row = row.to_owned();
    for host in ["127.0.0.1:", "localhost:"] {
        let mut parts = row.split(host);
        let mut replaced = parts.next().unwrap_or_default().to_owned();
        for after in parts {
            replaced.push_str(host);
            if after.starts_with(PORT_IN_TEXTS) {
                replaced.push_str(after);
                continue;
            }
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            replaced.push_str(&"40404"[..digits.min(5)]);
            replaced.push_str(&after[digits..]);
        }
        row = replaced;
    }
    row
}

/// The characters of the spinner.
const TURNING: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/// The session of every journey.
const ID: &str = "7d4k9q2m5x8w";

/// Ids of sessions: the sign of what they are, and twelve letters.
fn ids(row: &str) -> String {
    let mut out = String::new();
    let mut rest = row;
    while let Some(at) = rest.find("ses_") {
        let (before, id) = rest.split_at(at + 4);
        out.push_str(before);
        let length = id.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(id.len());
        out.extend(ID.chars().take(length));
        rest = &id[length..];
    }
    out + rest
}

/// Seconds: `2s`, `0.3s`, `2.01 s`.
fn times(row: &str) -> String {
    let mut out = String::new();
    let mut rest = row;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        out.push_str(before);
        let length = number
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(number.len());
        let (number, after) = number.split_at(length);
        let unit = after.strip_prefix(' ').unwrap_or(after);
        let is_time = unit.starts_with('s') && !unit[1..].starts_with(|c: char| c.is_alphanumeric());
        let in_a_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match number.split_once('.') {
            _ if !is_time || in_a_word => out.push_str(number),
            Some((_, part)) => out.push_str(&format!("0.{}", "1".repeat(part.len()))),
            None => out.push('1'),
        }
        rest = after;
    }
    out + rest
}
