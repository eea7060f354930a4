//! `agentx identity`: the person's identity for servers, and the people who have access to a server of this
//! data directory.

use std::io::Read as _;
use std::path::Path;

use agentx::identity::{KeyError, Keyring, PublicKey, SecretKey, Trusted, TrustedAs, owner_of};
use serde_json::{Value, json};

use agentx::config::Settings;
use agentx::remote::ServerEndpoint;
use agentx::runtime::describe;
use agentx::types::{Rule, RuleEffect};

use crate::args::{Global, IdentityCommand, TrustArg};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::named_file::open_named;
use crate::passphrase::read_encrypted;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::start::{self, SettingsRead};

const COMMENT: &str = "agentx";
/// The number of bytes of a file that are read for a key; `ssh-keygen` writes less than 4 KiB.
const MAX_KEY_BYTES: u64 = 1 << 20;
const NAME_CHARS: usize = 64;

/// Runs one of the commands.
pub(crate) fn run(
    command: IdentityCommand,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let loaded = start::settings_aloud(SettingsRead::Stored, global, console)?;
    let keyring = Keyring::at(&loaded.settings.data_dir);
    let json = global.json;
    match command {
        IdentityCommand::New { from, force } => new(&keyring, from.as_deref(), force, json, console)?,
        IdentityCommand::Show => show(own(&keyring)?.public_key(), json, console)?,
        IdentityCommand::List => list(&keyring, json, console)?,
        IdentityCommand::Export { secret } => export(&own(&keyring)?, secret, json, console)?,
        IdentityCommand::Trust { key, name, role } => {
            let wanted = TrustRequest { name, role };
            trust(&keyring, &key.join(" "), wanted, json, console)?;
            allowed_by_rules(&loaded.settings, role, console);
        }
        IdentityCommand::Untrust { who } => untrust(&keyring, &who.join(" "), json, console)?,
        IdentityCommand::Forget { server } => forget(&keyring, &server, json, console)?,
    }
    Ok(Exit::Ok)
}

fn forget(keyring: &Keyring, server: &str, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let place = ServerEndpoint::parse(server)?.host_and_port();
    let Some(key) = keyring.forget_server(&place)? else {
        return Err(ChatError::usage(
            format!("no known server at {place}"),
            format!("{} lists the known servers", keyring.servers_file().display()),
        ));
    };
    if json {
        return console.out_pretty(&json!({ "server": place, "forgotten": key }));
    }
    console.out(&format!(
        "forgot {place}, whose key was {key}; the next key seen there is accepted, so compare it with what `agentx serve` prints\n"
    ))
}

fn own(keyring: &Keyring) -> Result<SecretKey, ChatError> {
    keyring.identity()?.ok_or_else(|| ChatError::NoIdentity {
        path: keyring.identity_file().display().to_string(),
    })
}

fn new(
    keyring: &Keyring,
    from: Option<&Path>,
    force: bool,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let key = match from {
        Some(path) => read_openssh(path)?,
        None => SecretKey::generate().map_err(agentx::identity::KeyringError::Key)?,
    };
    // If the earlier identity cannot be read, there is nothing to say about it.
    let before = keyring.identity().ok().flatten();
    keyring.set_identity(&key, force)?;
    if let Some(before) = before.filter(|before| before.public_key() != key.public_key()) {
        console.say(&format!(
            "note: you are no longer {}; whoever gave that key access has to give it to the new one\n",
            before.public_key()
        ));
    }
    show(key.public_key(), json, console)
}

fn read_openssh(path: &Path) -> Result<SecretKey, ChatError> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let file = open_named(path);
    file.and_then(|file| file.take(MAX_KEY_BYTES).read_to_end(&mut bytes))
        .map_err(|error| ChatError::File {
            path: shown.to_string(),
            what: error.to_string(),
        })?;
    let wrong = |what: String| ChatError::Input {
        what: format!("{shown}: {what}"),
    };
    let key = match SecretKey::from_openssh(&bytes) {
        Err(KeyError::Encrypted) => read_encrypted(&bytes, &format!("Passphrase of {shown}: ")),
        read => read.map_err(|error| error.to_string()),
    };
    key.map_err(wrong)
}

