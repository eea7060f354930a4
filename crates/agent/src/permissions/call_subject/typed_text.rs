//! Text that is typed into a program of a shell that stays (`shell_input`).
//!
//! Nobody knows what the program makes of it: it may be an answer, a line of an interpreter, or a command
//! line of another shell. So it is read both as a text and as a command line, and the stricter verdict holds:
//!
//! | rule | is compared with |
//! | --- | --- |
//! | denies or asks, about `bash`, `shell` or `shell_input` | the command line, the text, and the arguments as JSON |
//! | allows, about `shell_input` | the text, and the command line: it has to cover both |
//! | allows, about `bash` or `shell` | nothing: it is about command lines that a known shell runs |
//!
//! A part of it that cannot be read as a command line leads to a question, never to a refusal: most texts are
//! no command lines.

use std::borrow::Cow;

use agentx_types::{Rule, RuleEffect, ToolSpec, since};

use super::CallSubject;
use crate::pattern::{fits, literal};

/// The tool that types text.
const SHELL_INPUT: &str = "shell_input";

/// Returns whether a tool types its text into a program of a shell. A tool of an older log names no argument
/// with that text, and its calls are judged by their JSON alone.
pub(crate) fn types_text(tool: &ToolSpec, version: u32) -> bool {
    version >= since::TYPED_TEXT_IS_READ_AS_A_LINE
        && tool.name == SHELL_INPUT
        && tool.command_argument.is_some()
}

/// The text as a program reads it: a terminal turns a carriage return into the end of a line.
pub(super) fn as_read(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

impl CallSubject<'_> {
    /// Returns whether it types text into a program.
    pub(crate) fn is_typed(&self) -> bool {
        self.typed.is_some()
    }

    /// The typed text, which may be a name as a whole.
    pub(super) fn typed_text(&self) -> Option<&String> {
        self.is_typed().then_some(&self.argument)
    }

    /// Returns whether a pattern fits the arguments of a call that types text.
    pub(super) fn typed_fits(&self, pattern: &str) -> bool {
        self.typed.as_ref().is_some_and(|all| fits(pattern, all))
    }

    /// Returns whether a pattern is exactly the arguments of a call that types text.
    pub(super) fn is_typed_call(&self, pattern: &str) -> bool {
        self.typed.as_ref().is_some_and(|all| pattern == literal(all))
    }

    /// Returns whether a rule that allows may be about the typed text: its pattern has to fit the whole text.
    /// True for any other call.
    pub(super) fn may_allow_typed(&self, rule: &Rule) -> bool {
        let fits_text = |pattern: &String| self.is_whole(pattern) || fits(pattern, &self.argument);
        !self.is_typed() || rule.argument.as_ref().is_none_or(fits_text)
    }

    /// Returns whether a rule about this tool, which runs command lines, is about the typed text: only rules
    /// that deny or ask are.
    pub(super) fn takes_rule_of(&self, tool: &str, rule: &Rule) -> bool {
        self.is_typed() && rule.effect != RuleEffect::Allow && fits(&rule.tool, tool)
    }
}
