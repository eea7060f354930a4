//! Tool calls while they stream. Several may stream at once, distinguished by index; some servers leave out
//! the index or the id, repeat id and name in every piece, send a name in pieces, or give all calls the index
//! 0.
//!
//! ```text
//! {"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}
//! {"index":0,"function":{"arguments":"{\"path\":"}}
//! {"index":0,"function":{"arguments":"\"a.md\"}"}}
//! ```
//!
//! The first piece of a call becomes `tool_call_start`, each piece of arguments a `tool_call_chunk`. The
//! complete `tool_call` follows at the end of the answer, when its arguments are known to be complete.

use agentx_types::{EnvironmentEvent, ToolCallId};
use serde_json::{Value, json};

use super::wire::ToolDelta;
use super::{API, EXTRA};
use crate::emitter::{Emitter, parse_input};
use crate::lenient_json::raw_text;

/// The calls of one answer, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolCallBuffer(Vec<OpenToolCall>);

#[derive(Clone, Debug)]
struct OpenToolCall {
    index: Option<u64>,
    /// The id that the server gave; empty if it gave none.
    given_id: String,
    name: String,
    json: String,
    /// The data that the server needs back with the call, unchanged.
    extra: Option<Value>,
    /// The final id, which is set with `tool_call_start`.
    id: Option<ToolCallId>,
}

impl ToolCallBuffer {
    /// Returns whether the answer has no calls yet.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies a piece.
    pub(super) fn delta(
        &mut self,
        delta: ToolDelta<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        let function = delta.function.unwrap_or_default();
        let name = function.name.as_deref().unwrap_or_default();
        let arguments = function.arguments.and_then(raw_text).unwrap_or_default();
        let given_id = delta.id.as_deref().unwrap_or_default();
        let Some(call) = self.find(delta.index.map(|index| index.number), given_id, name, &arguments) else {
            return;
        };
        if call.given_id.is_empty() {
            call.given_id.push_str(given_id);
        }
        call.take_name(name);
        let extra = delta.extra_content.map(|extra| serde_json::from_str(extra.get()));
        if let Some(Ok(extra @ Value::Object(_))) = extra {
            call.extra = Some(extra);
        }
        call.take_arguments(&arguments, emitter, out);
    }

    /// Ends the answer: emits the complete calls, in the order in which they began.
    ///
    /// If the answer was `cut` off by its length limit, a call without arguments is invalid: they are
    /// missing, not empty.
    pub(super) fn finish(self, cut: bool, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        for call in self.0 {
            let id = match call.id {
                Some(id) => id,
                // Its name never came, or is empty.
                None => {
                    let id = emitter.call_id(&call.given_id);
                    emitter.tool_start(&id, &call.name, out);
                    emitter.tool_chunk(&id, &call.json, out);
                    id
                }
            };
            emitter.tool_call(id, call.name, parse_input(&call.json, cut), out);
            if let Some(extra) = call.extra {
                emitter.attach(API, json!({EXTRA: extra}), out);
            }
        }
    }

    /// The call to which a piece belongs, or a new one; none if a server repeats a complete call.
    fn find(
        &mut self,
        index: Option<u64>,
        given_id: &str,
        name: &str,
        arguments: &str,
    ) -> Option<&mut OpenToolCall> {
        let position = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index),
            None if given_id.is_empty() => self.0.len().checked_sub(1),
            None => self.0.iter().rposition(|call| call.given_id == given_id),
        };
        if position.is_some_and(|position| self.0[position].is_said_again(given_id, name, arguments)) {
            return None;
        }
        match position.filter(|position| !self.0[*position].is_over(given_id, name, arguments)) {
            Some(position) => Some(&mut self.0[position]),
            None => {
                let call = OpenToolCall {
                    index,
                    given_id: String::new(),
                    name: String::new(),
                    json: String::new(),
                    extra: None,
                    id: None,
                };
                self.0.push(call);
                self.0.last_mut()
            }
        }
    }
}

impl OpenToolCall {
    /// Applies the name in a piece: nothing, the whole name (repeatedly, at some servers), or, before the
    /// arguments begin, the continuation of the piece before.
    fn take_name(&mut self, name: &str) {
        if name.is_empty() || self.name == name {
            return;
        }
        if !self.json.trim().is_empty() || name.starts_with(&self.name) {
            self.name.clear();
        }
        self.name.push_str(name);
    }

    /// Adds a piece of the arguments, and emits it: with all earlier pieces if the call had no name until
    /// now.
    fn take_arguments(&mut self, piece: &str, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        emitter.count_arguments(piece.len());
        if self.is_empty_so_far() && piece.trim_start().starts_with('{') {
            self.json.clear();
        }
        self.json.push_str(piece);
        match &self.id {
            Some(id) => emitter.tool_chunk(id, piece, out),
            None if self.name.is_empty() => {}
            None => {
                let id = emitter.call_id(&self.given_id);
                emitter.tool_start(&id, &self.name, out);
                emitter.tool_chunk(&id, &self.json, out);
                self.id = Some(id);
            }
        }
    }

    /// Returns whether a piece with this id and name begins another call under the same index or id: a server
    /// that numbers all calls 0, or gives all the same name, sends each of them whole
    /// (<https://github.com/su-kaka/gcli2api/pull/406>). One without arguments is complete too, if the next
    /// one has another id. An id that changes within a call is ignored: some servers give each piece another
    /// one (<https://github.com/poolsideai/pool/issues/9>).
    fn is_over(&self, given_id: &str, name: &str, arguments: &str) -> bool {
        let another_id = !given_id.is_empty() && !self.given_id.is_empty() && given_id != self.given_id;
        let same_id = !given_id.is_empty() && given_id == self.given_id;
        if name.is_empty() || (same_id && self.is_empty_so_far()) {
            return false;
        }
        let begins = another_id || name != self.name || arguments.trim_start().starts_with('{');
        (begins && self.is_whole()) || (another_id && self.json.trim().is_empty())
    }

    /// Returns whether a piece repeats this whole call, under the same id.
    fn is_said_again(&self, given_id: &str, name: &str, arguments: &str) -> bool {
        let same = !given_id.is_empty() && given_id == self.given_id && name == self.name;
        same && arguments == self.json && self.is_whole()
    }

    /// Returns whether all that came are the empty arguments with which some gateways begin a call of
    /// Claude's, before the real ones (<https://github.com/BerriAI/litellm/issues/4537>,
    /// <https://github.com/openai/openai-agents-js/pull/712>).
    fn is_empty_so_far(&self) -> bool {
        self.json.trim() == "{}"
    }

    fn is_whole(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.json).is_ok()
    }
}
