//! Texts with names in braces, such as `{person}`.

/// The text with each `{name}` of `values` replaced by its value. Other braces stay, and values are not read
/// again, so a value cannot bring in another one.
pub(super) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = values.iter().find_map(|(name, value)| {
            let after = rest.strip_prefix('{')?.strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, after))
        });
        match known {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_replaced_and_once() {
        let values = [("person", "{model}"), ("model", "big")];
        assert_eq!(
            filled("{person} {model} {other} {", &values),
            "{model} big {other} {"
        );
        assert_eq!(filled("{{model}}", &values), "{big}");
    }
}
