//! Any sequence of what somebody may ask of a server who is not its operator, against any call: what the operator's settings refuse or
//! ask about does not run.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use agentx_runtime::{Verdict, apply, judge};
use agentx_server::widening::Bounds;
use agentx_testing::fixture;
use agentx_types::{
    Access, AgentConfig, ApprovalMode, Condensing, ConfigChange, Guard, Limits, ModelParams, ModelSpec,
    Prices, Rule, RuleEffect, ServerRules, ToolSpec,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const MINE: &str = "/srv/members/own_ann";

fn modes() -> impl Strategy<Value = ApprovalMode> {
    prop_oneof![
        Just(ApprovalMode::Ask),
        Just(ApprovalMode::Auto),
        Just(ApprovalMode::Deny)
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let effect = prop_oneof![
        Just(RuleEffect::Allow),
        Just(RuleEffect::Ask),
        Just(RuleEffect::Deny)
    ];
    let tool = prop::sample::select(vec!["*", "bash", "read", "write", "r*"]);
    let argument = prop::option::of(prop::sample::select(vec![
        "*",
        "git *",
        "git push*",
        "rm *",
        "ls",
    ]));
    let path = prop::option::of(prop::sample::select(vec![
        "**",
        "/**",
        "notes.txt",
        "/etc/*",
        ".env",
    ]));
    let place = prop::option::weighted(0.2, prop::sample::select(vec!["/", MINE, "/home/op"]));
    (effect, tool, argument, path, place).prop_map(|(effect, tool, argument, path, workspace)| Rule {
        effect,
        tool: tool.into(),
        // A rule is about one of the two.
        argument: argument.filter(|_| path.is_none()).map(str::to_owned),
        path: path.map(str::to_owned),
        workspace: workspace.map(str::to_owned),
    })
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    prop::collection::vec(rule(), 0..4)
}

fn guard() -> Arc<Guard> {
    Arc::new(Guard {
        secrets: vec!["/**/.env".into()],
        own: vec!["/srv/data/**".into()],
        ..Guard::default()
    })
}

fn server_rules() -> impl Strategy<Value = Option<Arc<ServerRules>>> {
    let directory = prop::option::of(prop::sample::select(vec!["/", "/home/op", MINE]));
    let some = (rules(), directory).prop_map(|(rules, directory)| {
        Arc::new(ServerRules {
            rules,
            member_directory: directory.map(str::to_owned),
        })
    });
    prop::option::of(some)
}

/// Tools as a client may send them: those of the server with other words about what they do, or a few of them.
fn tools() -> impl Strategy<Value = Arc<[ToolSpec]>> {
    (0..4_u8).prop_map(|how| {
        let forge = |tool: &ToolSpec| {
            let mut forged = tool.clone();
            match how {
                1 => forged.access = Access::Internal,
                2 => {
                    forged.command_argument = None;
                    forged.path_argument = None;
                }
                3 => forged.name = format!("{}2", tool.name),
                _ => {}
            }
            forged
        };
        fixture::tools().iter().map(forge).collect()
    })
}

fn change() -> impl Strategy<Value = ConfigChange> {
    prop_oneof![
        modes().prop_map(ConfigChange::Approval),
        rule().prop_map(ConfigChange::RuleAdded),
        rules().prop_map(ConfigChange::Rules),
        (0..9_u32).prop_map(ConfigChange::RulesVersion),
        prop_oneof![Just(None), Just(Some(guard())), Just(Some(Arc::default()))]
            .prop_map(ConfigChange::Guard),
        server_rules().prop_map(ConfigChange::ServerRules),
        tools().prop_map(ConfigChange::Tools),
        limits().prop_map(ConfigChange::Limits),
        models().prop_map(|model| ConfigChange::Model(Box::new(model))),
        params().prop_map(ConfigChange::Params),
        prop::option::of(0..100_u8).prop_map(|at_percent| {
            let condensing = |at_percent| {
                Box::new(Condensing {
                    at_percent,
                    ..Condensing::default()
                })
            };
            ConfigChange::Condensing(at_percent.map(condensing))
        }),
    ]
}

fn params() -> impl Strategy<Value = ModelParams> {
    let most = || prop::option::of(1..9_u64);
    (most(), most()).prop_map(|(max_output_tokens, thinking_tokens)| ModelParams {
        max_output_tokens,
        thinking_tokens,
        ..ModelParams::default()
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    prop::option::of(1..9_u32).prop_map(|max_iterations| Limits {
        max_iterations,
        ..Limits::default()
    })
}

/// The models that the server lists: that of the settings, one that costs nothing, one that is 1,000 times as dear.
fn listed() -> Vec<ModelSpec> {
    let usual = fixture::config().model;
    let mut free = usual.clone();
    (free.id, free.prices) = ("free".into(), Prices::default());
    let mut dear = usual.clone();
    dear.id = "dear".into();
    dear.prices.output = usual.prices.output.max(1) * 1000;
    vec![usual, free, dear]
}

/// One of these, mostly, or one that the server does not list.
fn models() -> impl Strategy<Value = ModelSpec> {
    let mut unlisted = fixture::config().model;
    unlisted.id = "made-up-elsewhere".into();
    prop_oneof![9 => prop::sample::select(listed()), 1 => Just(unlisted)]
}

fn config() -> impl Strategy<Value = AgentConfig> {
    let place = prop::sample::select(vec![MINE, "/", "/home/op", "/srv/data"]);
    let plain = (
        rules(),
        modes(),
        0..9_u32,
        server_rules(),
        tools(),
        place,
        any::<bool>(),
        (limits(), models()),
    );
    let plain = plain.prop_map(
        |(rules, approval, rules_version, server_rules, tools, workspace, guarded, (limits, model))| {
            AgentConfig {
                limits,
                model,
                workspace: workspace.into(),
                tools,
                approval,
                rules,
                rules_version,
                guard: guarded.then(guard),
                server_rules,
                ..fixture::config()
            }
        },
    );
    plain.prop_recursive(2, 6, 2, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..2))
            .prop_map(|(config, agents)| AgentConfig { agents, ..config })
    })
}

fn calls() -> Vec<(&'static str, Value)> {
    let paths = [
        "notes.txt",
        "/etc/passwd",
        "/home/op/plans",
        ".env",
        "../own_bob/x",
        "/srv/data/identity",
        ".",
    ];
    let lines = [
        "ls",
        "git status",
        "git push",
        "rm -rf x",
        "cat /srv/data/identity",
        "cat .env",
        "x=push; git $x",
        "sh -c 'git push'",
    ];
    let by_path = ["read", "write", "grep"];
    let mut calls: Vec<(&str, Value)> = Vec::new();
    for path in paths {
        calls.extend(by_path.map(|tool| (tool, json!({ "path": path }))));
    }
    calls.extend(lines.map(|line| ("bash", json!({ "command": line }))));
    calls
}

fn strictness(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> (u8, bool) {
    match judge(config, tool, input).verdict {
        Verdict::Allow { .. } => (0, false),
        Verdict::Ask(question) => (1, question.by_server),
        Verdict::Deny { .. } => (2, false),
    }
}

fn bounds(rules: &[Rule], approval: ApprovalMode, member: bool) -> Bounds {
    let server = ServerRules {
        rules: rules.to_vec(),
        member_directory: member.then(|| MINE.to_owned()),
    };
    Bounds {
        rules: rules.to_vec(),
        approval,
        limits: Limits {
            max_iterations: Some(5),
            ..Limits::default()
        },
        models: listed(),
        tools: fixture::tools().to_vec(),
        guard: Some(guard()),
        server_rules: Some(Arc::new(server)),
        workspace: MINE.into(),
        owns: member,
    }
}

/// An agent as the settings alone would have it, without rules of a session. Settings that say `auto` ask members nevertheless.
fn by_settings(bounds: &Bounds) -> AgentConfig {
    let approval = match bounds.approval {
        ApprovalMode::Auto | ApprovalMode::Ask => ApprovalMode::Ask,
        ApprovalMode::Deny => ApprovalMode::Deny,
    };
    AgentConfig {
        workspace: MINE.into(),
        approval,
        guard: bounds.guard.clone(),
        server_rules: bounds.server_rules.clone(),
        ..fixture::config()
    }
}

fn all_of(config: &AgentConfig) -> Vec<&AgentConfig> {
    let mut all = vec![config];
    all.extend(config.agents.iter().flat_map(all_of));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_member_gets_more_than_the_settings_give(
        (settings, approval) in (rules(), modes()),
        wanted in config(),
        requests in prop::collection::vec(change(), 0..6),
    ) {
        let bounds = bounds(&settings, approval, true);
        let Ok(mut now) = bounds.admit(wanted) else { return Ok(()) };
        for request in requests {
            if let Ok(change) = bounds.admit_change(&now, request) {
                apply(&mut now, &change);
            }
        }
        let reference = by_settings(&bounds);
        for agent in all_of(&now) {
            prop_assert!(agent.limits.max_iterations.is_some_and(|most| most <= 5));
            prop_assert!(bounds.models.contains(&agent.model));
            for (name, input) in calls() {
                let Some(tool) = agent.tools.iter().find(|tool| tool.name == name) else { continue };
                let own = reference.tools.iter().find(|tool| tool.name == name).unwrap();
                let (is, by_server) = strictness(agent, tool, &input);
                let (least, _) = strictness(&reference, own, &input);
                prop_assert!(is >= least, "{name} {input}: {is} < {least}");
                // What is asked about for the server's sake is known to be, so that nobody else answers it.
                prop_assert!(is != 1 || least == 0 || by_server, "{name} {input}");
            }
        }
    }

    #[test]
    fn no_driver_gets_more_than_the_operator_gave(
        (settings, approval) in (rules(), modes()),
        given in (rules(), modes(), limits(), params()),
        requests in prop::collection::vec(change(), 1..6),
    ) {
        let bounds = bounds(&settings, approval, false);
        let mut given_rules = settings.clone();
        given_rules.extend(given.0);
        let before = AgentConfig { rules: given_rules, approval: given.1, limits: given.2, params: given.3, ..by_settings(&bounds) };
        let mut now = before.clone();
        for request in requests {
            if let Ok(change) = bounds.admit_change(&now, request) {
                apply(&mut now, &change);
            }
        }
        if let Some(was) = before.limits.max_iterations {
            let is = now.limits.max_iterations;
            prop_assert!(is.is_some_and(|is| is <= was.max(5)), "{is:?} after {was}");
        }
        prop_assert!(bounds.models.contains(&now.model));
        let (is, was) = (&now.model.prices, &before.model.prices);
        prop_assert!(is.input <= was.input && is.output <= was.output, "{} is dearer", now.model.id);
        prop_assert_eq!(&now.condensing, &before.condensing);
        let (is, was) = (&now.params, &before.params);
        prop_assert!(was.max_output_tokens.is_none_or(|was| is.max_output_tokens.is_some_and(|is| is <= was)));
        prop_assert!(is.thinking_tokens.unwrap_or(0) <= was.thinking_tokens.unwrap_or(0));
        // The operator may give this session another approval mode than that of the settings, but no way around their rules.
        let reference = AgentConfig { approval: ApprovalMode::Ask, ..by_settings(&bounds) };
        // What cannot be read is refused where nobody is asked. Whoever drives may have people asked.
        let asked = AgentConfig { approval: now.approval, ..before.clone() };
        for (name, input) in calls() {
            let tool = before.tools.iter().find(|tool| tool.name == name).unwrap();
            let [was, asked, least] = [&before, &asked, &reference].map(|config| strictness(config, tool, &input).0);
            let (is, by_server) = strictness(&now, tool, &input);
            prop_assert!(is >= was.min(asked), "{name} {input}: {is} < {was}");
            prop_assert!(is != 0 || was == 0, "{name} {input} runs, and did not before");
            prop_assert!(least != 2 || is == 2, "{name} {input} is denied by the settings");
            prop_assert!(is != 1 || least == 0 || by_server, "{name} {input}: somebody else than the operator answers");
        }
    }
}