fn show(key: &PublicKey, json: bool, console: &mut Console) -> Result<(), ChatError> {
    if json {
        return console.out_pretty(&json!({ "person": owner_of(key), "public_key": key }));
    }
    let row = |head: &str, value: String| vec![head.to_owned(), value];
    let rows = [
        row("person", owner_of(key).to_string()),
        row("public key", key.to_string()),
    ];
    console.out(&table(&rows, usize::MAX))
}

fn list(keyring: &Keyring, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let own = keyring.identity()?.map(|key| *key.public_key());
    let people = keyring.people()?;
    if json {
        let own = own.map(|key| json!({ "person": owner_of(&key), "public_key": key }));
        let people: Vec<Value> = people.iter().map(object).collect();
        return console.out_pretty(&json!({ "own": own, "people": people }));
    }
    if own.is_none() && people.is_empty() {
        return console.out("no identity yet; `agentx identity new` creates one\n");
    }
    let mut rows = vec![["PERSON", "AS", "NAME", "PUBLIC KEY"].map(str::to_owned).to_vec()];
    let mut row = |key: &PublicKey, role: &str, name: &str| {
        rows.push(vec![
            owner_of(key).to_string(),
            role.into(),
            visible(name),
            key.to_string(),
        ]);
    };
    if let Some(key) = &own {
        row(key, "you", "");
    }
    for somebody in &people {
        let name = somebody.name.as_deref().unwrap_or_default();
        row(&somebody.public_key, somebody.role.as_str(), name);
    }
    console.out(&table(&rows, usize::MAX))
}

fn object(somebody: &Trusted) -> Value {
    json!({
        "person": owner_of(&somebody.public_key),
        "public_key": somebody.public_key,
        "name": somebody.name,
        "as": somebody.role,
    })
}

fn export(key: &SecretKey, secret: bool, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let public = key.public_key().to_openssh(COMMENT);
    if !secret && json {
        return console.out_pretty(&json!({ "public_key": public }));
    }
    if !secret {
        return console.out(&format!("{public}\n"));
    }
    console.say("warning: anyone who has this key can act as you on every server that you have access to\n");
    let written = key
        .expose_openssh(COMMENT)
        .map_err(agentx::identity::KeyringError::Key)?;
    if json {
        return console.out_pretty(&json!({ "public_key": public, "secret_key": written.as_str() }));
    }
    console.out(&written)
}

struct TrustRequest {
    name: Option<String>,
    role: Option<TrustArg>,
}

/// Explains the rights of a member to the person who adds one.
const OF_MEMBERS: &str = "\
a member has their own sessions. In them:
  read in a directory of their own                        allowed without a question
  change files, run programs, read elsewhere, network     asks you; they cannot allow it
  AgentX's own files, and what your rules deny            refused
  your rules, limits and approval mode                    hold; they can only make them stricter
of your sessions they see only those that you share: `agentx sessions share ID PERSON --as ROLE`
";

/// The rights of a person who decides in the operator's place.
const OF_APPROVERS: &str = "\
an approver is a member who also decides about calls of other members:
  sessions of other members                               they see them
  calls there that would ask you                          they allow or refuse them, once each; what they allow runs on this machine
  calls of their own sessions, and your rules             as for any member
";

const OF_OPERATORS: &str = "\
warning: an operator has the same rights as you on servers of this directory: access to all of your sessions, and commands that they allow run on this machine
";

/// Lists the rules that let calls of members run without a question.
fn allowed_by_rules(settings: &Settings, role: Option<TrustArg>, console: &mut Console) {
    let allow = |rule: &&Rule| rule.effect == RuleEffect::Allow && rule.workspace.is_none();
    let rules: Vec<String> = settings.rules.iter().filter(allow).map(describe).collect();
    if matches!(role, Some(TrustArg::Member | TrustArg::Approver)) && !rules.is_empty() {
        console.say(&format!(
            "these rules of yours allow members' calls without asking: {}\n",
            rules.join(", ")
        ));
    }
}

