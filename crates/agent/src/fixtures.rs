//! A small configuration to try an agent with, in examples and tests of this and other crates.
//!
//! It is public because examples in the documentation of other crates need it; it is not meant for real
//! sessions.

use agentx_types::{Access, AgentConfig, Api, ApprovalMode, ModelSpec, Prices, ToolSpec};
use serde_json::json;

/// An agent with three tools: `look` (reads), `change` (changes files, not idempotent) and `finish` (ends the
/// run).
///
/// It asks nobody (`auto`), has no limits and no summaries, works in `/ws`, and has version 0 of the rules: a
/// test of a later version sets `rules_version`.
pub fn config() -> AgentConfig {
    let model = ModelSpec {
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
            cache_write_1h: None,
            long: None,
            free: false,
        },
        server: None,
        assumes_output: false,
        name: None,
    };
    AgentConfig {
        name: "fixture".into(),
        system_prompt: "You are a fixture.".into(),
        workspace: "/ws".into(),
        tools: [
            tool("look", Access::Read, true),
            tool("change", Access::Change, false),
            finish(),
        ]
        .into(),
        approval: ApprovalMode::Auto,
        rules_version: 0,
        ..AgentConfig::react(model)
    }
}

/// A tool with one declared argument, `path`, that accepts any others.
fn tool(name: &str, access: Access, idempotent: bool) -> ToolSpec {
    ToolSpec::new(
        name,
        format!("{name} at a path"),
        json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        access,
    )
    .with_path_argument("path")
    .with_idempotent(idempotent)
}

/// A tool that ends the run when it succeeds.
fn finish() -> ToolSpec {
    let mut spec = tool("finish", Access::Internal, true);
    spec.path_argument = None;
    spec.quit = true;
    spec
}
