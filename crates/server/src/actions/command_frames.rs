//! Commands that frames name. Each calls the same function as the request for the same action.

use std::sync::Arc;

use agentx_runtime::{CommandCall, ContextRequest, RestoreRequest, RuntimeError, ServedCommand};
use agentx_types::wire::{CommandFrame, UserInputFrame};
use agentx_types::{ConfigChange, ContentPart, InputMode, MessageId, OwnerId, SessionRole};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::actions::file_commands::{all_definitions, input_of_file};
use crate::actions::request_terms::RequestTerms;
use crate::actions::sent_change::SentChange;
use crate::auth::caller::Caller;
use crate::known_fields::check_fields;
use crate::problems::remote;
use crate::state::ServerState;

/// The words about a command that does not exist.
const UNKNOWN: &str = "unknown command; the commands are rename, change, revise, context, restore, retry, ran, share, \
    ping, help, and those of files and reactors that `GET /v1/commands` lists";

/// The arguments of the command `rename`.
#[derive(Deserialize, JsonSchema)]
struct RenameArguments {
    title: String,
}

/// The arguments of the command `change`.
#[derive(Deserialize, JsonSchema)]
struct ChangeArguments {
    #[schemars(with = "ConfigChange")]
    change: SentChange,
}

/// The arguments of the command `revise`.
#[derive(Deserialize, JsonSchema)]
struct ReviseArguments {
    message_id: MessageId,
    #[serde(default)]
    mode: Option<InputMode>,
}

/// The arguments of the command `context`.
#[derive(Deserialize, JsonSchema)]
struct ContextArguments {
    wish: ContextRequest,
}

/// The arguments of the command `restore`.
#[derive(Deserialize)]
struct RestoreArguments {
    wish: RestoreRequest,
}

/// The arguments of the command `share`.
#[derive(Deserialize, JsonSchema)]
struct ShareArguments {
    person: OwnerId,
    #[serde(default)]
    role: Option<SessionRole>,
}

fn arguments<T: DeserializeOwned>(command: &str, args: Value) -> Result<T, RuntimeError> {
    serde_json::from_value(args).map_err(|error| remote("bad_request", &format!("{command}: {error}")))
}

/// Reads arguments that are settings, and refuses fields that do not exist.
fn settings<T: DeserializeOwned + JsonSchema>(command: &str, args: Value) -> Result<T, RuntimeError> {
    let unknown = check_fields::<T>(&args).err();
    let read = arguments(command, args)?;
    match unknown {
        None => Ok(read),
        Some(unknown) => Err(remote("bad_request", &format!("{command}: {unknown}"))),
    }
}

impl ServerState {
    /// Carries out a command: `rename {title}`, `change {change}`, `revise {message_id, mode?}`, `context
    /// {wish}`, `restore {wish}`, `retry`, `ran {command, output, how}`, `share {person, role}`, and those of
    /// `other_command`. Returns the `seq` of the event, if there is one, and the outcome.
    ///
    /// # Errors
    /// Returns an error if the command does not exist, its arguments make no sense, or the caller may not.
    pub async fn command(
        self: &Arc<Self>,
        caller: &Caller,
        frame: CommandFrame,
    ) -> Result<(Option<u64>, Value), RuntimeError> {
        let session = &frame.session_id;
        let terms = RequestTerms::new(
            frame.wheel_epoch,
            frame.idempotency_key,
            &frame.command,
            &frame.args,
        );
        let seq = match frame.command.as_str() {
            "rename" => {
                let RenameArguments { title } = settings("rename", frame.args)?;
                self.rename(caller, session, title, terms).await
            }
            "change" => {
                let ChangeArguments { change } = settings("change", frame.args)?;
                let change = change.known()?;
                self.change(caller, session, change, terms).await
            }
            "revise" => {
                let ReviseArguments { message_id, mode } = settings("revise", frame.args)?;
                let wish = (message_id, mode);
                self.revise(caller, session, wish, terms).await
            }
            "context" => {
                let ContextArguments { wish } = settings("context", frame.args)?;
                let at = (session.clone(), terms);
                self.context(caller, at, wish).await
            }
            "retry" => self.retry(caller, session, terms).await,
            "ran" => {
                let ran = arguments("ran", frame.args)?;
                self.ran(caller, session, ran, terms).await
            }
            "restore" => {
                let RestoreArguments { wish } = arguments("restore", frame.args)?;
                let report = self.restore(caller, session, wish, terms).await?;
                let told = serde_json::to_value(&report).unwrap_or_default();
                return Ok((report.seq, told));
            }
            "share" => {
                let ShareArguments { person, role } = settings("share", frame.args)?;
                self.share(caller, session, person, role, terms).await
            }
            _ => {
                // A person who may not see the session learns nothing about it.
                self.access(caller, session).await?;
                let frame = CommandFrame {
                    idempotency_key: terms.key,
                    ..frame
                };
                return self.other_command(caller, frame).await;
            }
        };
        Ok((Some(seq?), Value::Null))
    }

    /// Carries out a command without a request of its own: `ping`, `help`, the name of a command in a file,
    /// whose text becomes an input, or one that a reactor serves.
    async fn other_command(
        self: &Arc<Self>,
        caller: &Caller,
        frame: CommandFrame,
    ) -> Result<(Option<u64>, Value), RuntimeError> {
        match frame.command.as_str() {
            "ping" => return Ok((None, json!({"pong": true}))),
            "help" => {
                let commands = all_definitions(self, caller);
                return Ok((None, serde_json::to_value(&commands).unwrap_or_default()));
            }
            _ => {}
        }
        let Some(text) = input_of_file(self, caller, &frame.command, &frame.args) else {
            return self.served_command(caller, frame).await;
        };
        let input = UserInputFrame {
            session_id: frame.session_id,
            content: vec![ContentPart::text(text)],
            mode: InputMode::default(),
            idempotency_key: frame.idempotency_key,
            client_timestamp_utc: None,
            client_timezone_offset: None,
            wheel_epoch: frame.wheel_epoch,
            answer_schema: None,
        };
        Ok((Some(self.say(caller, input).await?), Value::Null))
    }

    /// Has a command carried out by the attached reactor that serves it, for a caller who may drive.
    async fn served_command(
        self: &Arc<Self>,
        caller: &Caller,
        frame: CommandFrame,
    ) -> Result<(Option<u64>, Value), RuntimeError> {
        let unknown = || remote("unknown_command", UNKNOWN);
        let role = self.role_of(caller, &frame.session_id).await?;
        let call = CommandCall {
            session: frame.session_id,
            name: frame.command,
            args: frame.args,
            by: caller.person.clone(),
        };
        let runtime = self.runtime();
        let is_served = |command: &ServedCommand| command.name == call.name;
        if !runtime.commands().served().iter().any(is_served) {
            return Err(unknown());
        }
        if role < SessionRole::Drive {
            return Err(remote("denied", "only a person who may drive gives this command"));
        }
        let answered = runtime.commands().run(call).await.ok_or_else(unknown)?;
        let value = answered.map_err(|what| remote("refused", &what))?;
        Ok((None, value))
    }
}
