//! Tools of MCP servers in rules: a rule names the server and its tool, and only a rule for exactly the
//! present description allows a changed tool.

use std::sync::Arc;

use agentx_agent::approval::{Verdict, decide, decide_nested, explain_decision, suggested};
use agentx_types::*;
use serde_json::json;

use crate::harness::Session;
use crate::rules::config;

/// A made-up tool of a server, described by this hash, and changed if there is a difference.
fn tool(hash: &str, changed: Option<&str>, access: Access) -> ToolSpec {
    let mut spec = config(ApprovalMode::Ask, &[]).tools[0].clone();
    spec.name = "github__search".into();
    spec.path_argument = None;
    spec.access = access;
    spec.reach = Some(Box::new(ToolReach {
        mcp: Some("github/search".into()),
        file: Some(hash.into()),
        changed: changed.map(str::to_owned),
        ..ToolReach::default()
    }));
    spec
}

fn with_rules(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let mut config = config(mode, rules);
    config.rules_version = RULES_VERSION;
    config
}

fn word(mode: ApprovalMode, rules: &[&str], tool: &ToolSpec) -> &'static str {
    match decide(&with_rules(mode, rules), tool, &json!({"mcp": "github/search"})) {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

#[test]
fn a_rule_names_the_server_and_its_tool() {
    let search = tool("aaaa", None, Access::Run);
    let is = |rules: &[&str]| word(ApprovalMode::Ask, rules, &search);
    for rule in [
        "allow mcp",
        "allow mcp: github/*",
        "allow mcp: */search",
        "allow github__search",
        "allow github__*",
    ] {
        assert_eq!(is(&[rule]), "allow", "{rule}");
        let denies = rule.replace("allow", "deny");
        assert_eq!(is(&[rule, &denies]), "deny", "{denies}");
        assert_eq!(is(&[rule, &rule.replace("allow", "ask")]), "ask", "{rule}");
    }
    for rule in [
        "allow mcp: gitlab/*",
        "allow mcp: github",
        "allow mcp: search",
        "allow github__search: github/*",
    ] {
        assert_eq!(is(&[rule]), "ask", "{rule}");
        assert_eq!(
            is(&["allow mcp", &rule.replace("allow", "deny")]),
            "allow",
            "{rule}"
        );
    }
    // The argument of an `mcp` rule names servers and tools; it does not match arguments of calls.
    assert_eq!(is(&["deny mcp: *mcp*", "allow mcp"]), "allow");
    let other = config(ApprovalMode::Ask, &[]).tools[1].clone();
    assert_eq!(word(ApprovalMode::Ask, &["allow mcp"], &other), "ask");
    let why = explain_decision(&with_rules(ApprovalMode::Ask, &[]), &search, &json!({})).reason;
    assert_eq!(why, "it is `search` of the MCP server github");
}

#[test]
fn a_folder_s_server_is_allowed_by_rules_of_a_workspace_or_its_very_description_alone() {
    let mut search = tool("aaaa", None, Access::Run);
    search.reach.as_mut().unwrap().of_folder = true;
    let is = |rule: Rule| {
        let mut config = with_rules(ApprovalMode::Ask, &[]);
        config.rules.push(rule);
        match decide(&config, &search, &json!({})) {
            Verdict::Allow { .. } => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny { .. } => "deny",
        }
    };
    let rule = |effect, tool: &str, workspace: Option<&str>| Rule {
        effect,
        tool: tool.into(),
        argument: (tool == "mcp").then(|| "github/*".into()),
        path: None,
        workspace: workspace.map(str::to_owned),
        origin: None,
    };
    let here = with_rules(ApprovalMode::Ask, &[]).workspace;
    for name in ["mcp", "github__search", "github__*", "*"] {
        assert_eq!(is(rule(RuleEffect::Allow, name, None)), "ask", "{name}");
        assert_eq!(is(rule(RuleEffect::Allow, name, Some(&here))), "allow", "{name}");
        assert_eq!(is(rule(RuleEffect::Deny, name, None)), "deny", "{name}");
    }
    assert_eq!(is(rule(RuleEffect::Allow, "github__search@aaaa", None)), "allow");
    assert_eq!(is(rule(RuleEffect::Allow, "github__search@bbbb", None)), "ask");
    let why = explain_decision(&with_rules(ApprovalMode::Ask, &[]), &search, &json!({})).reason;
    assert_eq!(why, "it is `search` of this folder's MCP server github");
}

#[test]
fn a_changed_tool_needs_a_person_or_a_rule_of_its_very_description() {
    for access in [Access::Read, Access::Run, Access::Network] {
        let changed = tool("bbbb", Some("-old\n+new"), access);
        for rule in [
            "allow mcp",
            "allow github__search",
            "allow *",
            "allow github__search@aaaa",
        ] {
            assert_eq!(word(ApprovalMode::Ask, &[rule], &changed), "ask", "{rule}");
            assert_eq!(
                word(ApprovalMode::Auto, &[rule], &changed),
                "deny",
                "nobody is asked"
            );
        }
        assert_eq!(
            word(ApprovalMode::Auto, &["allow github__search@bbbb"], &changed),
            "allow"
        );
        let config = with_rules(ApprovalMode::Ask, &["allow mcp"]);
        let why = explain_decision(&config, &changed, &json!({})).reason;
        assert!(
            why.contains("-old\n+new") && why.contains("`agentx mcp try github --accept`"),
            "{why}"
        );
        assert!(matches!(
            decide_nested(&config, &changed, &json!({}), true),
            Verdict::Ask(_)
        ));
        let kept = suggested(&config, &changed, &json!({"q": 1}));
        assert_eq!(kept.tool, "github__search@bbbb");
    }
}

#[test]
fn always_keeps_a_tool_of_a_server_with_any_arguments_until_its_description_changes() {
    let search = tool("aaaa", None, Access::Run);
    let mut config = with_rules(ApprovalMode::Ask, &[]);
    let kept = suggested(&config, &search, &json!({"q": 1}));
    assert_eq!(
        (kept.tool.as_str(), &kept.argument, &kept.path),
        ("github__search@aaaa", &None, &None)
    );
    assert_eq!(kept.workspace.as_deref(), Some(config.workspace.as_str()));
    config.rules.push(kept);
    let is = |tool: &ToolSpec, input: serde_json::Value| match decide(&config, tool, &input) {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    };
    assert_eq!(is(&search, json!({"q": 2, "page": "next"})), "allow");
    assert_eq!(
        is(&tool("bbbb", None, Access::Run), json!({"q": 1})),
        "ask",
        "its schema is another one"
    );
    assert_eq!(
        is(&tool("bbbb", Some("-old\n+new"), Access::Run), json!({"q": 1})),
        "ask"
    );
    let mut other = search.clone();
    other.name = "github__delete".into();
    assert_eq!(is(&other, json!({"q": 1})), "ask", "another tool of the server");
    // Sessions with earlier rules keep the arguments, and so does a tool without a hash.
    config.rules_version = 8;
    let before = suggested(&config, &search, &json!({"q": 1}));
    assert_eq!(before.argument.as_deref(), Some("{\"q\":1}"));
}

#[test]
fn a_kept_tool_of_a_server_opens_no_secrets() {
    let search = tool("aaaa", None, Access::Run);
    let mut config = with_rules(ApprovalMode::Ask, &[]);
    config.guard = Some(Arc::new(Guard {
        secrets: vec!["/**/.env".into()],
        ..Guard::default()
    }));
    config.rules.push(suggested(&config, &search, &json!({"q": 1})));
    let named = json!({"file": "sub/.env"});
    assert!(matches!(decide(&config, &search, &named), Verdict::Ask(_)));
    assert!(
        suggested(&config, &search, &named).argument.is_some(),
        "the call alone is kept"
    );
}

/// The decision that allows a call, or answers a question, once.
fn allowed(id: &str, note: Option<&str>, limited: bool) -> Approval {
    Approval {
        tool_call_id: id.into(),
        decision: ApprovalDecision::Once,
        note: note.map(str::to_owned),
        rule: None,
        by: limited.then(|| OwnerId::new("own_bea")),
        limited,
    }
}

/// A session in which a running tool asks a person.
fn asking(approval: ApprovalMode) -> Session {
    asking_under(approval, |_| {})
}

/// The same with another configuration.
fn asking_under(approval: ApprovalMode, change: impl FnOnce(&mut AgentConfig)) -> Session {
    asking_whom(approval, change, false)
}

/// The same with a question that may be for those alone who decide for the operator.
fn asking_whom(approval: ApprovalMode, change: impl FnOnce(&mut AgentConfig), for_operator: bool) -> Session {
    let mut config = config(ApprovalMode::Auto, &[]);
    change(&mut config);
    let mut session = Session::new(config);
    session.say("go");
    session.calls(&[("c1", "bash", json!({"command": "ls"}))]);
    if session.running().is_empty() {
        session.happens(allowed("c1", None, false));
    }
    let cause = session.running()[0].action_id.clone();
    session.change(ConfigChange::Approval(approval));
    let asked = InnerCallAsked {
        tool_call_id: "c1/1".into(),
        tool: Box::new(ToolSpec::new(
            "MCP server made-up",
            "",
            json!({}),
            Access::Internal,
        )),
        input: Box::new(json!({"message": "Who?"})),
        by: "MCP server made-up".into(),
        place: None,
        named: false,
        form: Some(Box::new(json!({"type": "object"}))),
        for_operator,
    };
    session.fact(Some(&cause), None, asked);
    session
}

/// Returns the answer that the tool got.
fn told(session: &Session) -> Vec<NestedDecision> {
    let actions = session
        .transitions
        .iter()
        .flat_map(|transition| &transition.actions);
    let decided = actions.filter_map(|action| match &action.body {
        ActionBody::DecideInnerCall(decided) => Some(decided.decision.clone()),
        _ => None,
    });
    decided.collect()
}

#[test]
fn a_question_to_a_person_is_answered_by_them_alone() {
    use ApprovalDecision::{Always, Deny, Once};
    let refused = |reason: &str| NestedDecision::Refused {
        reason: reason.into(),
    };
    for mode in [ApprovalMode::Auto, ApprovalMode::Deny] {
        let session = asking(mode);
        assert_eq!(
            told(&session),
            [refused("nobody is asked in this session")],
            "{mode:?}"
        );
    }
    for (decision, note, answer) in [
        (Once, Some("Ada"), Some("Ada")),
        (Once, None, Some("")),
        (Always, None, Some("")),
        (Deny, None, None),
    ] {
        let mut session = asking(ApprovalMode::Ask);
        assert_eq!(told(&session), [], "it waits, although the tool touches nothing");
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        let rules = session.agent.config().rules.len();
        session.happens(Approval {
            tool_call_id: "c1/1".into(),
            decision,
            note: note.map(str::to_owned),
            rule: None,
            by: None,
            limited: false,
        });
        let expected = match answer {
            Some(answer) => NestedDecision::Allowed {
                outside_workspace: false,
                answer: Some(answer.to_owned()),
            },
            None => refused("MCP server made-up is refused: the person said no."),
        };
        assert_eq!(told(&session), [expected], "{decision:?}");
        assert_eq!(session.agent.config().rules.len(), rules, "no rule is kept");
        session.check_replay();
    }
}

#[test]
fn who_may_not_allow_a_call_answers_no_question_that_came_up_in_it() {
    let rules = |effect| ServerRules {
        rules: vec![Rule {
            effect,
            tool: "bash".into(),
            argument: None,
            path: None,
            workspace: None,
            origin: None,
        }],
        ..ServerRules::default()
    };
    for (effect, counts) in [(RuleEffect::Ask, false), (RuleEffect::Allow, true)] {
        let mut session = asking_under(ApprovalMode::Ask, |config| {
            config.rules_version = RULES_VERSION;
            config.server_rules = Some(Arc::new(rules(effect)));
        });
        for limited in [true, false] {
            session.happens(allowed("c1/1", Some("Ada"), limited));
            let answers = told(&session).len();
            assert_eq!(
                answers,
                usize::from(!limited || counts),
                "{effect:?}, limited: {limited}"
            );
        }
        session.check_replay();
    }
}

#[test]
fn who_does_not_decide_for_the_operator_answers_no_question_that_is_for_them() {
    for for_operator in [true, false] {
        let mut session = asking_whom(ApprovalMode::Ask, |_| {}, for_operator);
        // Rules that change do not open the question to others.
        session.change(ConfigChange::Approval(ApprovalMode::Ask));
        for limited in [true, false] {
            session.happens(allowed("c1/1", Some("Ada"), limited));
            let answers = told(&session).len();
            let expected = usize::from(!limited || !for_operator);
            assert_eq!(
                answers, expected,
                "for the operator: {for_operator}, limited: {limited}"
            );
        }
        session.check_replay();
    }
}

#[test]
fn a_question_about_a_member_s_call_names_everybody_who_may_allow_it() {
    let reason = |version| {
        let mut config = with_rules(ApprovalMode::Ask, &[]);
        config.rules_version = version;
        config.server_rules = Some(Arc::new(ServerRules {
            member_directory: Some("/members/ada".into()),
            ..ServerRules::default()
        }));
        let bash = config
            .tools
            .iter()
            .find(|tool| tool.name == "bash")
            .unwrap()
            .clone();
        explain_decision(&config, &bash, &json!({"command": "make"})).reason
    };
    assert!(reason(RULES_VERSION).ends_with("; only the operator or an approver of the server may allow it"));
    assert!(reason(8).ends_with("; only the operator of the server may allow it"));
}
