//! Restricts the stars of a rule about command lines: they match neither other places, nor variables whose
//! value nobody saw.
//!
//! `CallSubject::covers_command` makes these checks for a pattern that fits a command, besides those of
//! `severity`. Each of them can only keep a rule from covering: if one fails, a person is asked.
//!
//! | pattern | command | covered |
//! | --- | --- | --- |
//! | `rm build/*` | `rm build/a` | yes |
//! | `rm build/*` | `rm build/a src` | no: `src` is another place |
//! | `rm build/*` | `rm build/../src` | no: it climbs out |
//! | `echo *` | `echo $TOKEN` | no: nobody saw the value |
//! | `echo $HOME *` | `echo $HOME x` | yes: the pattern names it |

/// Returns whether each shell variable in the command is also in the pattern: nobody saw its value, so no
/// star matches it.
pub(crate) fn names_all_variables(pattern: &str, command: &str) -> bool {
    let named = variables(pattern);
    variables(command).iter().all(|name| named.contains(name))
}

/// The names of the variables that a shell expands in a line, outside of single quotes; empty for special
/// ones such as `$?`.
fn variables(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (_, '\\') => {
                letters.next();
            }
            (_, '$') => {
                let mut name = String::new();
                while let Some(next) = letters.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    name.push(next);
                }
                found.push(name);
            }
            _ => {}
        }
    }
    found
}

/// Returns whether each word of the command is in the pattern or below a folder that it names, if all stars
/// of the pattern stand for files below a folder. `true` for patterns with other stars.
pub(crate) fn names_all_places(pattern: &str, command: &str) -> bool {
    let plain = pattern.replace("\\*", "");
    let below_only = plain.contains("/*") && plain.replace("/**", "").replace("/*", "").find('*').is_none();
    let folder = |word: &'_ str| word.find("/*").map(|at| word[..=at].to_owned());
    let folders: Vec<String> = pattern.split(' ').filter_map(folder).collect();
    !below_only
        || command.split(' ').all(|word| {
            pattern.split(' ').any(|part| part == word)
                || folders.iter().any(|folder| word.starts_with(folder.as_str()))
        })
}

/// Returns whether no word of the command climbs out of a folder, if a star of the pattern directly follows a
/// `/`. A variable may have any value, so it counts as climbing.
pub(crate) fn stays_below(pattern: &str, command: &str) -> bool {
    let starred = pattern.contains("/*");
    let climbs = |word: &str| {
        let plain: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        plain.split('/').any(|part| {
            part.starts_with("..") || (part.starts_with('.') && part[1..].starts_with(['?', '*', '[']))
        }) || plain.contains('$')
    };
    !starred
        || !command
            .split(' ')
            .any(|word| climbs(word) && !pattern.contains(word))
}
