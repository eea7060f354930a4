//! The configuration of an agent that a script creates: its definition, its permissions and its depth.

use std::sync::Arc;

use agentx_luau_tools::{EffectError, Outcome};
use agentx_runtime::hold_to;
use agentx_types::{AgentConfig, AgentSpawned, AgentStateId, MAX_AGENT_DEPTH, ToolSpec};
use serde_json::{Value, json};

use super::agents::say;
use super::file_tool_call::FileToolCall;
use super::request_text::text;

/// `create_agent`: one of the caller's own agents by its name, a known one, or a copy of the caller, with the
/// script's overrides.
pub(crate) async fn create(call: Arc<FileToolCall>, step: u64, asked: Value) -> Outcome {
    let name = text(&asked, "name");
    call.grants.agent(name)?;
    let journal = &call.context.journal;
    // Without a bus of agents, no agent would answer.
    let in_session = journal.listener().and_then(|_| journal.agent());
    let parent = in_session.cloned().ok_or_else(|| {
        let why = "agents are made inside a session; let an agent call this tool";
        EffectError::new("unavailable", why)
    })?;
    let depth = journal.caller().depth;
    if depth >= MAX_AGENT_DEPTH {
        let why = format!(
            "agents can be nested at most {MAX_AGENT_DEPTH} deep, and the agent that calls this tool is {depth} deep"
        );
        return Err(EffectError::new("too_deep", why));
    }
    let config = config(&call, name, asked.get("config").unwrap_or(&Value::Null))?;
    let id = AgentStateId::with_suffix(format_args!("{}_{step}", journal.tool_call_id()));
    let spawned = AgentSpawned {
        agent_state_id: id.clone(),
        parent,
        config: Box::new(config),
    };
    say(journal, &id, spawned).await?;
    call.children.add(&id);
    Ok(json!({"agent": id}))
}

fn config(call: &FileToolCall, name: &str, asked: &Value) -> Result<AgentConfig, EffectError> {
    let caller = call.context.journal.caller().config.as_deref();
    let caller = caller.ok_or_else(|| EffectError::new("unavailable", "agents are made inside a session"))?;
    let own = caller.agents.iter().find(|agent| agent.name == name).cloned();
    let known = own.or_else(|| call.shared.parts.known.agent(name));
    let mut config = known.unwrap_or_else(|| AgentConfig {
        name: name.to_owned(),
        system_prompt: "".into(),
        instructions: Vec::new(),
        tools: Arc::from([]),
        agents: Vec::new(),
        routing: None,
        built_in_agents: Vec::new(),
        built_in: None,
        ..caller.clone()
    });
    config.workspace.clone_from(&caller.workspace);
    // An agent from a file is made only from settings; the session's own bounds apply to it too.
    hold_to(&mut config, caller);
    if let Some(prompt) = asked.get("prompt").and_then(Value::as_str) {
        config.system_prompt = prompt.into();
    }
    let model = text(asked, "model");
    if !model.is_empty() {
        let (spec, params) = super::prompt::model(call, model)?;
        (config.model, config.params) = (spec, params);
    }
    if let Some(Value::Array(tools)) = asked.get("tools") {
        let tools: Result<Vec<ToolSpec>, EffectError> =
            tools.iter().map(|tool| granted(call, tool)).collect();
        config.tools = tools?.into();
        config.all_tools = false;
    }
    Ok(config)
}

fn granted(call: &FileToolCall, tool: &Value) -> Result<ToolSpec, EffectError> {
    let name = tool.as_str().unwrap_or_default();
    call.grants.tool(name)?;
    let found = call.shared.tool(name).map(|tool| tool.spec());
    found.ok_or_else(|| EffectError::new("not_found", format!("there is no tool {name:?}")))
}
