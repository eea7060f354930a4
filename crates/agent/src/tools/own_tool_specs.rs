//! The specifications of the tools that the agent itself answers, for lists of all tools.

use agentx_types::{ReminderSettings, ToolSpec};

use crate::tools::{ask_user, plan_mode, recall, remind_me, wait};

/// Returns the specs of the tools that agents answer by themselves: `ask_user`, `present_plan`, `recall`,
/// `remind_me` and `wait`. No runtime lists them, because an agent has them by its settings and its
/// conversation.
///
/// ```
/// let own = agentx_agent::own_tools();
/// let names: Vec<&str> = own.iter().map(|tool| tool.name.as_str()).collect();
/// assert_eq!(names, ["ask_user", "present_plan", "recall", "remind_me", "wait"]);
/// ```
pub fn own_tools() -> Vec<ToolSpec> {
    let remind_me = remind_me::tool(&ReminderSettings::default());
    vec![
        ask_user::tool(),
        plan_mode::tool(),
        recall::tool(),
        remind_me,
        wait::tool(),
    ]
}
