//! A small configuration to try an agent with, in examples and tests of this and other crates.

use agentx_types::{
    Access, AgentConfig, AgentKind, Api, ApprovalMode, Limits, ModelParams, ModelSpec, Prices, ToolSpec,
};
use serde_json::json;

/// An agent with three tools: `look` (reads), `change` (changes files, not idempotent) and `finish` (ends the run).
pub fn config() -> AgentConfig {
    AgentConfig {
        kind: AgentKind::React,
        name: "fixture".into(),
        model: ModelSpec {
            id: "fixture-1".into(),
            provider: "scripted".into(),
            api: Api::Scripted,
            context_window: 100_000,
            max_output_tokens: 4_000,
            input: None,
            prices: Prices {
                input: 1_000,
                output: 5_000,
                cache_read: 100,
                cache_write: 1_250,
                long: None,
            },
            server: None,
        },
        params: ModelParams::default(),
        system_prompt: "You are a fixture.".into(),
        instructions: Vec::new(),
        workspace: "/ws".into(),
        tools: [
            tool("look", Access::Read, true),
            tool("change", Access::Change, false),
            finish(),
        ]
        .into(),
        approval: ApprovalMode::Auto,
        rules: Vec::new(),
        limits: Limits::default(),
        agents: Vec::new(),
        routing: None,
        condensing: None,
        rules_version: 0,
        guard: None,
        server_rules: None,
        all_tools: false,
    }
}

fn tool(name: &str, access: Access, idempotent: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("{name} at a path"),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        access,
        path_argument: Some("path".into()),
        command_argument: None,
        idempotent,
        quit: false,
        checked: false,
        reach: None,
    }
}

fn finish() -> ToolSpec {
    ToolSpec {
        path_argument: None,
        quit: true,
        ..tool("finish", Access::Internal, true)
    }
}
