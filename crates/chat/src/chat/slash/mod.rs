//! Commands of a chat: lines that begin with `/`.

use agentx::config::nearest;
use agentx::runtime::UsageBy;
use agentx::types::ApprovalMode;

mod arguments;
mod foreign_commands;
mod help;
mod only_shows;
pub mod prompt_commands;

pub(crate) use arguments::{CompactCommand, PinCommand, RewindTarget, Rules};
use arguments::{mcp_server, usage_by};
pub use foreign_commands::FOREIGN_COMMANDS;
use foreign_commands::{instead_of, instead_of_slash};

use super::plan_mode::PlanCommand;
use crate::slash_names::NAMES;
pub(crate) use help::about;

/// A command that a person types with a slash, with its arguments read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    /// Explains the commands, or one of them, or the keys.
    Help(Option<String>),
    /// Leaves the chat.
    Quit,
    /// Changes the model, or lists the models.
    Model(Option<String>),
    /// Shows the state of the session.
    Status,
    /// Shows the usage and cost of this session, or of all sessions, added up by a unit.
    Usage(Option<UsageBy>),
    /// Shows what fills the model's window, or prints the last request to the byte.
    Context {
        /// Whether the request is wanted.
        exact: bool,
    },
    /// Shows the whole reasoning with this number, counted from the end.
    Thinking(usize),
    /// Shows the whole output of the call with this number, counted from the end.
    Output(usize),
    /// Shows the last whole answer of the agent with this name on the screen.
    AgentOutput(String),
    /// Lists the commands in the background, or ends the one of this name.
    Jobs(Option<String>),
    /// Shows the list of tasks.
    Todo,
    /// Changes the approval mode, or shows it.
    ApproveMode(Option<ApprovalMode>),
    /// Switch plan mode.
    Plan(PlanCommand),
    /// Lists the latest sessions.
    Sessions,
    /// Sets the title of the session.
    Title(String),
    /// Shows the people in the session.
    Who,
    /// Shows who drives, or changes it.
    Wheel(WheelCommand),
    /// Sends a message to the agent in the middle of its work.
    Steer(String),
    /// Shows the queue, or changes it.
    Queue(QueueCommand),
    /// Continues in a copy of the session, complete or up to an event.
    Fork(Option<u64>),
    /// Goes back to before an input, or lists the inputs.
    Rewind(RewindTarget),
    /// Compares this branch with another.
    Diff(Option<String>),
    /// Lists the approval rules, tests a call against them, or removes one.
    Approvals(Rules),
    /// Condenses the conversation, or removes a summary again.
    Compact(CompactCommand),
    /// Repeats a waiting or failed model call, or sends the last message again.
    Retry,
    /// Begins a new session in this chat.
    New,
    /// Continues another session in this chat: the one with this id, or one that the person picks.
    Resume(Option<String>),
    /// Copies the last answer to the clipboard, or the code block of it with this number.
    Copy(Option<usize>),
    /// Sets how much the model reasons, or lists the levels.
    Effort(Option<String>),
    /// Writes the session to a file.
    Export(Option<String>),
    /// Asks the agent to write the AGENTS.md of the project.
    Init,
    /// Shows settings in effect and their sources.
    Config(crate::configuration::SettingsShown),
    /// Checks for problems, as `agentx doctor` does.
    Doctor,
    /// Lists the MCP servers and their states.
    Mcp(Option<String>),
    /// Shows the inbox of memories, or changes memories as these words say.
    Memory(String),
    /// Lists the marked secrets, marks a value with this name, or forgets one.
    Secret(Option<String>),
    /// Pins an input, so that condensing leaves it as it is, or unpins it.
    Pin(PinCommand),
}

/// The arguments of `/queue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueCommand {
    /// Lists the messages.
    List,
    /// Edits one message, or all.
    Edit(Option<usize>),
    /// Removes this message.
    Remove(usize),
    /// Sends this message in the middle of the run.
    Steer(usize),
}

/// The arguments of `/wheel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WheelCommand {
    /// Shows who has the wheel.
    Know,
    /// Takes the wheel.
    Take,
    /// Asks its holder for the wheel.
    Ask,
    /// Gives the wheel to this person.
    Give(String),
    /// Releases the wheel.
    Release,
}

/// Reads a line: a command, a mistake in one, or `None` for words of the agent, as a path or a doubled slash.
pub(crate) fn parse(line: &str) -> Option<Result<Slash, String>> {
    let rest = line.trim().strip_prefix('/')?;
    if rest.is_empty() {
        return Some(Ok(Slash::Help(None)));
    } else if rest.starts_with('/') || rest.split_whitespace().next()?.contains('/') {
        return None;
    }
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some(command(name, argument.trim()))
}

/// The commands that take no words. Words behind them are an error, so that none get lost.
const TAKE_NOTHING: [&str; 11] = [
    "clear", "doctor", "exit", "init", "new", "quit", "retry", "sessions", "status", "todo", "who",
];

