//! Rules about who decides on a waiting call: which answers of a caller are valid, and why others are not.
//! The valid answers are sent with the question, so that a screen offers only these.

use agentx_runtime::{PendingApproval, Runtime as _, SessionState, Sharing};
use agentx_types::{ApprovalDecision, SessionRole};

use crate::auth::caller::Caller;
use crate::state::{ServerState, SessionAccess};

/// The reason why an operator cannot keep a rule in the session of a member.
const KEEPS_ELSEWHERE: &str = "in a member's session a call can only be allowed once; add a rule to this server's settings to allow such calls permanently";
/// The reason why a caller other than the operator cannot keep a rule.
const KEEPS_NOTHING: &str = "you may only allow this call once; only this server's operator can save rules";
/// The reason why members do not approve calls of their own sessions.
const ONLY_THE_OPERATOR: &str = "only this server's operator may allow this call, by an answer or by a rule in the settings; until then it waits, and you may refuse it or stop the run";
/// The reason why the driver does not approve.
const NOT_WHO_DRIVES: &str = "calls that the operator is asked about cannot be allowed with the role `drive`, nor by anyone who sent a message or wrote a note, an answer or instructions in the session; they can be allowed by the operator or by somebody else with the role `approve`";

/// All decisions, in the order in which they are offered.
const DECISIONS: [ApprovalDecision; 4] = [
    ApprovalDecision::Once,
    ApprovalDecision::Session,
    ApprovalDecision::Always,
    ApprovalDecision::Deny,
];

/// The rights of a caller in a session in which calls may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallDecider {
    is_operator: bool,
    /// Whether the operator named them as an approver, and the session is another member's, in which they do
    /// not drive.
    is_approver: bool,
    role: SessionRole,
    /// Whether a model may have read words of theirs in this session, which is not theirs.
    spoke: bool,
    is_operators_session: bool,
}

impl CallDecider {
    pub(crate) fn new(
        state: &ServerState,
        caller: &Caller,
        access: &SessionAccess,
        sharing: &Sharing,
    ) -> Self {
        let is_operators_session = access.owner == *state.runtime().owner();
        // A person who drives, or did, would allow calls that their own messages led to.
        let spoke = sharing.spoke.contains(&caller.person);
        let is_theirs = access.owner == caller.person || access.role > SessionRole::Approve || spoke;
        Self {
            is_operator: caller.operator,
            is_approver: caller.approver && !is_operators_session && !is_theirs,
            role: access.role,
            spoke,
            is_operators_session,
        }
    }

    /// Returns whether the caller may not allow calls that the settings of the server ask about. Its operator
    /// may; approvers may for members' sessions, and so may people whom the operator lets approve in the
    /// operator's own sessions.
    pub(crate) fn is_limited(self) -> bool {
        let is_named = self.is_operators_session && self.role == SessionRole::Approve && !self.spoke;
        !self.is_operator && !self.is_approver && !is_named
    }

    /// Checks whether this answer to a call counts; `by_server` says whether the settings of the server ask
    /// about the call.
    ///
    /// # Errors
    /// Returns an error that names who may make this decision.
    pub(crate) fn check(self, decision: ApprovalDecision, by_server: bool) -> Result<(), &'static str> {
        if self.role < SessionRole::Approve {
            return Err("you may not decide about tool calls here");
        }
        if decision == ApprovalDecision::Deny || (self.is_operator && self.is_operators_session) {
            return Ok(());
        }
        if by_server && self.is_limited() {
            return Err(if self.is_operators_session {
                NOT_WHO_DRIVES
            } else {
                ONLY_THE_OPERATOR
            });
        }
        match decision {
            ApprovalDecision::Once => Ok(()),
            _ if self.is_operator => Err(KEEPS_ELSEWHERE),
            _ => Err(KEEPS_NOTHING),
        }
    }

    /// Returns the answers to a call that count.
    fn answers(self, call: &PendingApproval) -> Vec<ApprovalDecision> {
        let counts = |decision: &ApprovalDecision| self.check(*decision, call.by_server).is_ok();
        DECISIONS.into_iter().filter(counts).collect()
    }

    /// Adds the valid answers to each question of a session.
    pub(crate) fn offer(self, mut state: SessionState) -> SessionState {
        for call in state.pending_approvals.iter_mut().chain(&mut state.refused_calls) {
            call.answers = Some(self.answers(call));
        }
        state
    }
}
