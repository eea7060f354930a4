//! Every word of upstream has a row, and the documentation contains the tables of the code.

use agentx_openhands::{
    ActionType, AgentState, EventKind, ExecutionStatus, ObservationType, TABLES, markdown,
};

/// The words of `openhands/core/schema/action.py`.
const ACTIONS: &str = "message system start read write edit run run_ipython browse browse_interactive call_tool_mcp delegate \
    think finish reject null pause resume stop change_agent_state push send_pr recall condensation condensation_request \
    task_tracking loop_recovery";
/// The words of `openhands/core/schema/observation.py`.
const OBSERVATIONS: &str = "read write edit browse run run_ipython chat delegate message error success null think \
    agent_state_changed user_rejected condense recall mcp download task_tracking loop_detection";
/// The words of `openhands/core/schema/agent.py`.
const STATES: &str = "loading running awaiting_user_input paused stopped finished rejected error \
    awaiting_user_confirmation user_confirmed user_rejected rate_limited";
/// The classes of `openhands-sdk/openhands/sdk/event/`.
const KINDS: &str = "SystemPromptEvent MessageEvent ActionEvent ObservationEvent UserRejectObservation AgentErrorEvent \
    Condensation CondensationRequest CondensationSummaryEvent PauseEvent InterruptEvent ConversationStateUpdateEvent \
    ConversationErrorEvent HookExecutionEvent LLMCompletionLogEvent StreamingDeltaEvent TokenEvent ACPToolCallEvent";
/// The values of `ConversationExecutionStatus`.
const STATUSES: &str = "idle running paused waiting_for_confirmation finished error stuck deleting";

#[test]
fn every_word_of_upstream_has_a_row() {
    let expected = [ACTIONS, OBSERVATIONS, STATES, KINDS, STATUSES];
    assert_eq!(
        expected.map(|words| words.split_whitespace().count()),
        [27, 21, 12, 18, 8]
    );
    for ((title, rows), words) in TABLES.iter().zip(expected) {
        let has: Vec<&str> = rows.iter().map(|row| row.word).collect();
        assert_eq!(has, words.split_whitespace().collect::<Vec<_>>(), "{title}");
    }
}

#[test]
fn words_are_read_as_they_are_written() {
    for word in ACTIONS.split_whitespace() {
        let read = ActionType::read(word);
        assert!(!matches!(read, ActionType::Unknown(_)) && read.word() == word && read.role().is_some());
    }
    for word in OBSERVATIONS.split_whitespace() {
        let read = ObservationType::read(word);
        assert!(!matches!(read, ObservationType::Unknown(_)) && read.word() == word);
    }
    for word in STATES.split_whitespace() {
        assert!(
            !matches!(AgentState::read(word), AgentState::Unknown(_)),
            "{word}"
        );
    }
    for word in KINDS.split_whitespace() {
        assert!(!matches!(EventKind::read(word), EventKind::Unknown(_)), "{word}");
    }
    for word in STATUSES.split_whitespace() {
        assert!(
            !matches!(ExecutionStatus::read(word), ExecutionStatus::Unknown(_)),
            "{word}"
        );
    }
    let unknown = ActionType::read("dance");
    assert_eq!((unknown.word(), unknown.role()), ("dance", None));
}

#[test]
fn the_documentation_has_the_tables_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/OPENHANDS.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- tables -->\n\n", "<!-- end of tables -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (tables, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, format!("{before}{begin}{}{end}{after}", markdown())).unwrap();
        return;
    }
    assert_eq!(
        tables,
        markdown(),
        "docs/OPENHANDS.md: UPDATE_GOLDEN=1 writes the tables"
    );
}