fn trust(
    keyring: &Keyring,
    key: &str,
    TrustRequest { name, role }: TrustRequest,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let public_key = parse(key)?;
    if let Some(name) = &name {
        check_name(name)?;
    }
    if is_own(keyring, &public_key)? {
        return Err(ChatError::usage(
            "this is your own key, which always has access to your servers",
            "",
        ));
    }
    let known = keyring
        .people()?
        .into_iter()
        .find(|known| known.public_key == public_key);
    let before = known.as_ref();
    let Some(role) = role.map(role_of).or(before.map(|known| known.role)) else {
        return Err(ChatError::usage(
            "the role is missing",
            "use `--as member` for another person, `--as operator` for another machine of yours; `agentx help identity trust` explains the roles",
        ));
    };
    let somebody = Trusted {
        public_key,
        name: name.or_else(|| before.and_then(|known| known.name.clone())),
        role,
    };
    keyring.trust(somebody.clone())?;
    if before.is_none_or(|known| known.role != role) {
        console.say(match role {
            TrustedAs::Member => OF_MEMBERS,
            TrustedAs::Approver => OF_APPROVERS,
            TrustedAs::Operator => OF_OPERATORS,
        });
    }
    if json {
        return console.out_pretty(&object(&somebody));
    }
    let was = known
        .filter(|known| *known != somebody)
        .map_or(String::new(), |known| {
            let name = known.name.as_deref().map_or("no name".into(), visible);
            format!(" (before: {name}, {})", known.role.as_str())
        });
    let role = somebody.role.as_str();
    console.out(&format!("{} now has access as {role}{was}\n", called(&somebody)))
}

fn untrust(keyring: &Keyring, who: &str, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let list_hint = "`agentx identity list` shows everybody";
    let people = keyring.people()?;
    let found: Vec<&Trusted> = match who.parse::<PublicKey>() {
        Ok(key) => people.iter().filter(|known| known.public_key == key).collect(),
        Err(_) => people
            .iter()
            .filter(|known| known.name.as_deref() == Some(who))
            .collect(),
    };
    let somebody = match found[..] {
        [somebody] => somebody,
        [] => {
            return Err(ChatError::usage(
                format!("no person with access matches {who}"),
                list_hint,
            ));
        }
        _ => {
            let message = format!("{} people are called {who}; use the public key", found.len());
            return Err(ChatError::usage(message, list_hint));
        }
    };
    keyring.untrust(&somebody.public_key)?;
    if json {
        return console.out_pretty(&object(somebody));
    }
    console.say("note: a running server stops the work in their sessions within a few seconds\n");
    console.out(&format!("{} no longer has access\n", called(somebody)))
}

fn parse(key: &str) -> Result<PublicKey, ChatError> {
    key.parse::<PublicKey>().map_err(|error| {
        ChatError::usage(
            error.to_string(),
            "`agentx identity show` on their machine prints it",
        )
    })
}

fn is_own(keyring: &Keyring, key: &PublicKey) -> Result<bool, ChatError> {
    let own = keyring.identity()?;
    Ok(own.is_some_and(|own| own.public_key() == key))
}

fn role_of(role: TrustArg) -> TrustedAs {
    match role {
        TrustArg::Member => TrustedAs::Member,
        TrustArg::Approver => TrustedAs::Approver,
        TrustArg::Operator => TrustedAs::Operator,
    }
}

fn check_name(name: &str) -> Result<(), ChatError> {
    let is_good =
        !name.trim().is_empty() && name.chars().count() <= NAME_CHARS && !name.chars().any(char::is_control);
    if is_good {
        return Ok(());
    }
    let message = format!("a name has 1 to {NAME_CHARS} printable characters");
    Err(ChatError::usage(message, "use --name to set it"))
}

fn called(somebody: &Trusted) -> String {
    match &somebody.name {
        Some(name) => format!("{} ({})", visible(name), owner_of(&somebody.public_key)),
        None => owner_of(&somebody.public_key).to_string(),
    }
}
