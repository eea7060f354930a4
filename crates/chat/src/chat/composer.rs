//! What a person writes: the line, what goes along with it, and what was typed ahead.

use agentx::types::ContentPart;
use agentx_terminal::Editor;

use super::rewinding::RewindQuestion;
use super::server_wait::Inputs;

/// What a person writes.
pub(crate) struct Composer {
    pub(super) editor: Editor,
    pub(super) inputs: Inputs,
    /// Nothing more can be typed.
    pub(super) ended: bool,
    /// What goes to the agent with the next words.
    pub(super) shared: Vec<ContentPart>,
    /// What was said and is not on record yet.
    pub(super) sending: Option<String>,
    /// What the chat itself asks, about going back.
    pub(super) asking: Option<RewindQuestion>,
}

impl Composer {
    /// Nothing is written yet.
    pub(super) fn new(editor: Editor, inputs: Inputs) -> Self {
        Self {
            editor,
            inputs,
            ended: false,
            shared: Vec::new(),
            sending: None,
            asking: None,
        }
    }
}
