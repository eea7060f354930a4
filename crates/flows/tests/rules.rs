//! The rules of an agent hold for the calls that its scripts make: calls that a rule denies or asks about are
//! refused there, calls that the file names and no rule matches are made.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::support::{Place, definition, luau, prefix};
use agentx_agent_files::definition::ToolDefinition;
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_testing::{FaultyLog, ModelScript, ServerReply, TestServer};
use agentx_types::{
    Access, AgentConfig, ApprovalMode, ConfigChange, EnvironmentEvent, Rule, RuleEffect, SessionId, ToolSpec,
    ToolStatus,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Takes a command line or a path, runs nothing, and remembers its arguments.
#[derive(Clone)]
pub(crate) struct Recorder {
    spec: ToolSpec,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    pub(crate) fn new(name: &str, access: Access, argument: &str) -> Self {
        let is_path = argument == "path";
        let argument = Some(argument.to_owned());
        let (path_argument, command_argument) = if is_path {
            (argument, None)
        } else {
            (None, argument)
        };
        let mut spec = ToolSpec::new(name, "", json!({"type": "object"}), access);
        spec.path_argument = path_argument;
        spec.command_argument = command_argument;
        Self {
            spec,
            calls: Arc::default(),
        }
    }

    pub(crate) fn bash() -> Self {
        Self::new("bash", Access::Run, "command")
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

impl Tool for Recorder {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    /// The file `link` stands for a link to `/workspace/secret/key`, and `../` for paths outside.
    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let real = Path::new("/workspace/secret/key");
        let refused = match input["path"].as_str() {
            Some("link") => context.refused_at(&self.spec.name, "link", real),
            Some(path) if path.starts_with("..") && !context.outside_workspace => Some("outside".to_owned()),
            _ => None,
        };
        self.calls.lock().unwrap().push(input);
        Box::pin(std::future::ready(match refused {
            Some(why) => ToolOutcome::failed(ToolStatus::Refused, why),
            None => ToolOutcome::success("ran"),
        }))
    }
}

pub(crate) fn rule(effect: RuleEffect, tool: &str, argument: Option<&str>, path: Option<&str>) -> Rule {
    Rule {
        effect,
        tool: tool.to_owned(),
        argument: argument.map(str::to_owned),
        path: path.map(str::to_owned),
        workspace: None,
        origin: None,
    }
}

/// A script that calls `tool` with its own arguments.
pub(crate) fn script(tool: &str, granted: &str) -> ToolDefinition {
    let text = format!("function invoke(ctx, args) return ctx.invoke('{tool}', args) end");
    luau("outer", &text, json!({"tools": [granted]}))
}

/// The same as a row of one step.
pub(crate) fn row(tool: &str) -> ToolDefinition {
    definition(
        json!({"name": "outer", "type": "composite", "steps": [{"id": "one", "tool": {"$ref": tool}}]}),
    )
}

/// Returns the outcome of a call of `outer` with these rules, which do not ask about `outer` itself.
async fn called(
    outer: ToolDefinition,
    inner: &Recorder,
    input: Value,
    mode: ApprovalMode,
    rules: &[Rule],
) -> (ToolStatus, String) {
    let place = Place::with(
        FaultyLog::new(),
        [
            ModelScript::call("call_1", "outer", input),
            ModelScript::text("Done."),
        ],
        |mut parts| {
            parts.tools = vec![Arc::new(inner.clone())];
            parts
        },
    );
    place.tool(outer);
    let own = rule(RuleEffect::Allow, "outer", None, None);
    let rules = rules.iter().cloned().chain([own]).collect();
    let session = place
        .open_as(|config| AgentConfig {
            approval: mode,
            rules,
            ..config
        })
        .await;
    place.ask(&session, "go").await;
    session.close().await;
    place.result("call_1")
}

const MODES: [ApprovalMode; 3] = [ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::Deny];

#[tokio::test]
async fn a_rule_that_denies_holds_for_scripts_and_rows() {
    let deny = [
        rule(RuleEffect::Deny, "bash", Some("rm *"), None),
        rule(RuleEffect::Allow, "bash", None, None),
    ];
    for mode in MODES {
        for outer in [script("bash", "bash"), script("bash", "*"), row("bash")] {
            let bash = Recorder::bash();
            let input = json!({"command": "ls; rm -r x"});
            let (status, text) = called(outer.clone(), &bash, input, mode, &deny).await;
            assert_ne!(status, ToolStatus::Success, "{text}");
            assert_eq!(bash.count(), 0, "{text}");
            assert!(
                text.contains(r#"bash is refused: the rule "deny bash: rm *" denies it"#),
                "{text}"
            );
            // Calls that the rule does not match are made.
            let (status, text) = called(outer, &bash, json!({"command": "ls"}), mode, &deny).await;
            assert_eq!((status, bash.count()), (ToolStatus::Success, 1), "{text}");
        }
    }
}

#[tokio::test]
async fn a_script_reads_the_refusal_and_may_go_on() {
    let text = "function invoke(ctx, args)
        local ok, problem = pcall(function() return ctx.invoke('bash', {command = 'ls'}) end)
        return { ok = ok, denied = string.find(tostring(problem), 'denied') ~= nil }
    end";
    let outer = luau("outer", text, json!({"tools": ["bash"]}));
    let bash = Recorder::bash();
    let deny = [rule(RuleEffect::Deny, "bash", None, None)];
    let result = called(outer, &bash, json!({}), ApprovalMode::Ask, &deny).await;
    assert_eq!(
        result,
        (ToolStatus::Success, r#"{"denied":true,"ok":false}"#.to_owned())
    );
    assert_eq!(bash.count(), 0);
}

#[tokio::test]
async fn where_nobody_is_asked_a_rule_that_asks_counts_as_for_a_models_call() {
    let ask = [rule(RuleEffect::Ask, "bash", Some("git push*"), None)];
    for outer in [script("bash", "bash"), row("bash")] {
        let bash = Recorder::bash();
        for line in ["git push origin", "$(echo git) push"] {
            let input = json!({"command": line});
            let (status, text) = called(outer.clone(), &bash, input, ApprovalMode::Deny, &ask).await;
            assert_ne!(status, ToolStatus::Success, "{text}");
            assert_eq!(bash.count(), 0, "{text}");
            let says = "and nobody can be asked: there is no terminal, or the approval mode is `deny`";
            assert!(
                text.contains(r#""ask bash: git push*""#) && text.contains(says),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn without_a_rule_a_script_calls_the_tools_that_its_file_names() {
    let allow = [rule(RuleEffect::Allow, "bash", None, None)];
    for mode in [ApprovalMode::Ask, ApprovalMode::Deny] {
        let bash = Recorder::bash();
        let input = json!({"command": "ls"});
        for outer in [script("bash", "bash"), row("bash")] {
            let (status, text) = called(outer, &bash, input.clone(), mode, &[]).await;
            assert_eq!(status, ToolStatus::Success, "{text}");
        }
        let all = script("bash", "*");
        if mode == ApprovalMode::Deny {
            let (status, text) = called(all.clone(), &bash, input.clone(), mode, &[]).await;
            assert_eq!((status, bash.count()), (ToolStatus::Denied, 2), "{text}");
            let says = "name bash under `capabilities: tools` in place of `*`";
            assert!(text.contains(says), "{text}");
        }
        let (status, text) = called(all, &bash, input, mode, &allow).await;
        assert_eq!((status, bash.count()), (ToolStatus::Success, 3), "{text}");
    }
}

#[tokio::test]
async fn rules_about_places_hold_for_tools_that_only_a_script_has() {
    let rules = [
        rule(RuleEffect::Deny, "read", None, Some("secret/**")),
        rule(RuleEffect::Allow, "read", None, Some("/shared/**")),
    ];
    let cases = [
        (
            "secret/key",
            ToolStatus::Denied,
            r#"the rule "deny read in secret/**" denies it"#,
        ),
        ("link", ToolStatus::Failed, "it leads to /workspace/secret/key"),
        ("../shared/a", ToolStatus::Success, "ran"),
        ("../other/a", ToolStatus::Failed, "outside"),
        ("a", ToolStatus::Success, "ran"),
    ];
    for (path, wanted, says) in cases {
        let read = Recorder::new("read", Access::Read, "path");
        let input = json!({"path": path});
        let (status, text) = called(script("read", "read"), &read, input, ApprovalMode::Ask, &rules).await;
        assert_eq!(status, wanted, "{path}: {text}");
        assert!(text.contains(says), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_script_does_not_change_what_runs_by_itself_without_a_rule_for_that_file() {
    let input = json!({"path": ".git/hooks/pre-commit"});
    let write = Recorder::new("write", Access::Change, "path");
    let wide = [rule(RuleEffect::Allow, "write", None, Some("**"))];
    let (status, text) = called(
        script("write", "write"),
        &write,
        input.clone(),
        ApprovalMode::Deny,
        &wide,
    )
    .await;
    assert_eq!((status, write.count()), (ToolStatus::Denied, 0), "{text}");
    assert!(text.contains("can make other programs run something"), "{text}");
    let exact = [rule(
        RuleEffect::Allow,
        "write",
        None,
        Some(".git/hooks/pre-commit"),
    )];
    let (status, text) = called(script("write", "write"), &write, input, ApprovalMode::Ask, &exact).await;
    assert_eq!((status, write.count()), (ToolStatus::Success, 1), "{text}");
}

/// Reports that it runs, and ends on demand.
#[derive(Clone, Default)]
struct Gate {
    began: Arc<Notify>,
    end: Arc<Notify>,
}

impl Tool for Gate {
    fn spec(&self) -> ToolSpec {
        Recorder::new("gate", Access::Internal, "text").spec
    }

    fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let gate = self.clone();
        Box::pin(async move {
            gate.began.notify_one();
            gate.end.notified().await;
            ToolOutcome::success("open")
        })
    }
}

/// Rules that are written while a script runs hold for all its later calls, whether a person is asked or not.
#[tokio::test]
async fn a_rule_that_is_written_while_a_script_runs_holds_for_its_later_calls() {
    let bash = json!({"command": "ls"});
    let cases = [
        (
            Recorder::bash(),
            bash.clone(),
            rule(RuleEffect::Deny, "bash", None, None),
            "denies it",
        ),
        (
            Recorder::bash(),
            bash,
            rule(RuleEffect::Ask, "bash", None, None),
            "nobody can be asked",
        ),
        (
            Recorder::new("read", Access::Read, "path"),
            json!({"path": "link"}),
            rule(RuleEffect::Deny, "read", None, Some("secret/**")),
            "it leads to /workspace/secret/key",
        ),
    ];
    for (inner, input, written, says) in cases {
        let name = inner.spec.name.clone();
        let text = format!(
            "function invoke(ctx, args)
                local before = ctx.invoke('{name}', args)
                ctx.invoke('gate', {{}})
                return ctx.invoke('{name}', args)
            end"
        );
        let gate = Gate::default();
        let place = Place::with(
            FaultyLog::new(),
            [
                ModelScript::call("call_1", "outer", input),
                ModelScript::text("Done."),
            ],
            |mut parts| {
                parts.tools = vec![Arc::new(inner.clone()), Arc::new(gate.clone())];
                parts
            },
        );
        place.tool(luau("outer", &text, json!({"tools": [name, "gate"]})));
        let own = rule(RuleEffect::Allow, "outer", None, None);
        let session = place
            .open_as(|config| AgentConfig {
                approval: ApprovalMode::Deny,
                rules: vec![own],
                ..config
            })
            .await;
        place.say(&session, "go").await;
        gate.began.notified().await;
        session.change(ConfigChange::RuleAdded(written)).await.unwrap();
        gate.end.notify_one();
        place.until_done(&session, 0).await;
        session.close().await;
        let (status, text) = place.result("call_1");
        assert_ne!(status, ToolStatus::Success, "{text}");
        assert!(text.contains(says), "{text}");
    }
}

/// A log from before rules held for scripts: the call that a rule denies is recorded as done, and stays so.
#[tokio::test]
async fn what_an_old_log_has_on_record_is_not_judged_again() {
    let bash = Recorder::bash();
    let tools = |mut parts: agentx_flows::ToolFactoryParts| {
        parts.tools = vec![Arc::new(bash.clone()) as Arc<dyn Tool>];
        parts
    };
    let input = json!({"command": "ls"});
    let answers = [
        ModelScript::call("call_1", "outer", input),
        ModelScript::text("Done."),
    ];
    let first = Place::with(FaultyLog::new(), answers, tools);
    first.tool(script("bash", "bash"));
    let session = first.open().await;
    first.ask(&session, "go").await;
    session.close().await;
    let mut facts = first.log.facts(&SessionId::new("ses_1"));
    let end = facts
        .iter()
        .position(|fact| matches!(fact.event, EnvironmentEvent::ToolResult(_)))
        .expect("a result");
    for fact in &mut facts {
        let fact = Arc::make_mut(fact);
        if let EnvironmentEvent::SessionOpened(opened) = &mut fact.event {
            opened.config.rules = vec![rule(RuleEffect::Deny, "bash", None, None)];
        }
    }
    let second = Place::with(prefix(&facts, end).await, [ModelScript::text("Done.")], tools);
    second.tool(script("bash", "bash"));
    let session = second.resume().await;
    second.until_done(&session, 0).await;
    assert_eq!(second.result("call_1"), (ToolStatus::Success, "ran".to_owned()));
    assert_eq!(bash.count(), 1);
}

/// A script creates an agent from a file and lets it call `bash`. Returns the number of times that it ran.
async fn by_a_made_agent(mode: ApprovalMode, rules: &[Rule]) -> usize {
    let text = "function invoke(ctx, args)
        return ctx.create_agent('free', {tools = {'bash'}}):input('go'):collect({raw = true})
    end";
    let bash = Recorder::bash();
    let place = Place::with(
        FaultyLog::new(),
        [
            ModelScript::call("call_1", "outer", json!({})),
            ModelScript::call("call_2", "bash", json!({"command": "rm -r x"})),
            ModelScript::text("It tried."),
            ModelScript::text("Done."),
        ],
        |mut parts| {
            parts.tools = vec![Arc::new(bash.clone())];
            parts
        },
    );
    place.tool(luau(
        "outer",
        text,
        json!({"tools": ["bash"], "agents": ["free"]}),
    ));
    place.made_agents_call(Arc::new(bash.clone()));
    let own = rule(RuleEffect::Allow, "outer", None, None);
    let rules = rules.iter().cloned().chain([own]).collect();
    let session = place
        .open_as(|config| AgentConfig {
            approval: mode,
            rules,
            ..config
        })
        .await;
    place.ask(&session, "go").await;
    session.close().await;
    let (status, text) = place.result("call_1");
    assert_eq!((status, text.as_str()), (ToolStatus::Success, "It tried."));
    bash.count()
}

#[tokio::test]
async fn an_agent_that_a_script_makes_is_held_to_what_its_session_says() {
    assert_eq!(
        by_a_made_agent(ApprovalMode::Auto, &[]).await,
        1,
        "nothing is said"
    );
    assert_eq!(
        by_a_made_agent(ApprovalMode::Deny, &[]).await,
        0,
        "nobody is asked"
    );
    let deny = rule(RuleEffect::Deny, "bash", Some("rm *"), None);
    assert_eq!(
        by_a_made_agent(ApprovalMode::Auto, &[deny]).await,
        0,
        "a rule denies it"
    );
}

#[tokio::test]
async fn the_older_api_calls_tools_by_the_same_rules() {
    let text = "local stream = rt:transformer('shout', {})
        stream:send('hello')
        stream:close_send()
        local chunk, problem = stream:recv()
        rt:output(problem or chunk)";
    let deny = [rule(RuleEffect::Deny, "shout", None, None)];
    for (rules, count) in [(&deny[..], 0), (&[], 1)] {
        let shout = Recorder::new("shout", Access::Run, "text");
        let outer = luau("outer", text, json!({"tools": ["shout"]}));
        let (_, said) = called(outer, &shout, json!({}), ApprovalMode::Ask, rules).await;
        assert_eq!(shout.count(), count, "{said}");
        assert_eq!(said.contains("deny shout"), count == 0, "{said}");
    }
}

/// Spellings of hosts that lead to this machine.
const SPELLINGS: &[&str] = &[
    "127.0.0.1",
    "2130706433",
    "127.1",
    "0x7f.1",
    "127.0.0.1.",
    "①②⑦.0.0.1",
    "127。0.0.1",
    "localhost",
    "ｌｏｃａｌｈｏｓｔ",
    "local\u{ad}host",
    "LOCALHOST.",
];

#[tokio::test]
async fn a_rule_about_a_host_holds_however_a_file_spells_it() {
    let server = TestServer::answering(|_| ServerReply::body(200, "text/plain", "here")).await;
    let port = server.address().port();
    let denies = |host: &str| rule(RuleEffect::Deny, "*", Some(&format!("to {host}")), None);
    let rules = [denies("127.0.0.1"), denies("localhost")];
    for host in SPELLINGS {
        let url = format!("http://{host}:{port}/x");
        let request = definition(json!({"name": "outer", "type": "http", "method": "GET", "endpoint": url}));
        let text = format!("function invoke(ctx) return ctx.http.get('{url}').body end");
        for outer in [request, luau("outer", &text, json!({"http": [host]}))] {
            let bash = Recorder::bash();
            for mode in MODES {
                let (status, said) = called(outer.clone(), &bash, json!({}), mode, &rules).await;
                assert_eq!(status, ToolStatus::Denied, "{host}: {said}");
            }
            assert_eq!(server.connections(), 0, "{host}");
            let reach = Place::new([]).tool(outer).spec().reach.unwrap().hosts;
            assert!(["127.0.0.1", "localhost", "*"].contains(&&*reach[0]), "{reach:?}");
        }
    }
    let allow = rule(RuleEffect::Allow, "*", Some("to 127.0.0.1"), None);
    let url = format!("http://2130706433:{port}/x");
    let request = definition(json!({"name": "outer", "type": "http", "method": "GET", "endpoint": url}));
    let (status, said) = called(
        request,
        &Recorder::bash(),
        json!({}),
        ApprovalMode::Deny,
        &[allow],
    )
    .await;
    assert_eq!((status, &*said), (ToolStatus::Success, "here"));
}
