//! Agents as tools: the tool of an agent, and the questions of its session to the person at the client.

use agentx_runtime::{ApprovalInput, PendingApproval};
use agentx_types::{Access, ApprovalDecision, ToolSpec};
use serde_json::{Value, json};

use super::approvals::{approval_question, visible_text};
use super::questions::{ClientAnswer, ClientQuestion};

/// The beginning of the names of tools that are agents.
pub const AGENT_TOOL: &str = "agent__";

/// The key of the input with which the session of a task begins, or the beginning of that key.
const TASK_KEY: &str = "mcp-task";
/// The time for which a task can be requested after its beginning, in milliseconds: a week.
pub const TASK_TTL_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// The number of tasks that run at once; a further one is refused.
pub const TASKS_AT_ONCE: usize = 16;

/// The field of a form for an answer in words.
const ANSWER: &str = "answer";

/// An agent of a file as a tool.
pub fn agent_tool(name: &str, about: &str) -> ToolSpec {
    let about = format!("Hands a task to the agent {name} of AgentX, which works on it by itself. {about}");
    let schema = json!({
        "type": "object",
        "properties": {"prompt": {"type": "string", "description": "The task, with all that the agent has to know."}},
        "required": ["prompt"],
        "additionalProperties": false,
    });
    ToolSpec::new(
        format!("{AGENT_TOOL}{name}"),
        about.trim_end(),
        schema,
        Access::Run,
    )
}

/// Returns the key of the input with which the session of a task begins. It names the token with which the
/// task ends by its id, which is not a secret, so that a restarted server knows it.
///
/// ```
/// use agentx_mcp::{is_task_key, task_key, token_of_task};
///
/// let key = task_key(Some("tok_1"));
/// assert!(is_task_key(&key) && is_task_key(&task_key(None)) && !is_task_key("mcp-tasks"));
/// assert_eq!(token_of_task(&key), Some("tok_1"));
/// assert_eq!(token_of_task(&task_key(None)), None);
/// ```
pub fn task_key(token: Option<&str>) -> String {
    token.map_or_else(|| TASK_KEY.to_owned(), |token| format!("{TASK_KEY}:{token}"))
}

/// Returns whether an input with this key begins the session of a task.
pub fn is_task_key(key: &str) -> bool {
    key.strip_prefix(TASK_KEY)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Returns the id of the token with which a task ends, from the key of its input.
pub fn token_of_task(key: &str) -> Option<&str> {
    key.strip_prefix(TASK_KEY)?.strip_prefix(':')
}

/// Returns the question of a session to its person, as a client shows it.
pub fn session_question(asked: &PendingApproval) -> ClientQuestion {
    let key = asked.tool_call_id.as_str();
    let of = |message: String, schema: Value| ClientQuestion {
        key: key.to_owned(),
        message: visible_text(&message),
        schema,
    };
    if let Some(form) = &asked.form {
        let words = asked.input.get("message").and_then(Value::as_str);
        return of(
            format!("{}: {}", asked.reason, words.unwrap_or_default()),
            (**form).clone(),
        );
    }
    if let Some(question) = &asked.question {
        let choices: Vec<String> = question
            .choices
            .iter()
            .map(|choice| format!("\n- {choice}"))
            .collect();
        let schema =
            json!({"type": "object", "properties": {(ANSWER): {"type": "string"}}, "required": [ANSWER]});
        return of(format!("{}{}", question.question, choices.concat()), schema);
    }
    let shown = approval_question(key, &asked.name, &asked.input, &asked.reason);
    shown.unwrap_or_else(|| {
        let message = format!(
            "The arguments of a call of {} are too long to be shown here; `agentx resume` shows them to a person, who may allow it. Here it can only be declined.",
            asked.name
        );
        of(message, json!({"type": "object", "properties": {}}))
    })
}

/// Returns the decision of an answer; `None` if it does not answer the question.
pub fn session_decision(asked: &PendingApproval, answer: &ClientAnswer) -> Option<ApprovalInput> {
    let decide = |decision| ApprovalInput::new(asked.tool_call_id.clone(), decision);
    let ClientAnswer::Accepted(content) = answer else {
        return Some(decide(ApprovalDecision::Deny));
    };
    let once = decide(ApprovalDecision::Once);
    if asked.form.is_some() {
        return Some(once.note(Some(Value::Object(content.clone()).to_string())));
    }
    if asked.question.is_some() {
        let words = content.get(ANSWER)?.as_str()?;
        return Some(once.note(Some(words.to_owned()))).filter(|_| !words.trim().is_empty());
    }
    // Nobody allows what they did not see.
    approval_question("", &asked.name, &asked.input, &asked.reason).map(|_| once)
}
