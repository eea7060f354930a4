//! The agents that another one made and that are at work, with their tasks: `/jobs` lists them beside the
//! commands in the background.

use agentx::types::{ContentPart, Message, RuntimeEvent};

use super::super::clean::visible;
use super::super::table::{cut, table};
use super::{CastMember, LiveAgents};

/// Maximum number of columns of a task to show.
const SHOWN_TASK: usize = 60;

impl LiveAgents {
    /// Lists the agents at work, a row each: name and task. `None` if none is at work.
    pub(crate) fn list_at_work(&self, width: usize) -> Option<String> {
        let at_work = self
            .members
            .values()
            .filter(|member| member.is_child && member.at_work);
        let mut rows: Vec<Vec<String>> = at_work
            .map(|member| vec![member.shown.clone(), "agent".to_owned(), member.task.clone()])
            .collect();
        rows.sort();
        (!rows.is_empty()).then(|| table(&rows, width))
    }
}

impl CastMember {
    /// Notes whether an agent is at work and on which task, whether it is gone, and which of its calls people
    /// are asked about.
    pub(super) fn stands(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::AgentDestroyed(_) => (self.gone, self.at_work) = (true, false),
            RuntimeEvent::RunStarted(_) => self.at_work = true,
            RuntimeEvent::RunFinished(_) => {
                self.at_work = false;
                self.asked.clear();
            }
            RuntimeEvent::UserMessageAdded(added) if self.task.is_empty() => {
                self.task = first_line(&added.message);
            }
            RuntimeEvent::ApprovalRequested(asked) => self.asked.push(asked.tool_call_id.clone()),
            RuntimeEvent::ApprovalSettled(settled) => self.asked.retain(|id| *id != settled.tool_call_id),
            RuntimeEvent::ToolExecuting(call) => self.asked.retain(|id| *id != call.tool_call_id),
            RuntimeEvent::ToolCallAnswered(call) => self.asked.retain(|id| *id != call.tool_call_id),
            _ => {}
        }
    }
}

/// The first line of a message, cut to the columns that are shown.
fn first_line(message: &Message) -> String {
    let text = message.content.iter().find_map(ContentPart::as_text);
    let line = text.and_then(|text| text.trim().lines().next());
    cut(&visible(line.unwrap_or_default()), SHOWN_TASK)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx::types::{
        AgentStarted, Envelope, EventDraft, Role, RunFinished, RunId, RunStarted, RunStatus, SessionId,
        Source, Timestamp, UserMessageAdded,
    };

    use super::*;
    use crate::render::style::AnsiStyle;

    fn envelope(agent: &str, event: impl Into<RuntimeEvent>) -> Envelope<RuntimeEvent> {
        let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
        draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1))
    }

    fn input(text: &str) -> UserMessageAdded {
        let message = Message {
            message_id: "msg_2".into(),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        };
        UserMessageAdded { message }
    }

    #[test]
    fn agents_at_work_are_listed_with_their_tasks_until_they_have_ended() {
        let mut cast = LiveAgents::new(AnsiStyle::default(), 80);
        assert_eq!(cast.list_at_work(80), None);
        for (agent, task) in [("agt_2", "look there\nand here"), ("agt_3", "\u{1b}[2Jcount")] {
            let started = AgentStarted {
                name: "general".into(),
                parent: Some("agt_1".into()),
                routes: false,
            };
            let begun = RunStarted {
                run_id: RunId::new("run_1"),
                message_id: "msg_2".into(),
            };
            cast.meet(&envelope(agent, started));
            cast.meet(&envelope(agent, begun));
            cast.meet(&envelope(agent, input(task)));
            cast.meet(&envelope(agent, input("another input")));
        }
        let listed = cast.list_at_work(80).unwrap();
        let rows: Vec<&str> = listed.lines().collect();
        assert_eq!(rows.len(), 2, "{listed}");
        assert!(rows[0].starts_with("general ") && rows[0].ends_with("agent  look there"));
        assert!(rows[1].starts_with("general 2") && rows[1].ends_with("count"));
        assert!(!listed.contains('\u{1b}'), "{listed:?}");
        for agent in ["agt_2", "agt_3"] {
            let finished = RunFinished {
                run_id: RunId::new("run_1"),
                status: RunStatus::Completed,
                reason: None,
                iterations: 0,
            };
            cast.meet(&envelope(agent, finished));
        }
        assert_eq!(cast.list_at_work(80), None);
    }
}
