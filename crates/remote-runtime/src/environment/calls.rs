//! Calls in other people's sessions that wait for a decision, as the server reports them. They belong to the
//! connection and not to a session, and the server may report them again after a reconnect.
//!
//! The session and the call's own id name a call. A reported call may no longer wait: another person may have
//! decided, which the session's events show.

use std::collections::VecDeque;

use agentx_types::wire::ApprovalWaiting;
use tokio::sync::watch;

/// The number of calls that are remembered: later readers get these, and a call among them is not reported
/// again.
const KEPT: usize = 64;

/// The reported calls.
#[derive(Default)]
pub(super) struct ReportedCalls {
    told: watch::Sender<ReportedCall>,
}

/// The latest calls, and how many there were.
#[derive(Default)]
struct ReportedCall {
    /// The number of calls reported since this program connected; it shows a reader how many it missed.
    count: u64,
    last: VecDeque<ApprovalWaiting>,
}

impl ReportedCalls {
    /// Records that a call waits. One that is known already is not reported again.
    pub(super) fn add(&self, call: ApprovalWaiting) {
        let id = |call: &ApprovalWaiting| (call.session_id.clone(), call.tool_call_id.clone());
        self.told.send_if_modified(|told| {
            let is_new = !told.last.iter().any(|known| id(known) == id(&call));
            if is_new {
                if told.last.len() == KEPT {
                    told.last.pop_front();
                }
                told.last.push_back(call);
                told.count += 1;
            }
            is_new
        });
    }

    /// A reader that begins with the calls that are remembered.
    pub(super) fn reader(&self) -> CallsWaiting {
        CallsWaiting {
            told: self.told.subscribe(),
            seen: 0,
        }
    }
}

/// The calls that wait for a decision, one after another. A reader that is more than 64 behind misses the
/// oldest.
pub struct CallsWaiting {
    told: watch::Receiver<ReportedCall>,
    seen: u64,
}

impl CallsWaiting {
    /// The next call; `None` if the connection is over. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<ApprovalWaiting> {
        let seen = self.seen;
        let told = self.told.wait_for(|told| told.count > seen).await.ok()?;
        let behind = usize::try_from(told.count - seen).unwrap_or(KEPT);
        let behind = behind.min(told.last.len());
        let call = told.last.get(told.last.len() - behind)?.clone();
        self.seen = told.count - behind as u64 + 1;
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn call(number: usize) -> ApprovalWaiting {
        ApprovalWaiting {
            session_id: "ses_1".into(),
            owner: "own_2".into(),
            owner_name: None,
            tool_call_id: format!("call_{number}").as_str().into(),
            name: "bash".into(),
        }
    }

    #[tokio::test]
    async fn each_call_is_told_once_and_the_oldest_are_forgotten() {
        let calls = ReportedCalls::default();
        calls.add(call(1));
        calls.add(call(1));
        let mut reader = calls.reader();
        assert_eq!(reader.next().await, Some(call(1)));
        for number in 2..=KEPT + 3 {
            calls.add(call(number));
        }
        let mut rest = Vec::new();
        for _ in 0..KEPT {
            rest.push(reader.next().await.unwrap());
        }
        let expected: Vec<_> = (4..=KEPT + 3).map(call).collect();
        assert_eq!(rest, expected);
        drop(calls);
        assert_eq!(reader.next().await, None);
    }
}
