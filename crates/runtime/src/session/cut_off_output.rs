//! The output that a call had written when its program died: the model, which reads only results, would
//! otherwise never learn it. Opening a session reads it from the log, for the calls that are answered as
//! unknown.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_session::SessionFold;
use agentx_types::{
    ActionId, CutOffOutput, Envelope, EnvironmentEvent, OutputChannel, ToolCallId, ToolOutputChunk,
};

use crate::log::SessionLog;
use crate::log_error::LogError;
use crate::tools::terminal_line::TerminalLine;

/// The most bytes that are kept of the output of one call.
const MOST_OF_A_CALL: usize = 16 << 10;
/// The most bytes that are kept of the output of all calls together.
const MOST: usize = 128 << 10;

/// Returns the recorded output of the calls that were cut off and may not be repeated. A call without output
/// is left out.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub(crate) async fn cut_off_output(
    log: &dyn SessionLog,
    fold: &SessionFold,
) -> Result<Vec<CutOffOutput>, LogError> {
    let calls = fold.unrepeatable_calls();
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    // A call writes nothing before its action.
    let after = calls.iter().map(|(action, _)| action.origin().unwrap_or(0)).min();
    let most = MOST_OF_A_CALL.min(MOST / calls.len());
    let tails: Vec<OutputTail> = calls
        .into_iter()
        .map(|(action, call)| OutputTail::new(action, call, most))
        .collect();
    let shared = Arc::new(Mutex::new(tails));
    let reading = shared.clone();
    let take = move |fact: &mut Envelope<EnvironmentEvent>| {
        if let EnvironmentEvent::ToolOutputChunk(chunk) = &fact.event {
            let mut tails = reading.lock().unwrap_or_else(PoisonError::into_inner);
            let of_call = tails
                .iter_mut()
                .find(|tail| tail.is_of(fact.cause.as_ref(), chunk));
            if let Some(tail) = of_call {
                tail.push(&chunk.text);
            }
        }
        ControlFlow::Continue(())
    };
    let (session, last) = (fold.session_id(), fold.last_seq());
    log.scan(session, after.unwrap_or(0), last, Box::new(take))
        .await?;
    let tails = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(tails.into_iter().filter_map(OutputTail::finish).collect())
}

/// The end of the output of one call, as a terminal would show it. Its memory is bounded.
struct OutputTail {
    call: (ActionId, ToolCallId),
    most: usize,
    line: TerminalLine,
    text: String,
    left_out: u64,
}

impl OutputTail {
    fn new(action_id: ActionId, tool_call_id: ToolCallId, most: usize) -> Self {
        Self {
            call: (action_id, tool_call_id),
            most,
            line: TerminalLine::default(),
            text: String::new(),
            left_out: 0,
        }
    }

    /// Returns whether a piece of output belongs to the call itself. Notes about progress do not.
    fn is_of(&self, cause: Option<&ActionId>, chunk: &ToolOutputChunk) -> bool {
        let (action_id, tool_call_id) = &self.call;
        cause == Some(action_id)
            && chunk.tool_call_id == *tool_call_id
            && chunk.channel != OutputChannel::Progress
    }

    fn push(&mut self, output: &str) {
        self.line.push(output, &mut self.text);
        if self.text.len() > 2 * self.most {
            self.cut();
        }
    }

    /// Drops the beginning; what stays begins with a whole line if a line begins in its first half.
    fn cut(&mut self) {
        if self.text.len() <= self.most {
            return;
        }
        let mut cut = self.text.ceil_char_boundary(self.text.len() - self.most);
        let rest = &self.text[cut..];
        match rest.find('\n') {
            Some(end) if !self.text[..cut].ends_with('\n') && end < rest.len() / 2 => cut += end + 1,
            _ => {}
        }
        self.text.drain(..cut);
        self.left_out += cut as u64;
    }

    fn finish(mut self) -> Option<CutOffOutput> {
        self.text.push_str(&self.line.open_line());
        self.cut();
        let output = CutOffOutput {
            action_id: self.call.0,
            text: self.text.replace('\0', "\u{FFFD}"),
            left_out: self.left_out,
        };
        (!output.text.trim().is_empty()).then_some(output)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail(most: usize) -> OutputTail {
        OutputTail::new(ActionId::following(3, 0), "call_1".into(), most)
    }

    fn chunk(call: &str, channel: OutputChannel) -> ToolOutputChunk {
        ToolOutputChunk {
            tool_call_id: call.into(),
            channel,
            text: "out".into(),
        }
    }

    #[test]
    fn only_what_the_call_itself_wrote_is_its_output() {
        let (own, other) = (ActionId::following(3, 0), ActionId::following(3, 1));
        let tail = tail(8);
        for (cause, call, channel, is_own) in [
            (Some(&own), "call_1", OutputChannel::Stdout, true),
            (Some(&own), "call_1", OutputChannel::Stderr, true),
            (Some(&own), "call_1", OutputChannel::Progress, false),
            (Some(&own), "call_1/2", OutputChannel::Stdout, false),
            (Some(&other), "call_1", OutputChannel::Stdout, false),
            (None, "call_1", OutputChannel::Stdout, false),
        ] {
            assert_eq!(
                tail.is_of(cause, &chunk(call, channel)),
                is_own,
                "{cause:?} {call} {channel:?}"
            );
        }
    }

    #[test]
    fn the_end_is_kept_from_the_beginning_of_a_line_and_a_progress_bar_is_one_line() {
        let mut output = tail(24);
        output.push("one two three\nfour five six\n");
        for step in 0..100 {
            output.push(&format!("\r\u{1b}[32m{step} of 99\u{1b}[0m"));
        }
        let output = output.finish().unwrap();
        assert_eq!(
            (output.text.as_str(), output.left_out),
            ("four five six\n99 of 99", 14)
        );
        assert_eq!(tail(24).finish(), None, "nothing was written");
    }

    proptest! {
        #[test]
        fn no_more_than_the_end_is_kept_whatever_is_written(
            pieces in prop::collection::vec("[a-c你\n]{0,30}", 0..40), most in 4usize..40,
        ) {
            let mut output = tail(most);
            for piece in &pieces {
                output.push(piece);
                prop_assert!(output.text.len() <= 2 * most);
            }
            let all = pieces.concat();
            if let Some(output) = output.finish() {
                prop_assert!(output.text.len() <= most && all.ends_with(&output.text));
                prop_assert_eq!(output.text.len() + output.left_out as usize, all.len());
            } else {
                prop_assert!(all[all.len().saturating_sub(most / 2)..].trim().is_empty());
            }
        }
    }
}
