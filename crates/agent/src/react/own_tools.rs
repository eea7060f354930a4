//! The tools that the machine itself answers: `recall` and `find_tools` from its state, `ask_user` and
//! `present_plan` by asking the person, `wait` and `remind_me` by a timer, `delegate` by another agent
//! ([`super::children`]). No effector knows them.

use agentx_types::{ContentPart, RequestedCall, ToolSpec, ToolStatus, since};

use super::ReactAgent;
use crate::built_in_agents;
use crate::ledger::CallStage;
use crate::run_lifecycle::RunStep;
use crate::tools::ask_user::ASK_USER;
use crate::tools::delegation_tools::DELEGATE;
use crate::tools::plan_mode::PRESENT_PLAN;
use crate::tools::recall::RECALL;
use crate::tools::remind_me::REMIND_ME;
use crate::tools::tool_search::FIND_TOOLS;
use crate::tools::wait::WAIT;
use crate::tools::{ask_user, plan_mode, recall, remind_me, tool_search, wait};

impl ReactAgent {
    /// The machine's own tool of this name, if that is on offer: `recall` only once something was condensed,
    /// `find_tools` only if the tools of servers take too much room, `delegate` only for built-in agents.
    pub(super) fn own_tool(&self, name: &str) -> Option<ToolSpec> {
        let offered = match name {
            RECALL => recall::offered(&self.config, self.conversation.is_condensed()),
            FIND_TOOLS => tool_search::offered(&self.config),
            ASK_USER => ask_user::offered(&self.config),
            PRESENT_PLAN => plan_mode::offered(&self.config),
            WAIT => wait::offered(&self.config),
            REMIND_ME => remind_me::offered(&self.config),
            DELEGATE => built_in_agents::offered(&self.config),
            _ => None,
        };
        let is_checked = self.config.rules_version >= since::OWN_ARGUMENTS_ARE_CHECKED;
        let tool = offered.filter(|tool| tool.name == name);
        tool.map(|tool| tool.with_checked(is_checked))
    }

    /// Answers a call of one of the machine's own tools, or asks the person; `None` for any other call and
    /// for `delegate`. An `Err` is the message to the model about its arguments.
    pub(super) fn answer_by_itself(
        &mut self,
        call: &RequestedCall,
        step: &mut RunStep<'_>,
    ) -> Option<Result<CallStage, String>> {
        self.own_tool(&call.name)?;
        let found = match call.name.as_str() {
            ASK_USER | PRESENT_PLAN => return Some(self.ask_person(call, step)),
            WAIT => return Some(self.begin_wait(call, step)),
            REMIND_ME => return Some(self.set_reminder(call, step)),
            DELEGATE => return None,
            FIND_TOOLS => tool_search::answer(&self.config, &call.input),
            _ => recall::answer(
                &self.conversation.originals(),
                &call.input,
                self.config.rules_version,
            ),
        };
        Some(found.map(|text| self.answer_now(call, ToolStatus::Success, text, step)))
    }

    /// The names of the offered tools, for a model that called an unknown one.
    pub(super) fn names_of_tools(&self) -> String {
        let searches = self.own_tool(FIND_TOOLS).is_some();
        let listed = self.config.tools.iter();
        let listed = listed.filter(|tool| !(searches && tool_search::is_of_server(tool)));
        let mut names: Vec<&str> = listed.map(|tool| tool.name.as_str()).collect();
        let recall = self.config.rules_version >= since::RECALL_IS_A_TOOL && self.own_tool(RECALL).is_some();
        names.extend(self.own_tool(ASK_USER).map(|_| ASK_USER));
        names.extend(self.own_tool(PRESENT_PLAN).map(|_| PRESENT_PLAN));
        names.extend(self.own_tool(WAIT).map(|_| WAIT));
        names.extend(self.own_tool(REMIND_ME).map(|_| REMIND_ME));
        names.extend(self.own_tool(DELEGATE).map(|_| DELEGATE));
        names.extend(recall.then_some(RECALL));
        names.extend(searches.then_some(FIND_TOOLS));
        let more = if searches { ", and those that it finds" } else { "" };
        format!("{}{more}", names.join(", "))
    }

    /// Records the tools that a result names, or of the one that was called unfound: requests have their
    /// schemas from now on.
    pub(super) fn note_found_tools(&mut self, called: &str, status: ToolStatus, content: &[ContentPart]) {
        if self.config.tool_search.is_none() || self.own_tool(FIND_TOOLS).is_none() {
            return;
        }
        let names = if called == FIND_TOOLS && status == ToolStatus::Success {
            let text: String = content.iter().filter_map(ContentPart::as_text).collect();
            tool_search::found(&self.config, &text)
        } else {
            let tool = self.tool(called).filter(|tool| tool_search::is_of_server(tool));
            tool.map(|tool| tool.name.clone()).into_iter().collect()
        };
        self.conversation.tools_found(names, &self.config);
    }
}
