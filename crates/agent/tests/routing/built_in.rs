//! The agents that need no file: made from the present configuration of their maker, and never freer.

use agentx_agent::delegation_tools_of;
use agentx_types::*;
use serde_json::json;

use crate::budgets::id_of;
use crate::family::*;

fn boss() -> AgentConfig {
    AgentConfig {
        built_in_agents: vec!["general".into(), "explore".into(), "of_a_newer_program".into()],
        approval: ApprovalMode::Ask,
        ask_user: Some(AskUser::Decide),
        all_tools: true,
        system_prompt: "You are the boss.".into(),
        rules_version: RULES_VERSION,
        ..agent("boss")
    }
}

/// The names of the tools in the request of the agent with this name.
fn tools_of(family: &Family, name: &str) -> Vec<String> {
    let ActionBody::CallModel(call) = family.call_of(name).body else {
        panic!("{name} asks no model");
    };
    call.request.tools.iter().map(|tool| tool.name.clone()).collect()
}

fn config_of(family: &Family, name: &str) -> AgentConfig {
    let id = id_of(family, name);
    (**family.tree.agents[&id].config()).clone()
}

#[test]
fn general_needs_no_file_and_is_as_its_maker_is() {
    let mut family = Family::new(boss());
    family.say("go");
    assert!(tools_of(&family, "boss").contains(&"delegate".to_owned()));
    let order = json!({"agent": "general", "input": "look"});
    let delegated = family.calls("boss", "delegate", order.clone());
    let (made, maker) = (config_of(&family, "general"), boss());
    assert_eq!(
        (&made.model, made.approval, &made.rules, &made.tools),
        (&maker.model, maker.approval, &maker.rules, &maker.tools)
    );
    assert!(
        made.system_prompt
            .starts_with("You are the boss.\n\nAnother agent")
    );
    assert_eq!((made.built_in.as_deref(), made.ask_user), (Some("general"), None));
    // It makes no further agents.
    assert!(!tools_of(&family, "general").contains(&"delegate".to_owned()));
    let refused = family.calls("general", "delegate", order);
    assert_eq!(family.result(&refused).0, ToolStatus::Invalid);
    family.answer("general", "It is there.");
    assert_eq!(
        family.result(&delegated),
        (ToolStatus::Success, "It is there.".to_owned())
    );
    family.check_replay();
}

#[test]
fn explore_has_only_the_tools_that_change_nothing() {
    let mut family = Family::new(boss());
    family.say("go");
    family.calls("boss", "delegate", json!({"agent": "explore", "input": "look"}));
    let tools = config_of(&family, "explore").tools;
    assert!(!tools.is_empty() && tools.len() < boss().tools.len());
    assert!(tools.iter().all(|tool| tool.access <= Access::Read));
}

#[test]
fn an_agent_that_is_made_later_has_what_its_maker_has_by_then() {
    let mut family = Family::new(boss());
    family.say("go");
    let model = ModelSpec {
        id: "fixture-2".into(),
        ..boss().model
    };
    for change in [
        ConfigChange::Model(Box::new(model.clone())),
        ConfigChange::Approval(ApprovalMode::Deny),
    ] {
        let changed = ConfigChanged { change, by: None };
        family.fact(Some(Family::root()), None, changed);
    }
    family.calls("boss", "delegate", json!({"agent": "general", "input": "look"}));
    let made = config_of(&family, "general");
    assert_eq!((made.model, made.approval), (model, ApprovalMode::Deny));
}

#[test]
fn a_configured_agent_replaces_the_built_in_one_of_its_name() {
    let mut config = boss();
    config.agents = vec![AgentConfig {
        system_prompt: "You are from a file.".into(),
        ..agent("general")
    }];
    let tools = config.tools.iter().cloned();
    config.tools = tools.chain(delegation_tools_of(&config, &|_| None)).collect();
    let mut family = Family::new(config);
    family.say("go");
    let order = |name: &str| json!({"agent": name, "input": "look"});
    family.calls("boss", "delegate", order("general"));
    let made = config_of(&family, "general");
    assert_eq!(
        (&*made.system_prompt, made.built_in),
        ("You are from a file.", None)
    );
    family.answer("general", "It is there.");
    family.calls("boss", "delegate", order("explore"));
    let made = config_of(&family, "explore");
    assert_eq!(made.built_in.as_deref(), Some("explore"), "the other one stays");
}

#[test]
fn an_unknown_name_is_refused_with_those_that_there_are() {
    let mut family = Family::new(boss());
    family.say("go");
    let refused = family.calls(
        "boss",
        "delegate",
        json!({"agent": "of_a_newer_program", "input": "look"}),
    );
    let (status, text) = family.result(&refused);
    assert!(
        status == ToolStatus::Invalid && text.contains("general") && text.contains("explore"),
        "{text}"
    );
}
