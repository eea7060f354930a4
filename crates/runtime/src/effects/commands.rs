//! Commands of persons that reactors serve: requests on the topic `system.command`, with the name of the
//! command as their key. Each is answered once, with a value or with words about what went wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_bus::{
    Addressed, Claim, Dispatcher, Grace, KeyPattern, ReactorTask, RequestEnd, RequestError, ResponderId,
    Serve,
};
use agentx_types::{OwnerId, SessionId};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::future::BoxFuture;

/// The topic of commands.
const TOPIC: &str = "system.command";
/// The maximum time for a command.
const TIME: Duration = Duration::from_secs(30);

/// A command that a reactor serves, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedCommand {
    /// The name, without a slash.
    pub name: String,
    /// The description.
    pub description: String,
    /// The words that it takes.
    pub argument_hint: String,
}

/// A command that a person gave.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandCall {
    /// The session in which it was given.
    pub session: SessionId,
    /// The name of the command.
    pub name: String,
    /// The arguments.
    pub args: Value,
    /// The person who gave it.
    pub by: OwnerId,
}

/// Carries out a command.
pub trait CommandService: Send + Sync + 'static {
    /// The command, for lists.
    fn command(&self) -> ServedCommand;

    /// Carries it out. An error is what the person reads.
    fn run(&self, call: CommandCall) -> BoxFuture<'static, Result<Value, String>>;
}

/// A call on its way to the reactor that serves it.
struct CommandRequest {
    call: CommandCall,
    answer: Mutex<Option<oneshot::Sender<Result<Value, String>>>>,
}

impl Addressed for CommandRequest {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn key(&self) -> &str {
        &self.call.name
    }

    fn session(&self) -> &str {
        self.call.session.as_str()
    }
}

/// Hands each command to the reactor that serves it. Clones refer to the same dispatcher.
#[derive(Clone, Default)]
pub struct CommandDispatcher {
    requests: Dispatcher<CommandRequest>,
    served: Arc<Mutex<BTreeMap<ResponderId, ServedCommand>>>,
}

impl CommandDispatcher {
    /// Serves a command until the returned value is dropped. Must be called inside a tokio runtime.
    pub(crate) fn serve(&self, service: Arc<dyn CommandService>) -> ServingCommand {
        let command = service.command();
        let serve = Serve::new(&command.name).on(TOPIC, KeyPattern::exact(&command.name));
        let late = || Err(format!("it was not done within {TIME:?}"));
        let work = TaskTracker::new();
        let tasks = work.clone();
        let carry_out = move |claim: Claim<CommandRequest>| {
            let service = service.clone();
            tasks.spawn(async move {
                let work = tokio::time::timeout(TIME, service.run(claim.request().call.clone()));
                let result = tokio::select! {
                    biased;
                    () = claim.abandoned() => return,
                    result = work => result.unwrap_or_else(|_| late()),
                };
                let answer = locked(&claim.request().answer).take();
                // Whoever asked may be gone by now.
                let _ = answer.map(|answer| answer.send(result));
                claim.settle();
            });
        };
        // Under one lock, so that nobody finds the command served and not listed.
        let mut served = locked(&self.served);
        let responder = self.requests.serve_with(serve, carry_out);
        served.insert(responder, command);
        drop(served);
        ServingCommand {
            commands: self.clone(),
            responder,
            work,
        }
    }

    /// The commands that are served now, by name.
    pub fn served(&self) -> Vec<ServedCommand> {
        let by_name = |command: &ServedCommand| (command.name.clone(), command.clone());
        let served: BTreeMap<String, ServedCommand> = locked(&self.served).values().map(by_name).collect();
        served.into_values().collect()
    }

    /// Has a command carried out by the reactor that serves it; `None` if nobody does.
    ///
    /// # Errors
    /// Returns what went wrong, for the person.
    pub async fn run(&self, call: CommandCall) -> Option<Result<Value, String>> {
        let name = call.name.clone();
        let (answer, mut answered) = oneshot::channel();
        let request = CommandRequest {
            call,
            answer: Mutex::new(Some(answer)),
        };
        let ticket = match self.requests.request(request) {
            Ok(ticket) => ticket,
            Err(RequestError::Nobody { .. }) => return None,
            Err(error) => return Some(Err(error.to_string())),
        };
        let end = ticket.ended().await;
        let lost = || match end {
            RequestEnd::Settled | RequestEnd::Lost => format!("/{name} ended without an answer"),
            RequestEnd::Cancelled | RequestEnd::Unserved => format!("/{name} is no longer served"),
        };
        Some(answered.try_recv().unwrap_or_else(|_| Err(lost())))
    }
}

impl fmt::Debug for CommandDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.served()).finish()
    }
}

/// A command that is served until this is dropped.
#[derive(Debug)]
pub struct ServingCommand {
    commands: CommandDispatcher,
    responder: ResponderId,
    /// The calls that it carries out.
    work: TaskTracker,
}

impl ServingCommand {
    /// Serves until `stop` fires, and then carries out what it has begun: the task of a reactor that only
    /// serves the command.
    pub fn run_until(self, stop: CancellationToken) -> ReactorTask {
        ReactorTask::new(async move {
            stop.cancelled().await;
            let work = self.work.clone();
            drop(self);
            work.close();
            work.wait().await;
            Ok(())
        })
    }
}

impl Drop for ServingCommand {
    fn drop(&mut self) {
        locked(&self.commands.served).remove(&self.responder);
        self.commands.requests.detach(self.responder, Grace::Finish);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Answers with its arguments, or with an error if there are none.
    struct Echo;

    impl CommandService for Echo {
        fn command(&self) -> ServedCommand {
            ServedCommand {
                name: "echo".into(),
                description: "says it again".into(),
                argument_hint: "WORDS".into(),
            }
        }

        fn run(&self, call: CommandCall) -> BoxFuture<'static, Result<Value, String>> {
            let answer = match call.args {
                Value::Null => Err("echo what?".to_owned()),
                args => Ok(args),
            };
            Box::pin(std::future::ready(answer))
        }
    }

    fn call(args: Value) -> CommandCall {
        CommandCall {
            session: SessionId::new("ses_1"),
            name: "echo".into(),
            args,
            by: OwnerId::new("own_a"),
        }
    }

    #[tokio::test]
    async fn a_command_is_answered_by_whoever_serves_it_and_by_nobody_afterwards() {
        let commands = CommandDispatcher::default();
        assert_eq!(commands.run(call(json!("hi"))).await, None);
        let serving = commands.serve(Arc::new(Echo));
        assert_eq!(commands.served()[0].name, "echo");
        assert_eq!(commands.run(call(json!("hi"))).await, Some(Ok(json!("hi"))));
        let refused = commands.run(call(Value::Null)).await;
        assert_eq!(refused, Some(Err("echo what?".to_owned())));
        drop(serving);
        assert_eq!(commands.served(), []);
        assert_eq!(commands.run(call(json!("hi"))).await, None);
    }

    #[tokio::test]
    async fn a_call_reaches_a_command_that_is_served_and_not_listed_yet() {
        let commands = CommandDispatcher::default();
        let serving = commands.serve(Arc::new(Echo));
        locked(&commands.served).clear();
        assert_eq!(commands.run(call(json!("hi"))).await, Some(Ok(json!("hi"))));
        drop(serving);
    }
}