fn command(name: &str, argument: &str) -> Result<Slash, String> {
    if TAKE_NOTHING.contains(&name) && !argument.is_empty() {
        return Err(format!("/{name} takes nothing, not `{argument}`"));
    }
    let given = (!argument.is_empty()).then(|| argument.to_owned());
    Ok(match name {
        "help" => Slash::Help(given),
        "quit" | "exit" => Slash::Quit,
        "model" => Slash::Model(given),
        "status" => Slash::Status,
        "usage" => Slash::Usage(usage_by(argument)?),
        "context" => match argument {
            "" => Slash::Context { exact: false },
            "exact" => Slash::Context { exact: true },
            other => return Err(format!("/context takes `exact` or nothing, not `{other}`")),
        },
        "thinking" => Slash::Thinking(number(name, argument)?.unwrap_or(1)),
        "output" => match number(name, argument) {
            Ok(number) => Slash::Output(number.unwrap_or(1)),
            Err(_) => Slash::AgentOutput(argument.to_owned()),
        },
        "jobs" => Slash::Jobs(job(argument)?),
        "todo" => Slash::Todo,
        "sessions" => Slash::Sessions,
        "who" => Slash::Who,
        "wheel" => Slash::Wheel(wish(argument)?),
        "steer" => Slash::Steer(given.ok_or("/steer needs a message: /steer TEXT")?),
        "queue" => Slash::Queue(queue_wish(argument)?),
        "fork" => Slash::Fork(number(name, argument)?),
        "rewind" if argument == "undo" => Slash::Rewind(RewindTarget::Undo),
        "rewind" => Slash::Rewind(number(name, argument)?.map_or(RewindTarget::Choose, RewindTarget::To)),
        "diff" => Slash::Diff(given),
        "approvals" => Slash::Approvals(rules(argument)?),
        "compact" if argument == "undo" => Slash::Compact(CompactCommand::Undo),
        "compact" => Slash::Compact(CompactCommand::Now(given)),
        "retry" => Slash::Retry,
        "new" | "clear" => Slash::New,
        "resume" => Slash::Resume(given),
        "copy" => Slash::Copy(number(name, argument)?),
        "effort" => Slash::Effort(given),
        "export" => Slash::Export(given),
        "init" => Slash::Init,
        "config" => Slash::Config(crate::configuration::SettingsShown::parse(argument)?),
        "doctor" => Slash::Doctor,
        "mcp" => Slash::Mcp(mcp_server(argument)?),
        "memory" => Slash::Memory(argument.to_owned()),
        "secret" => Slash::Secret(given),
        "pin" | "unpin" => Slash::Pin(PinCommand {
            number: number(name, argument)?,
            stays: name == "pin",
        }),
        "title" => Slash::Title(given.ok_or("/title needs a title: /title TEXT")?),
        "plan" => Slash::Plan(PlanCommand::parse(argument)),
        "approve-mode" if argument == "plan" => Slash::Plan(PlanCommand::On),
        "approve-mode" => Slash::ApproveMode(match argument {
            "" => None,
            "ask" => Some(ApprovalMode::Ask),
            "accept-edits" => Some(ApprovalMode::AcceptEdits),
            "auto" => Some(ApprovalMode::Auto),
            "deny" => Some(ApprovalMode::Deny),
            other => {
                return Err(format!(
                    "unknown mode `{other}`; use ask, accept-edits, plan, auto or deny"
                ));
            }
        }),
        other => return Err(unknown(other)),
    })
}

/// Describes a command that does not exist.
fn unknown(name: &str) -> String {
    if let Some(instead) = instead_of_slash(name) {
        return instead_of(name, instead);
    }
    let near = nearest(name, NAMES.iter().copied(), 1);
    let near = near.first().map(|near| format!(" did you mean /{near}?"));
    format!(
        "there is no command /{name};{} /help lists the commands",
        near.unwrap_or_default()
    )
}

/// The number that a command takes, if one is given.
fn number<T: std::str::FromStr>(name: &str, argument: &str) -> Result<Option<T>, String> {
    match argument {
        "" => Ok(None),
        given => match given.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!(
                "`{given}` is not a number; /{name} takes a number or nothing"
            )),
        },
    }
}

/// The background command to end, if one was named.
fn job(argument: &str) -> Result<Option<String>, String> {
    match argument.split_once(char::is_whitespace).unwrap_or((argument, "")) {
        ("" | "list", "") => Ok(None),
        ("stop" | "kill", "") => Err("which job? /jobs stop NAME; /jobs lists them".into()),
        ("stop" | "kill", name) => Ok(Some(name.trim().to_owned())),
        _ => Err(format!("/jobs takes nothing or stop NAME, not `{argument}`")),
    }
}

