//! The `{public_key}` of a path. It is a name and not a proof: the token says who the client is. Anything but
//! a name of the client, or an address of NEXUS, is a mistake of the client.

use agentx_identity::{PublicKey, owner_of};
use agentx_types::wire::Person;
use axum::http::StatusCode;

use crate::gateway::refusal::ApiRefusal;

/// Checks that a path names the client, or nobody. `proven` is a key that the client proved on this
/// connection. An address of NEXUS (`0x…`) names nobody here, and a visitor may send any.
///
/// # Errors
/// Returns an error if the path has the id or the key of another person.
pub(super) fn check_path(path: &str, person: &Person, proven: Option<&str>) -> Result<(), ApiRefusal> {
    let is_address = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let names_nobody = path.strip_prefix("0x").is_some_and(is_address);
    if person.visitor || names_nobody || path == person.person.as_str() || Some(path) == proven {
        return Ok(());
    }
    let key = path.parse::<PublicKey>().ok();
    if key.is_some_and(|key| owner_of(&key) == person.person) {
        return Ok(());
    }
    let what = format!("the address does not name you; yours is {}", person.person);
    Err(ApiRefusal::new(StatusCode::FORBIDDEN, "denied", what))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn a_path_names_its_caller_or_nobody() {
        let key = "ed25519:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg";
        let of_key = owner_of(&key.parse().unwrap());
        let person = |id: &str, visitor| Person {
            person: id.into(),
            name: None,
            visitor,
        };
        let member = person(of_key.as_str(), false);
        for (path, person, proven, is_theirs) in [
            (of_key.as_str(), &member, None, true),
            (key, &member, None, true),
            ("0xAbC", &member, None, true),
            ("own_local", &member, None, false),
            (
                "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                &member,
                None,
                false,
            ),
            ("ed25519:nonsense", &member, None, false),
            ("..", &member, None, false),
            ("OWN_LOCAL", &member, None, false),
            ("0xAbC/..", &member, None, false),
            ("", &member, None, false),
            (key, &person("own_local", false), None, false),
            (key, &person("own_local", false), Some(key), true),
            ("own_local", &person("own_visitors", true), None, true),
        ] {
            assert_eq!(
                check_path(path, person, proven).is_ok(),
                is_theirs,
                "{path} {person:?}"
            );
        }
    }
}
