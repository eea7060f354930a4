//! The module `system`: facts about the agent, from its configuration and the running program. They change
//! only if those do, so the beginning of requests stays in the provider's cache; the module `moment` has what
//! changes with each run.

use std::time::Duration;

use agentx_types::{AgentConfig, ApprovalMode, show_time};

use super::options::ContextOptions;

/// The advice that ends the facts.
const ADVICE: &str = "If someone asks what you are, what you can do or how you work, answer from these facts. \
    Say that you do not know if they do not have the answer.";

/// The facts about an agent, a line each.
pub(super) fn facts_text(config: &AgentConfig, options: &ContextOptions) -> String {
    let mut lines = vec!["Facts about you, from the running system:".to_owned()];
    lines.push(format!("- Program: {}", options.program));
    lines.push(format!("- Model: {}", model(config)));
    lines.push(format!("- Limits of a run: {}", limits(config)));
    lines.push(format!("- Conversation: {}", conversation(config)));
    lines.push(format!(
        "- Calls that no rule covers: {}",
        approval(config.approval)
    ));
    lines.push(format!("- Sandbox for commands: {}", options.sandbox));
    lines.push(format!("- Memory: {}", memory(config)));
    lines.push(format!("- Services before each run: {}", services(config)));
    lines.push(format!("- Tools: {}", tools(config)));
    lines.push(String::new());
    lines.push(ADVICE.to_owned());
    lines.join("\n")
}

fn model(config: &AgentConfig) -> String {
    let model = &config.model;
    let mut text = format!(
        "{} of {}; its window has {} tokens, an answer at most {}",
        model.id,
        model.provider,
        model.context_window,
        model.longest_answer(config.params.max_output_tokens)
    );
    let prices = &model.prices;
    if prices.is_unknown() {
        text.push_str("; its prices are not known");
    } else {
        // Nano-dollars for a token are thousandths of a dollar for a million tokens.
        let dollars = |nano: u64| nano as f64 / 1e3;
        let (read, written) = (dollars(prices.input), dollars(prices.output));
        text.push_str(&format!(
            "; a million tokens cost ${read:.2} read and ${written:.2} written"
        ));
    }
    text
}

fn limits(config: &AgentConfig) -> String {
    let limits = config.limits;
    let parts = [
        limits
            .max_iterations
            .map(|most| format!("{most} rounds of tools")),
        limits.max_tokens.map(|most| format!("{most} tokens")),
        limits.max_cost.map(|most| format!("${:.2}", most.as_usd())),
        limits
            .max_wall_ms
            .map(|most| show_time(Duration::from_millis(most))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(", ")
}

fn conversation(config: &AgentConfig) -> String {
    let earlier = match config.history_messages {
        Some(most) => format!("you get at most {most} earlier messages"),
        None => "you get as much as fits".to_owned(),
    };
    match config.condensing.as_ref().map(|condensing| condensing.at_percent) {
        Some(at) if at > 0 => format!("{earlier}; it is condensed when {at} % of the window are full"),
        _ => earlier,
    }
}

fn approval(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "a person is asked",
        ApprovalMode::AcceptEdits => "files of the workspace are changed, and a person is asked about others",
        ApprovalMode::Auto => "they run",
        ApprovalMode::Deny => "they are refused",
    }
}

fn memory(config: &AgentConfig) -> &'static str {
    let is_on = config
        .context_sources
        .iter()
        .any(|source| source.name == "memory");
    if is_on {
        "on; you get what the person accepted, and may propose more"
    } else {
        "off; you know nothing of other conversations"
    }
}

fn services(config: &AgentConfig) -> String {
    let names: Vec<&str> = config
        .context_sources
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    names.join(", ")
}

fn tools(config: &AgentConfig) -> String {
    let names: Vec<&str> = config.tools.iter().map(|tool| tool.name.as_str()).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
