//! A fixed list of named agents for the runtimes under test, without any file.

use agentx::runtime::{AgentInfo, AgentOrigin, Agents, NamedAgent, RuntimeError};
use agentx::types::{AgentConfig, AgentKind, ApprovalMode};
use agentx_testing::fixture;

/// Two agents as files would describe them: a valid one, and one whose files have mistakes.
pub(crate) struct Guides;

impl Agents for Guides {
    fn list(&self) -> Vec<AgentInfo> {
        vec![AgentInfo {
            name: "guide".into(),
            kind: AgentKind::React,
            origin: AgentOrigin::Workspace,
            description: "Guides.".into(),
        }]
    }

    fn resolve(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError> {
        let fixture = fixture::config();
        match wanted.agent.as_str() {
            "guide" => Ok(AgentConfig {
                name: "guide".into(),
                system_prompt: wanted.system_prompt.as_deref().unwrap_or("You guide.").into(),
                approval: wanted.approval.unwrap_or(ApprovalMode::Ask),
                limits: wanted.limits.merged_into(fixture.limits),
                workspace: wanted.workspace.clone().unwrap_or_default(),
                ..fixture
            }),
            "broken" => Err(RuntimeError::BadAgent {
                agent: "broken".into(),
                what: "agents/broken.yaml:3: no such key".into(),
            }),
            other => Err(RuntimeError::UnknownAgent {
                agent: other.into(),
                nearest: vec!["guide".into()],
            }),
        }
    }
}
