//! Templates among the values, such as the status row of the chat.

use agentx_types::nearest;

/// The problem with a value, and the nearest valid word if there is one.
pub(crate) type ValueError = (String, Option<String>);

/// Checks that a template uses only known names. `{{` and `}}` stand for the signs themselves.
pub(crate) fn template(names: &[&str], words: &str) -> Result<(), ValueError> {
    let mut rest = words;
    while let Some(at) = rest.find(['{', '}']) {
        let after = &rest[at..];
        if after.starts_with("{{") || after.starts_with("}}") {
            rest = &after[2..];
            continue;
        }
        let inside = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let Some((name, end)) = inside else {
            return Err((
                format!(
                    "unmatched `{}` in {words:?}; double it to show the character itself",
                    &after[..1]
                ),
                None,
            ));
        };
        if !names.contains(&name) {
            let near = nearest(name, names.iter().copied(), 1);
            return Err((
                format!("there is no `{{{name}}}`; there are {{{}}}", names.join("}, {")),
                near.first().map(|near| format!("{{{near}}}")),
            ));
        }
        rest = end;
    }
    Ok(())
}
