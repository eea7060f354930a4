//! The tool `skill`: the model reads a skill, or a file of one, when its task needs it.
//!
//! The configuration of the agent has the list of skills as it was when the session began. The text of a
//! skill is read at the call, and its result is a fact: an old session still has what its model read, even if
//! the file has changed.

use std::sync::Arc;

use agentx_config::{SKILL_TOOL, Settings};
use agentx_runtime::{BoxFuture, LogError, SessionLog, Tool, ToolContext, ToolOutcome, argument_error};
use agentx_tools::{DuplicateTool, Toolbox};
use agentx_types::{Access, OwnerId, SessionId, ToolSpec, ToolStatus};
use serde_json::{Value, json};

use crate::local_owner::LOCAL_OWNER;

/// Adds the tool if there is a skill that the model may read.
pub(crate) fn with_skills(mut tools: Toolbox, settings: &Settings, log: &Arc<dyn SessionLog>) -> Toolbox {
    if settings.prompt_files().skills().next().is_none() {
        return tools;
    }
    let tool = SkillTool {
        spec: spec(),
        settings: Arc::new(settings.clone()),
        log: log.clone(),
    };
    if let Err(DuplicateTool { name }) = tools.register(Arc::new(tool)) {
        tracing::warn!(tool = name, "there are two tools of one name");
    }
    tools
}

/// The tool, for the skills that settings find.
///
/// | call | result |
/// | --- | --- |
/// | `{name}` | the text of SKILL.md, and the paths of the skill's other files |
/// | `{name, file}` | the text of this file |
/// | a name that no skill has | `failed`, with the names that there are |
/// | a link that leads out, or a file that may hold secrets | `failed`, with the reason |
/// | a session of another person | `denied` |
struct SkillTool {
    spec: ToolSpec,
    /// The trust in the folder is that of the start of the runtime.
    settings: Arc<Settings>,
    /// Tells whose session a call comes from.
    log: Arc<dyn SessionLog>,
}

impl Tool for SkillTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let problem = argument_error(&self.spec, &input);
        let (settings, log) = (self.settings.clone(), self.log.clone());
        Box::pin(async move {
            if let Some(problem) = problem {
                return ToolOutcome::failed(ToolStatus::Invalid, problem);
            }
            if is_of_another(log, &context.session_id).await {
                let why = "There are no skills here: this session belongs to another person than the skills.";
                return ToolOutcome::failed(ToolStatus::Denied, why);
            }
            match tokio::task::spawn_blocking(move || read(&settings, &input)).await {
                Ok(Ok(text)) => ToolOutcome::success(text),
                Ok(Err(why)) => ToolOutcome::failed(ToolStatus::Failed, why),
                Err(error) => ToolOutcome::failed(ToolStatus::Failed, error.to_string()),
            }
        })
    }
}

/// The description for the model. It names no skill, so that it is the same in every session.
fn spec() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the skill."},
            "file": {"type": "string", "description": "A file of the skill, by its path below the skill's directory. Leave it out for the skill itself."},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let about = "Reads a skill: instructions for a certain task, and the list of its files. With `file`, reads one of them.";
    ToolSpec::new(SKILL_TOOL, about, schema, Access::Read)
        .with_idempotent(true)
        .with_checked(true)
}

/// Reads what a call asks for.
fn read(settings: &Settings, input: &Value) -> Result<String, String> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    settings.read_skill(text("name").unwrap_or_default(), text("file"))
}

/// Returns whether a session belongs to another person than the one whose configuration this is: members of a
/// server do not get the skills of its operator. A call without a session is made by the person.
async fn is_of_another(log: Arc<dyn SessionLog>, session: &SessionId) -> bool {
    let person = OwnerId::new(LOCAL_OWNER);
    match log.access(session, &person).await {
        Ok((owner, _)) => owner != person,
        Err(LogError::NotFound(_)) => false,
        Err(_) => true,
    }
}