fn rules(argument: &str) -> Result<Rules, String> {
    let (word, number) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    match (word, number.trim().parse()) {
        ("" | "list", Err(_)) if number.is_empty() => Ok(Rules::List),
        ("test", _) if number.trim().is_empty() => {
            Err("which call? for example /approvals test bash: rm -rf build".into())
        }
        ("test", _) => Ok(Rules::Test(number.trim().to_owned())),
        ("remove", Ok(number)) => Ok(Rules::Remove(number)),
        ("remove", Err(_)) => Err("which rule? /approvals remove N; /approvals lists them".into()),
        ("overrule", _) if number.trim().is_empty() => Ok(Rules::Overrule(None)),
        ("overrule", Ok(number)) => Ok(Rules::Overrule(Some(number))),
        ("overrule", Err(_)) => Err("which call? /approvals overrule N; without N it lists them".into()),
        _ => Err(format!(
            "/approvals takes nothing, test CALL, remove N or overrule [N], not `{argument}`"
        )),
    }
}

fn queue_wish(argument: &str) -> Result<QueueCommand, String> {
    let (word, number) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let number = number.trim();
    match (word, number.parse()) {
        ("" | "list", _) if number.is_empty() => Ok(QueueCommand::List),
        ("edit", _) if number.is_empty() => Ok(QueueCommand::Edit(None)),
        ("edit", Ok(number)) => Ok(QueueCommand::Edit(Some(number))),
        ("remove", Ok(number)) => Ok(QueueCommand::Remove(number)),
        ("steer", Ok(number)) => Ok(QueueCommand::Steer(number)),
        ("edit" | "remove" | "steer", Err(_)) => {
            Err(format!("which message? /queue {word} N; /queue lists them"))
        }
        _ => Err(format!(
            "/queue takes nothing, edit, remove or steer N, not `{argument}`"
        )),
    }
}

fn wish(argument: &str) -> Result<WheelCommand, String> {
    let (word, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let rest = rest.trim();
    Ok(match (word, rest) {
        ("", _) => WheelCommand::Know,
        ("take", "") => WheelCommand::Take,
        ("ask", "") => WheelCommand::Ask,
        ("release", "") => WheelCommand::Release,
        ("give", "") => return Err("to whom? /wheel give WHO; /who shows who is there".into()),
        ("give", who) => WheelCommand::Give(who.to_owned()),
        _ => {
            return Err(format!(
                "/wheel takes nothing, take, ask, give WHO or release, not `{argument}`"
            ));
        }
    })
}

/// A text for the agent, without the slash that kept it from being a command.
pub(crate) fn unescaped(line: &str) -> &str {
    if line.starts_with("//") { &line[1..] } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_texts_are_told_apart() {
        assert_eq!(parse("hello"), None);
        assert_eq!(parse("/usr/bin/env is a path"), None);
        assert_eq!(parse("//quit"), None);
        assert_eq!(parse("/ "), Some(Ok(Slash::Help(None))));
        assert_eq!(unescaped("//quit"), "/quit");
        assert_eq!(
            parse(" /model  opus "),
            Some(Ok(Slash::Model(Some("opus".into()))))
        );
        assert_eq!(
            parse("/approve-mode plan"),
            Some(Ok(Slash::Plan(PlanCommand::On)))
        );
        assert_eq!(
            parse("/approve-mode auto"),
            Some(Ok(Slash::ApproveMode(Some(ApprovalMode::Auto))))
        );
        assert_eq!(parse("/wheel"), Some(Ok(Slash::Wheel(WheelCommand::Know))));
        assert_eq!(
            parse("/wheel give ada-1f"),
            Some(Ok(Slash::Wheel(WheelCommand::Give("ada-1f".into()))))
        );
        assert!(matches!(parse("/wheel give"), Some(Err(_))));
        assert!(matches!(parse("/wheel drive"), Some(Err(_))));
        assert!(matches!(parse("/titel x"), Some(Err(what)) if what.contains("/title")));
        assert!(matches!(parse("/title"), Some(Err(_))));
        for name in TAKE_NOTHING {
            assert!(matches!(parse(&format!("/{name}")), Some(Ok(_))), "{name}");
            let words = parse(&format!("/{name} mind the gap"));
            assert!(
                matches!(words, Some(Err(what)) if what.contains("`mind the gap`")),
                "{name}"
            );
        }
        assert!(matches!(parse("/zzzz"), Some(Err(what)) if what.contains("/zzzz; /help")));
        assert_eq!(parse("/context"), Some(Ok(Slash::Context { exact: false })));
        assert_eq!(parse("/context exact"), Some(Ok(Slash::Context { exact: true })));
        assert!(matches!(parse("/context all"), Some(Err(_))));
        assert!(matches!(parse("/config all"), Some(Ok(Slash::Config(_)))));
        assert!(matches!(parse("/config some"), Some(Err(what)) if what.contains("`some`")));
        assert_eq!(
            parse("/approvals test bash: rm -rf x"),
            Some(Ok(Slash::Approvals(Rules::Test("bash: rm -rf x".into()))))
        );
        assert!(matches!(parse("/approvals test"), Some(Err(what)) if what.contains("which call?")));
        assert_eq!(
            parse("/approvals overrule"),
            Some(Ok(Slash::Approvals(Rules::Overrule(None))))
        );
        assert_eq!(
            parse("/approvals overrule 2"),
            Some(Ok(Slash::Approvals(Rules::Overrule(Some(2)))))
        );
        assert!(matches!(parse("/approvals overrule x"), Some(Err(_))));
    }
}
