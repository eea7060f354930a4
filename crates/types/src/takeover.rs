//! The facts that a new writer of a session records about the process that wrote before it, which may have
//! been killed.

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;
use crate::{ActionId, ToolCallId};

payloads! {
    /// A process became the session's writer.
    WriterAttached {
        /// Counts the writers of this session, from 1; a writer with a smaller one is refused.
        epoch: u64,
        /// The program, with its version.
        program: String,
        /// The program's process id.
        process: u32,
        /// Programs left running by the previous process and ended by this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ended: Vec<LeftRunning>,
        /// Whether it is a server: if it is killed, the next server continues its runs without being asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        serves: bool,
        /// The recorded output of calls that the end of the previous process cut off.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut_off: Vec<CutOffOutput>,
    }
}

/// Processes of a command that outlived the program that ran it, which the next program that opens the
/// session ends; or a command in the background that ended with its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftRunning {
    /// The call that was cut off; absent if the call had ended and this continued in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The name of the first program, as the system shows it, or `!` and the command that a person ran; the
    /// beginning of the command line of one that ended with its program.
    pub program: String,
    /// The number of its processes; 0 for a command that ended with its program.
    pub processes: u32,
}

/// The output of a call before the end of its program cut it off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutOffOutput {
    /// The action that started the call.
    pub action_id: ActionId,
    /// The end of the recorded output, as a terminal would show it: 16 KiB at most.
    pub text: String,
    /// The number of bytes before `text` that are left out.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub left_out: u64,
}
