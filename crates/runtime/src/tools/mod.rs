//! Tools, and the parts that a running call of one may use: the journal of its steps, the events of other
//! agents, the values of its caller, and the output as a terminal shows it.

pub(crate) mod call_approver;
pub(crate) mod intercepted_tool;
pub(crate) mod journal;
pub(crate) mod listener;
pub(crate) mod request_values;
pub(crate) mod served_tool;
pub(crate) mod step_record;
pub(crate) mod terminal_line;
pub(crate) mod tool;
pub(crate) mod tool_offers;
