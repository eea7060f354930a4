//! The task of a run and the text from outside in a conversation, for the request to analyzers.

use std::collections::BTreeMap;

use agentx_types::{Access, ContentPart, Message, Role, ToolCallId, shortened};
use serde_json::Value;

use super::Assessed;
use crate::commands::question_grade::{Grade, of_command};
use crate::permissions::approval;
use crate::react::ReactAgent;
use crate::security::{OutsideText, injection_signs};
use crate::tools::web_tools::is_web_tool;

/// Maximum number of characters of the task that an analyzer reads.
const TASK_CHARS: usize = 4_000;
/// Beginnings of the ids of messages that no person wrote although they have the role of a user.
const NOT_OF_PEOPLE: &[&str] = &[
    "msg_answer_",
    "msg_condensed_",
    "msg_context_",
    "msg_declined_",
    "msg_ended_",
    "msg_loop_",
    "msg_plan_mode_",
    REMINDER,
];
/// The beginning of the ids of messages that tell reminders. Their words are those of the model.
const REMINDER: &str = "msg_reminder_";
/// The task of a run that tells a reminder.
const NO_TASK: &str = "(No person asked for this run: it only tells the user about a reminder.)";

impl ReactAgent {
    /// The words of the person that the run answers; those of a reminder are the model's own.
    pub(super) fn task_of_run(&self) -> String {
        let Some(run) = self.run() else {
            return String::new();
        };
        if run.input_id.as_str().starts_with(REMINDER) {
            return NO_TASK.to_owned();
        }
        let originals = self.conversation.originals();
        let mut all = originals
            .iter()
            .map(|(_, message)| *message)
            .chain(self.messages().map(|message| &**message));
        let input = all.find(|message| message.message_id == run.input_id);
        shortened(&input.map(Message::text).unwrap_or_default(), TASK_CHARS)
    }

    /// The signs that a call follows text from outside.
    pub(super) fn injection_signs_of(&self, assessed: &Assessed<'_>) -> Vec<String> {
        let originals = self.conversation.originals();
        let all: Vec<&Message> = originals
            .iter()
            .map(|(_, message)| *message)
            .chain(self.messages().map(|message| &**message))
            .collect();
        let outside = self.outside_texts(&all);
        let outside: Vec<OutsideText<'_>> = outside
            .iter()
            .map(|(origin, text)| OutsideText { origin, text })
            .collect();
        let said: Vec<String> = all
            .iter()
            .filter(|message| is_of_people(message))
            .map(|message| message.text())
            .collect();
        let files = self.config.instructions.iter().map(|file| &*file.text);
        let own: Vec<&str> = said
            .iter()
            .map(String::as_str)
            .chain([&*self.config.system_prompt])
            .chain(files)
            .collect();
        injection_signs(assessed.tool, assessed.input, &outside, &own)
    }

    /// The results in the conversation that come from outside, each with its origin.
    fn outside_texts(&self, all: &[&Message]) -> Vec<(String, String)> {
        let parts = || all.iter().flat_map(|message| &message.content);
        let inputs: BTreeMap<&ToolCallId, &Value> = parts()
            .filter_map(|part| match part {
                ContentPart::ToolCall(call) => Some((&call.tool_call_id, &call.input)),
                _ => None,
            })
            .collect();
        let results = parts().filter_map(|part| match part {
            ContentPart::ToolResult(result) => Some(result),
            _ => None,
        });
        results
            .filter_map(|result| {
                let input = inputs.get(&result.tool_call_id).copied().unwrap_or(&Value::Null);
                let origin = self.origin_of_result(&result.name, input)?;
                let text: String = result.content.iter().filter_map(ContentPart::as_text).collect();
                Some((origin, text))
            })
            .collect()
    }

    /// The origin of a result in words, if it comes from outside: of a tool that leaves the machine or shows
    /// pages, of one that the agent no longer has, of a command that reaches other machines, or of a file
    /// outside of the workspace.
    fn origin_of_result(&self, name: &str, input: &Value) -> Option<String> {
        let Some(tool) = self.tool(name) else {
            return self
                .own_tool(name)
                .is_none()
                .then(|| format!("a result of {name}"));
        };
        if let Some(server) = tool.reach.as_ref().and_then(|reach| reach.mcp.as_deref()) {
            return Some(format!("a result of the MCP tool {server}"));
        }
        // `browser_read` shows a page that another call has opened, and leaves the machine no more.
        if tool.access == Access::Network || is_web_tool(name) {
            return Some(format!("a result of {name}"));
        }
        let line = tool
            .command_argument
            .as_ref()
            .and_then(|argument| input.get(argument)?.as_str());
        if line.is_some_and(|line| of_command(line) == Grade::Network) {
            return Some(format!(
                "the output of a command of {name} that reached other machines"
            ));
        }
        let is_outside =
            tool.path_argument.is_some() && approval::is_outside_workspace(&self.config, tool, input);
        is_outside.then(|| "a file outside of the workspace".to_owned())
    }
}

/// Returns whether a message is an input of a person.
fn is_of_people(message: &Message) -> bool {
    let id = message.message_id.as_str();
    message.role == Role::User && !NOT_OF_PEOPLE.iter().any(|beginning| id.starts_with(beginning))
}
