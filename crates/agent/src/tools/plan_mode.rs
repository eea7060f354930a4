//! Plan mode: nothing that has effects runs until a person accepts a plan.
//!
//! While it is on, only calls that touch nothing or read files are decided by the rules and the approval
//! mode; every other call is refused, whatever a rule allows. The model presents its plan with the tool
//! `present_plan`, which asks the person as [`ask_user`](crate::tools::ask_user) does. A front end that takes
//! "accept" for an answer first switches plan mode off (`config_changed`) and then sends the answer, so that
//! only a person who may change the configuration can start the work.
//!
//! | `plan_mode` of the configuration | meaning |
//! | --- | --- |
//! | absent | it was never on: the model does not have `present_plan` |
//! | `true` | on |
//! | `false` | it was on; the model keeps the tool, so that the beginning of its requests stays the same |

use agentx_types::{ACCEPT_PLAN, Access, AgentConfig, AskedQuestion, KEEP_PLANNING, ToolSpec};
use serde_json::{Value, json};

/// The tool that presents a plan to the person.
pub const PRESENT_PLAN: &str = "present_plan";
/// Maximum length of a plan, in characters.
pub const MOST_PLAN_CHARS: usize = 20_000;

/// The reason why a call is refused in plan mode.
const REFUSAL: &str = "plan mode is on, in which nothing is changed, run or sent: read, search and ask, then present \
                       your plan with `present_plan`";
/// The note to the model when plan mode is switched on.
pub(crate) const SWITCHED_ON: &str = "[Plan mode is on. Nothing is changed, run or sent until the person accepts a plan: such \
                                      calls are refused. Read what you need, ask what you cannot find out, and then present \
                                      your plan with the tool `present_plan`.]";
/// The note to the model when plan mode is switched off.
pub(crate) const SWITCHED_OFF: &str =
    "[Plan mode is off: calls are decided by the rules and the approval mode again.]";

/// Returns whether plan mode is on.
///
/// ```
/// use agentx_agent::{fixtures, plan_mode};
///
/// let mut config = fixtures::config();
/// assert!(!plan_mode::is_on(&config), "it was never on");
/// config.plan_mode = Some(false);
/// assert!(!plan_mode::is_on(&config), "it was on before");
/// ```
pub fn is_on(config: &AgentConfig) -> bool {
    config.plan_mode == Some(true)
}

/// Returns the reason why plan mode refuses calls of this tool; `None` if it does not.
///
/// Only the access of the tool counts, because a rule or an argument must not make plan mode freer. A tool of
/// a file or of an MCP server that claims to read is believed as far as elsewhere: its claim is in
/// [`ToolSpec::access`] only after a person trusted it.
///
/// ```
/// use agentx_agent::{fixtures, plan_mode};
///
/// let mut config = fixtures::config();
/// let (look, change) = (config.tools[0].clone(), config.tools[1].clone());
/// assert_eq!(plan_mode::refusal(&config, &change), None);
/// config.plan_mode = Some(true);
/// assert_eq!(plan_mode::refusal(&config, &look), None);
/// assert!(plan_mode::refusal(&config, &change).is_some());
/// ```
///
/// | access of the tool | in plan mode |
/// | --- | --- |
/// | `internal`, `read` | the rules and the approval mode decide |
/// | `change`, `run`, `network` | refused |
pub fn refusal(config: &AgentConfig, tool: &ToolSpec) -> Option<&'static str> {
    (is_on(config) && tool.access > Access::Read).then_some(REFUSAL)
}

/// The tool, if plan mode is or was on and the agent has no other tool of this name.
pub(crate) fn offered(config: &AgentConfig) -> Option<ToolSpec> {
    config.plan_mode?;
    (!config.tools.iter().any(|tool| tool.name == PRESENT_PLAN)).then(tool)
}

/// Returns the tool's description for the model.
pub fn tool() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "plan": {"type": "string", "description": "The plan as Markdown: what you will change and why, the steps in their order, what may go wrong, and how you will check the result. At most 20000 characters."},
        },
        "required": ["plan"],
        "additionalProperties": false,
    });
    let about = "Presents your plan to the person and waits until they accept it or say what to change. Use it in plan mode, when you know enough to do the task.";
    ToolSpec::new(
        PRESENT_PLAN.to_owned(),
        about.to_owned(),
        schema,
        Access::Internal,
    )
    .with_idempotent(true)
}

/// Reads the arguments of a call. An `Err` is the message to the model about them.
///
/// | `plan` | result |
/// | --- | --- |
/// | missing, not a text, or only blanks | `Err` |
/// | more than 20,000 characters | `Err` with the number of characters |
/// | any other | a question with the plan as its text, and the choices [`ACCEPT_PLAN`] and [`KEEP_PLANNING`] |
pub(crate) fn question(input: &Value) -> Result<AskedQuestion, String> {
    let plan = input.get("plan").and_then(Value::as_str).unwrap_or_default();
    let length = plan.chars().count();
    if plan.trim().is_empty() {
        return Err("`plan` is empty.".to_owned());
    }
    if length > MOST_PLAN_CHARS {
        return Err(format!(
            "`plan` has {length} characters; at most {MOST_PLAN_CHARS} are shown to the person."
        ));
    }
    Ok(AskedQuestion {
        question: plan.to_owned(),
        choices: vec![ACCEPT_PLAN.to_owned(), KEEP_PLANNING.to_owned()],
        is_plan: true,
    })
}

/// The result for the model when a person accepts its plan.
///
/// A client may send the answer without switching plan mode off first: then the model must not begin, because
/// its calls would be refused.
pub(crate) fn accepted(config: &AgentConfig) -> &'static str {
    if is_on(config) {
        "agrees with the plan, but plan mode is still on. Wait until it is switched off."
    } else {
        "accepts the plan. Carry it out."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_bounded_and_a_refusal_says_what_is_wrong() {
        assert_eq!(question(&json!({"plan": " \n"})).unwrap_err(), "`plan` is empty.");
        let long = question(&json!({"plan": "x".repeat(MOST_PLAN_CHARS + 1)})).unwrap_err();
        assert!(long.contains("has 20001 characters; at most 20000"), "{long}");
        let asked = question(&json!({"plan": "# Plan\n\n1. Read"})).unwrap();
        assert!(asked.is_plan);
        assert_eq!(asked.meant("1"), ACCEPT_PLAN);
    }
}
