//! The challenge of a server that refuses a request: `WWW-Authenticate: Bearer …` (RFC 6750, RFC 9728). Pure.

/// The parameters of a `Bearer` challenge that matter for a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BearerChallenge {
    /// The address of the description of the protected resource.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that the server wants, separated by spaces.
    pub(super) scope: Option<String>,
}

impl BearerChallenge {
    /// Reads the first `Bearer` challenge of a header; empty if there is none.
    pub(super) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let Some(parameters) = bearer_parameters(header) else {
            return challenge;
        };
        for (name, value) in parameters {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scope = Some(value),
                _ => {}
            }
        }
        challenge
    }
}

/// Returns the parameters of the first `Bearer` challenge, up to the next scheme.
fn bearer_parameters(header: &str) -> Option<Vec<(String, String)>> {
    let mut parameters = None;
    for part in parts(header) {
        let scheme = part.split_whitespace().next().unwrap_or_default();
        let begins_scheme = !scheme.contains('=') && !scheme.is_empty();
        let pair = match (begins_scheme, &parameters) {
            (true, None) if scheme.eq_ignore_ascii_case("bearer") => {
                parameters = Some(Vec::new());
                part[scheme.len()..].trim()
            }
            (true, None) => continue,
            (true, Some(_)) => break,
            (false, _) => part,
        };
        if let (Some(list), Some((name, value))) = (&mut parameters, pair.split_once('=')) {
            list.push((name.trim().to_owned(), unquoted(value.trim())));
        }
    }
    parameters
}

/// Splits a header at the commas outside quotes.
fn parts(header: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in header.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(header[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(header[start..].trim());
    parts
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut text = String::new();
    let mut escaped = false;
    for c in inner.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            c => {
                text.push(c);
                escaped = false;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(header: &str) -> (Option<String>, Option<String>) {
        let challenge = BearerChallenge::parse(header);
        (challenge.resource_metadata, challenge.scope)
    }

    #[test]
    fn the_parameters_of_the_bearer_challenge_are_read() {
        let some = |text: &str| Some(text.to_owned());
        let header = r#"Bearer resource_metadata="https://a.example/.well-known/x", scope="read write""#;
        assert_eq!(
            parsed(header),
            (some("https://a.example/.well-known/x"), some("read write"))
        );
        let several = r#"Basic realm="a, Bearer scope=no", bearer error="invalid_token", scope=files, Digest scope="x""#;
        assert_eq!(parsed(several), (None, some("files")));
        assert_eq!(
            parsed(r#"Bearer scope="a \"b\", c""#),
            (None, some(r#"a "b", c"#))
        );
        for nothing in ["", "Bearer", "Basic scope=x", "Bearer ,,=", "\"", "Bearer scope"] {
            assert_eq!(parsed(nothing).0, None, "{nothing}");
        }
    }
}
