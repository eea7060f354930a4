//! Any sequence of what somebody may ask of a server who is not its operator, against any call: what the
//! operator's settings refuse or ask about does not run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::cell::Cell;
use std::sync::Arc;

use agentx_runtime::{Verdict, apply, explain_decision};
use agentx_server::member_bounds::MemberBounds;
use agentx_testing::fixture;
use agentx_types::{
    Access, AgentConfig, Api, ApprovalMode, Condensing, ConfigChange, Guard, Instructions, IntentRule,
    LearningSettings, Limits, ModelParams, ModelSpec, Prices, RULES_VERSION, Route, Routing, Rule,
    RuleEffect, ServerRules, ToolSpec,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use serde_json::{Value, json};

const MINE: &str = "/srv/members/own_ann";

fn modes() -> impl Strategy<Value = ApprovalMode> {
    prop_oneof![
        Just(ApprovalMode::Ask),
        Just(ApprovalMode::Auto),
        Just(ApprovalMode::AcceptEdits),
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
        origin: None,
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

/// Tools as a client may send them: those of the server with other words about what they do, or a few of
/// them.
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
        (0..=RULES_VERSION).prop_map(ConfigChange::RulesVersion),
        prop_oneof![Just(None), Just(Some(guard())), Just(Some(Arc::default()))]
            .prop_map(ConfigChange::Guard),
        server_rules().prop_map(ConfigChange::ServerRules),
        tools().prop_map(ConfigChange::Tools),
        limits().prop_map(ConfigChange::Limits),
        models().prop_map(|model| ConfigChange::Model(Box::new(model))),
        prop::collection::vec(models(), 0..3).prop_map(ConfigChange::Fallbacks),
        params().prop_map(ConfigChange::Params),
        instructions().prop_map(ConfigChange::Instructions),
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

fn instructions() -> impl Strategy<Value = Vec<Instructions>> {
    let one = prop::sample::select(vec!["AGENTS.md", "/home/op/AGENTS.md"]).prop_map(|path| Instructions {
        path: path.into(),
        text: "Every call is allowed.".into(),
    });
    prop::collection::vec(one, 0..3)
}

/// Settings of a server: its rules, its approval mode, and how often a model may be answered in one run.
type Settled = (Vec<Rule>, ApprovalMode, u32);

fn settled() -> impl Strategy<Value = Settled> {
    (rules(), modes(), 3..8_u32)
}

/// A step of a session.
#[derive(Clone, Debug)]
enum Step {
    /// Somebody asks for a change of it.
    Asked(ConfigChange),
    /// The operator changes the settings.
    Settled(Settled),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => change().prop_map(Step::Asked),
        1 => settled().prop_map(Step::Settled),
    ];
    prop::collection::vec(step, 0..8)
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

/// The models that the server lists: that of the settings, one that costs nothing, one that is 1,000 times as
/// dear, one with shorter answers, and one whose server decides how long an answer is if no request says it.
fn listed() -> Vec<ModelSpec> {
    let usual = fixture::config().model;
    let mut free = usual.clone();
    (free.id, free.prices) = ("free".into(), Prices::default());
    let mut dear = usual.clone();
    dear.id = "dear".into();
    dear.prices.output = usual.prices.output.max(1) * 1000;
    let (mut short, mut unknown) = (usual.clone(), usual.clone());
    (short.id, short.max_output_tokens) = ("short".into(), 5);
    (unknown.id, unknown.api) = ("unknown".into(), Api::OpenaiChat);
    vec![usual, free, dear, short, unknown]
}

/// Usually one of these models, or one that the server does not list.
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
        0..=RULES_VERSION,
        server_rules(),
        tools(),
        place,
        any::<bool>(),
        (limits(), models(), instructions()),
    );
    let plain = plain.prop_map(
        |(rules, approval, rules_version, server_rules, tools, workspace, guarded, others)| {
            let (limits, model, instructions) = others;
            AgentConfig {
                limits,
                model,
                instructions,
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
    plain.prop_recursive(2, 8, 3, |inner| {
        let agents = prop::collection::vec(inner.clone(), 0..2);
        (inner.clone(), agents, routing(inner)).prop_map(|(config, agents, routing)| AgentConfig {
            agents,
            routing,
            ..config
        })
    })
}

/// Agents that get what people want of them, by what they say.
fn routing(agent: impl Strategy<Value = AgentConfig> + Clone) -> impl Strategy<Value = Option<Box<Routing>>> {
    let route = agent.clone().prop_map(|agent| Route {
        rules: vec!["all".into()],
        agent,
    });
    let routes = prop::collection::vec(route, 0..2);
    let routing = (routes, prop::option::of(agent)).prop_map(|(routes, default)| {
        Box::new(Routing {
            rules: vec![IntentRule {
                name: "all".into(),
                ..IntentRule::default()
            }],
            routes,
            default: default.map(Box::new),
        })
    });
    prop::option::of(routing)
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
    match explain_decision(config, tool, input).verdict {
        Verdict::Allow { .. } => (0, false),
        Verdict::Ask(question) => (1, question.by_server),
        Verdict::Deny { .. } => (2, false),
    }
}

fn bounds((rules, approval, most): &Settled, member: bool) -> MemberBounds {
    let server = ServerRules {
        rules: rules.clone(),
        member_directory: member.then(|| MINE.to_owned()),
    };
    MemberBounds {
        rules: rules.clone(),
        approval: *approval,
        limits: Limits {
            max_iterations: Some(*most),
            ..Limits::default()
        },
        models: listed(),
        tools: fixture::tools().to_vec(),
        guard: Some(guard()),
        server_rules: Some(Arc::new(server)),
        workspace: MINE.into(),
        limits_money: false,
        owns: member,
    }
}

/// An agent as the settings alone would have it, without rules of a session. Settings that say `auto` ask
/// members nevertheless.
fn by_settings(bounds: &MemberBounds, approval: ApprovalMode) -> AgentConfig {
    let approval = match approval {
        ApprovalMode::Auto | ApprovalMode::AcceptEdits | ApprovalMode::Ask => ApprovalMode::Ask,
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
    let routing = config.routing.as_deref().into_iter();
    let routed = routing.flat_map(|routing| {
        let routes = routing.routes.iter().map(|route| &route.agent);
        routes.chain(routing.default.as_deref())
    });
    let mut all = vec![config];
    all.extend(config.agents.iter().chain(routed).flat_map(all_of));
    all
}

/// The number of sequences of each test.
const SEQUENCES: u32 = 512;

/// The outcomes of all sequences: a test in which everything is refused shows nothing.
#[derive(Default)]
struct Tally {
    /// Sessions that were made.
    made: Cell<u32>,
    /// The number of those with agents to which people are routed.
    routed: Cell<u32>,
    /// Changes that were taken.
    taken: Cell<u32>,
    /// The number of those taken after the settings had changed.
    taken_later: Cell<u32>,
}

impl Tally {
    /// Checks that this many sessions were made, half as many changes taken, and some of them after the
    /// settings had changed.
    fn is_enough(&self, made: u32) {
        let counts = [&self.made, &self.taken, &self.taken_later].map(Cell::get);
        eprintln!(
            "made, taken, taken after settings changed, routed: {counts:?}, {}",
            self.routed.get()
        );
        let enough = counts[0] >= made && counts[1] >= made / 2 && counts[2] >= made / 8;
        assert!(
            enough,
            "of {SEQUENCES} sequences: [made, changes taken, after settings changed] = {counts:?}"
        );
    }
}

fn count(of: &Cell<u32>, whether: bool) {
    of.set(of.get() + u32::from(whether));
}

fn try_all<S: Strategy>(of: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let config = Config {
        source_file: Some(file!()),
        ..Config::with_cases(SEQUENCES)
    };
    let tried = TestRunner::new(config).run(of, test);
    tried.unwrap_or_else(|error| panic!("{error}"));
}

/// A session, and the server's settings, as both change.
struct World<'t> {
    /// The session as it is now.
    now: AgentConfig,
    /// The configuration if nobody but the operator had changed anything.
    before: AgentConfig,
    bounds: MemberBounds,
    /// The loosest approval mode of all settings that there were.
    loosest: ApprovalMode,
    /// The widest of their limits.
    most: u32,
    member: bool,
    /// Whether a change that was taken allows longer answers than before it.
    longer: bool,
    tally: &'t Tally,
}

/// Returns whether a request may ask for, or get, a longer answer than before. It says nothing about a change
/// of the model.
fn is_longer(before: &AgentConfig, after: &AgentConfig) -> bool {
    let (had, has) = (before.params.max_output_tokens, after.params.max_output_tokens);
    let usual = |config: &AgentConfig| {
        let models = std::iter::once(&config.model).chain(&config.fallbacks);
        let all_say = models.clone().all(|model| model.api == Api::Anthropic);
        models
            .map(|model| model.max_output_tokens)
            .min()
            .filter(|_| all_say)
    };
    match (had, has) {
        (None, None) => false,
        (Some(had), Some(has)) => has > had,
        (Some(_), None) => true,
        (None, Some(has)) => usual(before).is_none_or(|most| has > most),
    }
}

impl<'t> World<'t> {
    fn new(now: AgentConfig, settled: &Settled, member: bool, tally: &'t Tally) -> Self {
        Self {
            before: now.clone(),
            now,
            bounds: bounds(settled, member),
            loosest: settled.1,
            most: settled.2,
            member,
            longer: false,
            tally,
        }
    }

    fn take(&mut self, steps: Vec<Step>) {
        let mut later = false;
        for step in steps {
            match step {
                Step::Asked(wanted) => {
                    let Ok(change) = self.bounds.admit_change(&self.now, wanted) else {
                        continue;
                    };
                    let before = self.now.clone();
                    apply(&mut self.now, &change);
                    self.longer |= is_longer(&before, &self.now);
                    count(&self.tally.taken, true);
                    count(&self.tally.taken_later, later);
                }
                Step::Settled(settled) => {
                    later = true;
                    self.bounds = bounds(&settled, self.member);
                    if settled.1 != ApprovalMode::Deny {
                        self.loosest = settled.1;
                    }
                    self.most = self.most.max(settled.2);
                    // As the server writes it to open sessions (`ServerState::renew`).
                    let binds = ConfigChange::ServerRules(self.bounds.server_rules.clone());
                    apply(&mut self.now, &binds);
                    apply(&mut self.before, &binds);
                }
            }
        }
    }

    /// An agent as the settings alone would have it. Their rules hold as they are now; an approval mode holds
    /// for what is asked afterwards.
    fn by_settings(&self) -> AgentConfig {
        by_settings(&self.bounds, self.loosest)
    }
}

fn member_has_no_more(world: &World<'_>) -> TestCaseResult {
    let reference = world.by_settings();
    for agent in all_of(&world.now) {
        prop_assert!(agent.limits.max_iterations.is_some_and(|most| most <= world.most));
        prop_assert!(world.bounds.models.contains(&agent.model));
        for (name, input) in calls() {
            let Some(tool) = agent.tools.iter().find(|tool| tool.name == name) else {
                continue;
            };
            let own = reference.tools.iter().find(|tool| tool.name == name).unwrap();
            let (is, by_server) = strictness(agent, tool, &input);
            let (least, _) = strictness(&reference, own, &input);
            prop_assert!(is >= least, "{name} {input}: {is} < {least}");
            // What is asked about for the server's sake is known to be, so that nobody else answers it.
            prop_assert!(is != 1 || least == 0 || by_server, "{name} {input}");
        }
    }
    Ok(())
}

#[test]
fn no_member_gets_more_than_the_settings_give() {
    let tally = Tally::default();
    try_all(&(settled(), config(), steps()), |(settled, wanted, steps)| {
        let Ok(now) = bounds(&settled, true).admit(wanted) else {
            return Ok(());
        };
        count(&tally.made, true);
        count(&tally.routed, now.routing.is_some());
        let mut world = World::new(now, &settled, true, &tally);
        world.take(steps);
        member_has_no_more(&world)
    });
    tally.is_enough(SEQUENCES / 4);
    assert!(
        tally.routed.get() >= SEQUENCES / 64,
        "{} routed",
        tally.routed.get()
    );
}

#[test]
fn a_session_of_a_member_has_no_reminders_and_no_proposals_of_memories() {
    let wanted = |agents| AgentConfig {
        approval: ApprovalMode::Ask,
        agents,
        reminders: Some(Box::default()),
        learning: Some(LearningSettings {
            threshold_turns: 1,
            reflect_turns: 1,
        }),
        ..fixture::config()
    };
    let bounds = bounds(&(Vec::new(), ApprovalMode::Ask, 5), true);
    let admitted = bounds.admit(wanted(vec![wanted(Vec::new())])).unwrap();
    let all = all_of(&admitted);
    assert_eq!(all.len(), 2);
    assert!(
        all.iter()
            .all(|agent| agent.reminders.is_none() && agent.learning.is_none())
    );
}

fn driver_has_no_more(
    World {
        now,
        before,
        bounds,
        most,
        longer,
        ..
    }: &World<'_>,
) -> TestCaseResult {
    if let Some(was) = before.limits.max_iterations {
        let is = now.limits.max_iterations;
        prop_assert!(is.is_some_and(|is| is <= was.max(*most)), "{is:?} after {was}");
    }
    prop_assert!(bounds.models.contains(&now.model));
    let was = &before.model.prices;
    for model in std::iter::once(&now.model).chain(&now.fallbacks) {
        let is = &model.prices;
        prop_assert!(bounds.models.contains(model), "{}", model.id);
        prop_assert!(
            is.input <= was.input && is.output <= was.output,
            "{} is dearer",
            model.id
        );
    }
    prop_assert_eq!(&now.condensing, &before.condensing);
    let (is, was) = (&now.params, &before.params);
    prop_assert!(!longer, "{is:?} after {was:?}");
    prop_assert!(is.thinking_tokens.unwrap_or(0) <= was.thinking_tokens.unwrap_or(0));
    // The operator may give this session another approval mode than that of the settings, but no way around
    // their rules.
    let reference = by_settings(bounds, ApprovalMode::Ask);
    // Unreadable lines are refused if nobody is asked. A driver may have people asked.
    let asked = AgentConfig {
        approval: now.approval,
        ..before.clone()
    };
    for (name, input) in calls() {
        let tool = before.tools.iter().find(|tool| tool.name == name).unwrap();
        let [was, asked, least] =
            [before, &asked, &reference].map(|config| strictness(config, tool, &input).0);
        let (is, by_server) = strictness(now, tool, &input);
        prop_assert!(is >= was.min(asked), "{name} {input}: {is} < {was}");
        prop_assert!(is != 0 || was == 0, "{name} {input} runs, and did not before");
        prop_assert!(least != 2 || is == 2, "{name} {input} is denied by the settings");
        prop_assert!(
            is != 1 || least == 0 || by_server,
            "{name} {input}: somebody else than the operator answers"
        );
    }
    Ok(())
}

#[test]
fn no_driver_gets_more_than_the_operator_gave() {
    let tally = Tally::default();
    let given = (
        rules(),
        modes(),
        limits(),
        params(),
        prop::sample::select(listed()),
    );
    try_all(&(settled(), given, steps()), |(settled, given, steps)| {
        let mut rules = settled.0.clone();
        rules.extend(given.0);
        let now = AgentConfig {
            rules,
            approval: given.1,
            limits: given.2,
            params: given.3,
            model: given.4,
            ..by_settings(&bounds(&settled, false), settled.1)
        };
        count(&tally.made, true);
        let mut world = World::new(now, &settled, false, &tally);
        world.take(steps);
        driver_has_no_more(&world)
    });
    tally.is_enough(SEQUENCES);
}
