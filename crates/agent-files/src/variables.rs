//! The environment variables that a text refers to as `${NAME}`.

use agentx_config::is_variable;

/// Returns the names between `${` and `}`.
pub(crate) fn variables(text: &str) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let after = rest.get(start + 2..).unwrap_or_default();
        let end = after.find('}').ok_or("a `${` without its `}`")?;
        let name = after.get(..end).unwrap_or_default();
        if !is_variable(name) {
            return Err(format!("`${{{name}}}` does not name an environment variable"));
        }
        names.push(name);
        rest = after.get(end + 1..).unwrap_or_default();
    }
    Ok(names)
}
