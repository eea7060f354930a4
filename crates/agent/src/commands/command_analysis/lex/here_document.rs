//! A here-document: its delimiter, and its lines.
//!
//! It is cut from the line as bash does it, before it is expanded:
//!
//! | delimiter | a line ends at | expanded |
//! | --- | --- | --- |
//! | `<<E` | a line end that has no backslash in front of it | `$`, backticks; `\\` before `$`, a backtick, itself |
//! | `<<-E` | the same; leading tabs are ignored | the same |
//! | `<<'E'` | each line end | nothing |

/// A here-document whose lines are still to come.
#[derive(Debug)]
pub(crate) struct HereDocument {
    /// The line that ends it.
    pub(crate) end: String,
    /// Whether bash expands nothing in it.
    pub(crate) quoted: bool,
    /// Whether tabs at the beginning of its lines are ignored.
    pub(crate) tabs: bool,
}

impl HereDocument {
    /// Reads the document from a text. Returns its lines, the rest, and whether its end is certain.
    pub(crate) fn take<'t>(&self, text: &'t str) -> (String, &'t str, bool) {
        let mut body = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let begin = body.len();
            loop {
                let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = behind;
                body.push_str(line);
                let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
                if self.quoted || backslashes % 2 == 0 || rest.is_empty() {
                    break;
                }
                // The line continues on the next one.
                body.pop();
            }
            let line = if self.tabs {
                body[begin..].trim_start_matches('\t')
            } else {
                &body[begin..]
            };
            if line.trim_end_matches('\r') == self.end {
                let certain = line == self.end;
                body.truncate(begin);
                return (body, rest, certain);
            }
            body.push('\n');
        }
        (body, rest, true)
    }
}
