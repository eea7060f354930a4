//! `agentx sessions share`: sets the roles of people other than the owner in a session.

use agentx::config::Loaded;
use agentx::identity::{PublicKey, owner_of};
use agentx::runtime::{OpenRequest, Sharing, SharingFact};
use agentx::types::{AccessChanged, OwnerId, SessionRole, VISITORS};
use serde_json::json;

use crate::args::ShareArgs;
use crate::compose::{CommandTarget, keyring};
use crate::console::Console;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::participants::may;
use crate::render::table::table;
use crate::session_opening::find_existing;

/// The name of everybody without an identity.
const ANYONE: &str = "anyone";

/// Records the role of a person in a session, or lists all roles.
pub(super) async fn run(
    place: &CommandTarget,
    loaded: &Loaded,
    args: &ShareArgs,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let (target, person) = args.parts();
    let wish = match (person, args.role) {
        (Some(person), Some(role)) => Some((somebody(place, loaded, person)?, role.role())),
        (None, None) => None,
        _ => {
            let hint = "`agentx sessions share --last PERSON --as ROLE`";
            return Err(ChatError::usage("a person and a role go together", hint));
        }
    };
    if let Some((person, role)) = &wish {
        check(person, *role)?;
    }
    let runtime = place.runtime();
    let id = find_existing(place, &loaded.settings, &target).await?;
    let session = runtime.open(OpenRequest::Resume(id.clone(), Vec::new())).await?;
    let done = match wish.clone() {
        Some((person, role)) => {
            let note = SharingFact::Access(AccessChanged {
                person,
                role,
                by: None,
            });
            session.record_sharing(note).await.map(drop)
        }
        None => Ok(()),
    };
    let state = match done {
        Ok(()) => session.state().await,
        Err(error) => Err(error),
    };
    session.close().await;
    let sharing = state?.sharing;
    match wish {
        _ if json => console.out_pretty(&json!({ "session_id": id, "roles": sharing.roles })),
        Some((person, role)) => {
            let name = name_of(loaded, &person);
            console.out(&format!("{name} may {} {id}\n", phrase(role)))
        }
        None => list(loaded, &sharing, console),
    }
}

/// Checks that a person may be given a role.
fn check(person: &OwnerId, role: Option<SessionRole>) -> Result<(), ChatError> {
    if role == Some(SessionRole::Own) {
        return Err(ChatError::usage(
            "`own` is the owner's role and cannot be given",
            "use `--as drive` to let them do all but delete and share the session",
        ));
    }
    if person.as_str() == VISITORS && role.is_some_and(|role| role > SessionRole::Watch) {
        return Err(ChatError::usage(
            "people without an identity may only watch",
            "trust their key (`agentx identity trust`), then share with that",
        ));
    }
    Ok(())
}

/// Returns the person that the words name.
fn somebody(place: &CommandTarget, loaded: &Loaded, words: &str) -> Result<OwnerId, ChatError> {
    if words == ANYONE {
        return Ok(OwnerId::new(VISITORS));
    }
    let letters = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if words.starts_with(OwnerId::PREFIX) && letters(words) {
        return Ok(OwnerId::new(words));
    }
    let keyring = keyring(&loaded.settings);
    let read = words.parse::<PublicKey>();
    if let (Err(error), true) = (
        &read,
        words.starts_with("ed25519:") || words.starts_with("ssh-ed25519 "),
    ) {
        let hint = "`agentx identity show` on their machine prints it";
        return Err(ChatError::usage(error.to_string(), hint));
    }
    if let Ok(key) = read {
        // Only the server knows which person is its operator.
        let known = match place.remote() {
            None => keyring.person(&key).map(|known| known.owner),
            Some(_) => None,
        };
        return Ok(known.unwrap_or_else(|| owner_of(&key)));
    }
    let people = keyring.people()?;
    let mut called = people.iter().filter(|known| known.name.as_deref() == Some(words));
    match (called.next(), called.next()) {
        (Some(known), None) => Ok(owner_of(&known.public_key)),
        (Some(_), Some(_)) => Err(ChatError::usage(
            format!("several people here are called {words:?}"),
            "use one of the keys that `agentx identity list` prints",
        )),
        (None, _) => Err(ChatError::usage(
            format!("nobody here is called {words:?}"),
            "give a key (ed25519:…), an id (own_…), or `anyone`; `agentx identity list` shows whom you trust",
        )),
    }
}

fn list(loaded: &Loaded, sharing: &Sharing, console: &mut Console) -> Result<(), ChatError> {
    if sharing.roles.is_empty() {
        return console.out("the session is shared with nobody\n");
    }
    let mut rows = vec![["PERSON", "MAY"].map(str::to_owned).to_vec()];
    for (person, role) in &sharing.roles {
        rows.push(vec![name_of(loaded, person), may(*role).to_owned()]);
    }
    console.out(&table(&rows, usize::MAX))
}

/// A person as they are known here.
fn name_of(loaded: &Loaded, person: &OwnerId) -> String {
    if person.as_str() == VISITORS {
        return ANYONE.to_owned();
    }
    // If the list cannot be read, show the id.
    let people = keyring(&loaded.settings).people().unwrap_or_default();
    let known = people
        .into_iter()
        .find(|known| owner_of(&known.public_key) == *person);
    match known.and_then(|known| known.name) {
        Some(name) => format!("{} ({person})", visible(&name)),
        None => person.to_string(),
    }
}

fn phrase(role: Option<SessionRole>) -> &'static str {
    match role {
        Some(SessionRole::Watch) => "now watch",
        Some(SessionRole::Approve) => "now watch and approve in",
        Some(SessionRole::Drive) => "now watch, approve in and drive",
        Some(SessionRole::Own) => "now do everything with",
        None => "no longer see",
    }
}
