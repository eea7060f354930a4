//! The mark of a command: a variable in its environment that names its call and session, and the process that
//! started it. Child processes inherit it, even if they leave the process group.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_types::{SessionId, ToolCallId};
use nix::unistd::Pid;

use super::processes::{self, Process};

/// The variable.
pub(super) const MARK: &str = "AGENTX_CALL";

/// The placeholder for the call in the mark of a command that a person runs in a chat.
const OWN_COMMAND: &str = "!";

/// The placeholder for the call in the mark of a shell that stays from one call to the next.
const LASTING_SHELL: &str = "$";

/// The maximum length of a call's id in the mark. A longer one is cut, because a model may make up any id.
const LONGEST_CALL: usize = 200;

/// The parts of a mark: `SESSION/CALL/PID.STARTED.TERMINAL.NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessMark {
    session: String,
    call: String,
    writer: Pid,
    started: u64,
    terminal: Pid,
    number: u64,
}

impl ProcessMark {
    /// Creates a unique mark for a command of this call.
    pub(super) fn new(session: &SessionId, call: &ToolCallId) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        static OWN: OnceLock<Option<Process>> = OnceLock::new();
        let own = OWN.get_or_init(|| processes::read(Pid::this().as_raw()));
        Self {
            session: encode_id(session.as_str()),
            call: encode_id(call.as_str()),
            writer: Pid::this(),
            started: own.as_ref().map_or(0, |own| own.started),
            terminal: own.as_ref().map_or(Pid::from_raw(0), |own| own.session),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Returns the session, in characters that are allowed in a path.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Creates a mark for a command that a person runs in this session's chat.
    pub(super) fn of_own_command(session: &SessionId) -> Self {
        Self::new(session, &ToolCallId::new(OWN_COMMAND))
    }

    /// Returns whether it belongs to a command that a person ran in a chat.
    pub(super) fn is_of_own_command(&self) -> bool {
        self.call == encode_id(OWN_COMMAND)
    }

    /// Creates a mark for a shell that stays until this session ends.
    pub(super) fn of_lasting_shell(session: &SessionId) -> Self {
        Self::new(session, &ToolCallId::new(LASTING_SHELL))
    }

    /// Returns whether it belongs to a shell that stays. Such a shell leads a session of processes, that of
    /// its terminal, and everything in it ends with the agent's session.
    pub(super) fn is_of_lasting_shell(&self) -> bool {
        self.call == encode_id(LASTING_SHELL)
    }

    /// Reads the mark of a process. Processes of other users cannot be read.
    pub(super) fn of_process(pid: Pid) -> Option<Self> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let begins = |part: &&[u8]| part.starts_with(MARK.as_bytes());
        let found = environment.split(|byte| *byte == 0).find(begins)?;
        let value = std::str::from_utf8(found)
            .ok()?
            .strip_prefix(MARK)?
            .strip_prefix('=')?;
        Self::parse(value)
    }

    pub(super) fn parse(value: &str) -> Option<Self> {
        let mut parts = value.split('/');
        let (session, call, own) = (parts.next()?, parts.next()?, parts.next()?);
        let mut numbers = own.split('.');
        let mut number = || numbers.next()?.parse::<u64>().ok();
        let (writer, started, terminal, number) = (number()?, number()?, number()?, number()?);
        let pid = |number: u64| i32::try_from(number).ok().map(Pid::from_raw);
        Some(Self {
            session: session.to_owned(),
            call: call.to_owned(),
            writer: pid(writer)?,
            started,
            terminal: pid(terminal)?,
            number,
        })
    }

    /// Returns whether it belongs to this session.
    pub(super) fn is_of(&self, session: &SessionId) -> bool {
        self.session == encode_id(session.as_str())
    }

    /// Returns the number of the command in its program.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether it belongs to this call.
    pub(super) fn is_call(&self, call: &ToolCallId) -> bool {
        self.call == encode_id(call.as_str())
    }

    /// Returns the call, as the mark encodes it.
    pub(super) fn call(&self) -> &str {
        &self.call
    }

    /// Returns the terminal session of the program that wrote the mark. Commands are in the same one, unless
    /// they left it.
    pub(super) fn terminal_session(&self) -> Pid {
        self.terminal
    }

    /// Returns whether the program that wrote it still runs: then that program ends its own processes.
    pub(super) fn writer_lives(&self, all: &[Process]) -> bool {
        all.iter()
            .any(|process| process.pid == self.writer && process.started == self.started)
    }
}

impl std::fmt::Display for ProcessMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            session,
            call,
            writer,
            started,
            terminal,
            number,
        } = self;
        write!(f, "{session}/{call}/{writer}.{started}.{terminal}.{number}")
    }
}

/// Returns the variable and value that mark a command that a person runs in a chat. If the program is killed,
/// the process that opens the session next finds the command and its background processes by it, and ends
/// them.
pub fn own_command_mark(session: &SessionId) -> (&'static str, String) {
    (MARK, ProcessMark::of_own_command(session).to_string())
}

/// The number of ancestors to check.
const MOST_ABOVE: usize = 64;

/// Returns whether a command of a tool started this process, directly or through others. A command that a
/// person runs in a chat does not count. Without `/proc`, only the variable of this process counts.
///
/// A process that removed the variable and left its parents is not found: nothing else tells it from a job of
/// the person without a terminal. Only a sandbox keeps such a process from the settings.
pub fn is_in_a_call() -> bool {
    let is_tool = |mark: ProcessMark| !mark.is_of_own_command();
    let own = std::env::var(MARK)
        .ok()
        .and_then(|mark| ProcessMark::parse(&mark));
    if own.is_some_and(is_tool) {
        return true;
    }
    let above = std::iter::successors(processes::read(Pid::this().as_raw()), |below| {
        processes::read(below.parent.as_raw())
    });
    above
        .skip(1)
        .take(MOST_ABOVE)
        .any(|process| ProcessMark::of_process(process.pid).is_some_and(is_tool))
}

/// Encodes an id for a mark: bytes other than letters, digits, `_` and `-` become `%` and two hexadecimal
/// digits.
pub(super) fn encode_id(id: &str) -> String {
    let mut text = String::with_capacity(id.len());
    for byte in id.bytes() {
        if text.len() >= LONGEST_CALL {
            break;
        }
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => text.push(char::from(byte)),
            other => text.push_str(&format!("%{other:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mark = ProcessMark::new(
            &SessionId::new("ses_1"),
            &ToolCallId::new("functions.bash:0/\n=%"),
        );
        let text = mark.to_string();
        assert!(!text.contains('\n') && text.matches('/').count() == 2, "{text}");
        assert_eq!(ProcessMark::parse(&text), Some(mark.clone()));
        assert!(mark.is_of(&SessionId::new("ses_1")) && !mark.is_of(&SessionId::new("ses_")));
        assert!(mark.is_call(&ToolCallId::new("functions.bash:0/\n=%")));
        assert!(!mark.is_call(&ToolCallId::new("functions.bash:0")));
    }

    #[test]
    fn what_is_no_mark_of_ours_is_none() {
        for text in [
            "",
            "1.2.3",
            "ses_1/call",
            "ses_1/call/x",
            "ses_1/call/1.2.3",
            "ses_1/call/99999999999.1.1.1",
        ] {
            assert_eq!(ProcessMark::parse(text), None, "{text}");
        }
    }
}
