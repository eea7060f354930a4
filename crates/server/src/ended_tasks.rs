//! The ends of tasks that were read lately. Clients poll a task, and its end is in the log of its session,
//! which may be long: it is read once for all polls.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentx_mcp::ServedTaskState;
use agentx_runtime::SessionInfo;
use agentx_types::{ContentPart, SessionId};

/// The most ends that are kept.
const MOST_ENDS: usize = 1_024;
/// The most bytes of answers that are kept.
const MOST_BYTES: usize = 4 << 20;

/// The ends of tasks. They are forgotten all at once if there are too many: then they are read again.
#[derive(Default)]
pub(crate) struct EndedTasks {
    kept: Mutex<KeptEnds>,
}

#[derive(Default)]
struct KeptEnds {
    ends: HashMap<SessionId, KeptEnd>,
    bytes: usize,
}

struct KeptEnd {
    /// The last event of the session when the log was read. A later one may be a redaction of the answer.
    last_seq: u64,
    state: ServedTaskState,
}

impl EndedTasks {
    /// Returns the end of a task; `None` if it is not known, or something has happened in its session since.
    pub(crate) fn find(&self, info: &SessionInfo) -> Option<ServedTaskState> {
        let kept = self.lock();
        let end = kept.ends.get(&info.session_id)?;
        (end.last_seq == info.last_seq).then(|| end.state.clone())
    }

    /// Keeps the end of a task. `info` was read before the log.
    pub(crate) fn keep(&self, info: &SessionInfo, state: &ServedTaskState) {
        let bytes = bytes_of(state);
        let mut kept = self.lock();
        if let Some(older) = kept.ends.remove(&info.session_id) {
            kept.bytes -= bytes_of(&older.state);
        }
        if bytes > MOST_BYTES {
            return;
        }
        if kept.ends.len() >= MOST_ENDS || kept.bytes + bytes > MOST_BYTES {
            *kept = KeptEnds::default();
        }
        let end = KeptEnd {
            last_seq: info.last_seq,
            state: state.clone(),
        };
        kept.bytes += bytes;
        kept.ends.insert(info.session_id.clone(), end);
    }

    fn lock(&self) -> MutexGuard<'_, KeptEnds> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes_of(state: &ServedTaskState) -> usize {
    match state {
        ServedTaskState::Ended(outcome) => {
            let texts = outcome.content.iter().filter_map(ContentPart::as_text);
            texts.map(str::len).sum()
        }
        ServedTaskState::Working | ServedTaskState::Asks(_) | ServedTaskState::Cancelled => 0,
    }
}

#[cfg(test)]
mod tests {
    use agentx_runtime::ToolOutcome;
    use agentx_types::Timestamp;

    use super::*;

    fn info(session: &str, last_seq: u64) -> SessionInfo {
        let mut info = SessionInfo::new(session, "own_ann", Timestamp(1));
        info.last_seq = last_seq;
        info
    }

    fn said(bytes: usize) -> ServedTaskState {
        ServedTaskState::Ended(ToolOutcome::success("x".repeat(bytes)))
    }

    #[test]
    fn an_end_is_known_until_something_happens_in_its_session() {
        let ended = EndedTasks::default();
        assert_eq!(ended.find(&info("ses_1", 7)), None);
        ended.keep(&info("ses_1", 7), &said(3));
        assert_eq!(ended.find(&info("ses_1", 7)), Some(said(3)));
        assert_eq!(ended.find(&info("ses_2", 7)), None);
        assert_eq!(ended.find(&info("ses_1", 8)), None, "it may be a redaction");
        ended.keep(&info("ses_1", 8), &said(2));
        assert_eq!(ended.find(&info("ses_1", 8)), Some(said(2)));
        assert_eq!(ended.lock().bytes, 2);
    }

    #[test]
    fn what_is_kept_is_bounded_in_number_and_in_bytes() {
        let ended = EndedTasks::default();
        for number in 0..3 * MOST_ENDS {
            ended.keep(&info(&format!("ses_{number}"), 1), &ServedTaskState::Cancelled);
            assert!(ended.lock().ends.len() <= MOST_ENDS);
        }
        for number in 0..9 {
            let next = info(&format!("ses_{number}"), 2);
            ended.keep(&next, &said(MOST_BYTES / 3));
            assert!(ended.find(&next).is_some());
            assert!(ended.lock().bytes <= MOST_BYTES);
        }
        ended.keep(&info("ses_long", 1), &said(MOST_BYTES + 1));
        assert_eq!(ended.find(&info("ses_long", 1)), None);
        assert!(ended.lock().bytes <= MOST_BYTES);
    }
}
