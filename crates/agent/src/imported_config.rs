//! The parts of an agent's configuration that remain when its session is imported.
//!
//! Anybody may have written the imported document, and it contains the permissions of the agent. So its
//! values count only if they make things stricter; the program that continues the session adds its own rules
//! and tools.
//!
//! | fields | after an import |
//! | --- | --- |
//! | rules | those that deny or ask |
//! | approval mode | `ask`, unless it is stricter |
//! | tools | those that agents answer by themselves; the program adds its own |
//! | fallbacks, the model of summaries, context sources | removed: they would send the conversation, or what a person keeps, elsewhere |
//! | the right of a judge to allow calls, and analyzers with a model | removed: a judge reads the calls |
//! | workspace | the directory in which the session was imported |
//! | agents below | the same, in the directory of the agent above, with its version of the rules and its guard |
//! | the guard | as it is, but commands that only read are asked about |
//! | the mark that text from the web was read | set: nobody knows what the document has read |
//! | all other fields | as they are: words for the model, names, limits and prices of the document |
//!
//! The program adds its own rules, guard and tools when it continues the session. It gives tools to the root
//! alone: agents below have only those that they answer themselves, until a new session is made from their
//! definitions.

use std::sync::Arc;

use agentx_types::{AgentConfig, ApprovalMode, RuleEffect, since};

use crate::run_lifecycle::child_configs_mut;
use crate::tools::ask_user::ASK_USER;
use crate::tools::delegation_tools::{AGENTS, DELEGATE};
use crate::tools::plan_mode::PRESENT_PLAN;
use crate::tools::recall::RECALL;
use crate::tools::tool_search::FIND_TOOLS;

/// The tools that agents answer by themselves: they do nothing outside of the session.
const OWN: [&str; 6] = [AGENTS, ASK_USER, DELEGATE, FIND_TOOLS, PRESENT_PLAN, RECALL];

/// Removes everything that a document would allow, from this agent and from those that it may create.
///
/// Each field is named here, so that a new one has to be decided. Applied again, it changes nothing.
/// `workspace` is the directory of the program that imported the session.
pub(crate) fn restrict_imported(config: &mut AgentConfig, workspace: Option<&str>) {
    if let Some(workspace) = workspace {
        config.workspace = workspace.to_owned();
    }
    let AgentConfig {
        fallbacks,
        tools,
        approval,
        rules,
        condensing,
        context_sources,
        learning,
        reminders,
        rules_version,
        web_text,
        guard,
        kind: _,
        name: _,
        model: _,
        params: _,
        system_prompt: _,
        instructions: _,
        workspace: _,
        limits: _,
        agents: _,
        routing: _,
        server_rules: _,
        all_tools: _,
        tool_search: _,
        answer_schema: _,
        ask_user: _,
        wait: _,
        asks_at_limits: _,
        stuck: _,
        plan_mode: _,
        security,
        built_in_agents: _,
        built_in: _,
        history_messages: _,
    } = config;
    fallbacks.clear();
    context_sources.clear();
    *learning = None;
    *reminders = None;
    // Nobody knows what the document has read.
    *web_text |= *rules_version >= since::WEB_TEXT_IS_SEEN;
    rules.retain(|rule| rule.effect != RuleEffect::Allow);
    *approval = approval.stricter(ApprovalMode::Ask);
    if let Some(guard) = guard.as_mut().filter(|guard| guard.reading_commands) {
        Arc::make_mut(guard).reading_commands = false;
    }
    if let Some(condensing) = condensing.as_deref_mut() {
        condensing.model = None;
    }
    if let Some(security) = security.as_deref_mut() {
        security.judge_allows = false;
        security.analyzers.retain(|analyzer| analyzer.model.is_none());
    }
    *tools = tools
        .iter()
        .filter(|tool| OWN.contains(&tool.name.as_str()))
        .cloned()
        .collect();
    let above = config.clone();
    for child in child_configs_mut(config) {
        restrict_child(child, &above, workspace);
    }
}

/// The same for an agent that `above` may create: it works on the ground of that one.
fn restrict_child(child: &mut AgentConfig, above: &AgentConfig, workspace: Option<&str>) {
    child.workspace.clone_from(&above.workspace);
    child.rules_version = above.rules_version;
    child.guard.clone_from(&above.guard);
    child.server_rules.clone_from(&above.server_rules);
    restrict_imported(child, workspace);
}

#[cfg(test)]
mod tests {
    use agentx_types::{Access, ContextSource, Guard, LearningSettings, Rule, ToolSpec};

    use super::*;
    use crate::fixtures;

    fn rule(effect: RuleEffect) -> Rule {
        Rule {
            effect,
            tool: "*".into(),
            argument: None,
            path: None,
            workspace: None,
            origin: None,
        }
    }

    /// A configuration with every possible claim, with an agent below.
    fn claiming(depth: usize) -> AgentConfig {
        let mut config = fixtures::config();
        config.workspace = format!("/of/the/document{depth}");
        config.rules_version = depth as u32;
        config.guard = (depth == 2).then(|| {
            Arc::new(Guard {
                reading_commands: true,
                ..Guard::default()
            })
        });
        config.approval = ApprovalMode::Auto;
        config.rules = [RuleEffect::Allow, RuleEffect::Deny, RuleEffect::Ask]
            .map(rule)
            .into();
        config.fallbacks = vec![config.model.clone()];
        config.learning = Some(LearningSettings {
            threshold_turns: 1,
            reflect_turns: 1,
        });
        config.reminders = Some(Box::default());
        config.context_sources = vec![ContextSource {
            name: "memory".into(),
            max_tokens: 500,
        }];
        config.tools = ["bash", RECALL]
            .map(|name| {
                ToolSpec::new(name, "", serde_json::json!({}), Access::Internal).with_idempotent(true)
            })
            .into();
        if depth > 0 {
            config.agents = vec![claiming(depth - 1)];
        }
        config
    }

    fn check(config: &AgentConfig) {
        assert_eq!(config.workspace, "/ws2");
        assert_eq!(config.approval, ApprovalMode::Ask);
        let guard = config.guard.as_deref();
        assert!(guard.is_none_or(|guard| !guard.reading_commands));
        assert!(config.rules.len() == 2 && config.rules.iter().all(|rule| rule.effect != RuleEffect::Allow));
        assert!(config.fallbacks.is_empty() && config.context_sources.is_empty());
        assert!(config.learning.is_none() && config.reminders.is_none());
        assert!(
            config
                .condensing
                .as_ref()
                .is_none_or(|condensing| condensing.model.is_none())
        );
        assert_eq!((config.rules_version, config.guard.is_some()), (2, true));
        let tools: Vec<&str> = config.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(tools, [RECALL]);
        config.agents.iter().for_each(check);
    }

    #[test]
    fn an_imported_configuration_allows_nothing() {
        let mut config = claiming(2);
        restrict_imported(&mut config, Some("/ws2"));
        check(&config);
        let once = config.clone();
        restrict_imported(&mut config, Some("/ws2"));
        assert_eq!(config, once);
    }

    #[test]
    fn a_stricter_mode_stays() {
        let mut config = fixtures::config();
        config.approval = ApprovalMode::Deny;
        restrict_imported(&mut config, Some("/ws2"));
        assert_eq!(config.approval, ApprovalMode::Deny);
    }
}
