//! Any sequence of requests and frames of people who are not the operator, against a server in this process:
//! afterwards no agent of any session judges a call more freely than the operator's settings do, and no call
//! ran that these settings refuse, or ask about without an answer of somebody who may allow it.

use std::collections::BTreeMap;
use std::time::Duration;

use agentx_config::Settings;
use agentx_runtime::{ApprovalInput, Delivery, Verdict, View, explain_decision};
use agentx_types::wire::{ApprovalFrame, CommandFrame, InterruptFrame, UserInputFrame, WheelFrame};
use agentx_types::{
    AgentConfig, ApprovalDecision, ApprovalMode, ConfigChange, OwnerId, RULES_VERSION, RuntimeEvent,
    ServerRules, SessionId, ToolCallId, VISITORS,
};
use axum::http::Method;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::http_api::calls_that_ran::{CallThatRan, calls_that_ran};
use crate::http_api::desk::{Desk, rule_of, wide};

/// The number of sequences that the test tries.
const SEQUENCES: u32 = 32;

/// The server's settings: its rules and its approval mode.
type Settled = (Vec<&'static str>, ApprovalMode);

/// Somebody who is not the operator. Vera decides about calls of members.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Ann,
    Bob,
    Vera,
    Visitor,
}

/// A request about one of the sessions that there are, by its place among them.
#[derive(Clone, Debug)]
struct Asked {
    who: Who,
    session: prop::sample::Index,
    /// Whether it is one that they own or drive, if there is such a one.
    theirs: bool,
    what: What,
    /// Whether it comes as a frame, if there is one for it.
    framed: bool,
}

#[derive(Clone, Debug)]
enum What {
    /// A new session with these fields in the configuration of the server's agent.
    Create(Value),
    Change(Value),
    /// An answer to the call that waits.
    Answer(Value),
    /// Words for the model.
    Say(&'static str),
    /// Any other request: its method, the end of its path, and its body.
    Send(&'static str, &'static str, Value),
    /// A request about the wheel.
    Wheel(&'static str),
    /// A command that has no route, or another one.
    Command(&'static str, Value),
    /// A session from elsewhere.
    Import,
}

fn rule() -> impl Strategy<Value = Value> {
    let effect = prop::sample::select(vec!["allow", "allow", "ask", "deny"]);
    let tool = prop::sample::select(vec!["*", "bash", "read", "write"]);
    let about = prop::sample::select(vec![
        json!({}),
        json!({"argument": "*"}),
        json!({"argument": "git *"}),
        json!({"argument": "touch *"}),
        json!({"path": "/**"}),
        json!({"path": "**"}),
        json!({"workspace": "/"}),
    ]);
    (effect, tool, about).prop_map(|(effect, tool, about)| {
        let mut rule = json!({"effect": effect, "tool": tool});
        rule.as_object_mut()
            .unwrap()
            .extend(about.as_object().unwrap().clone());
        rule
    })
}

/// A part of a configuration, as a client may send it: a field and its value.
fn part() -> impl Strategy<Value = (&'static str, Value)> {
    let rules = || prop::collection::vec(rule(), 0..3);
    let mode = prop::sample::select(vec!["auto", "auto", "ask", "deny"]);
    prop_oneof![
        3 => rules().prop_map(|rules| ("rules", json!(rules))),
        3 => mode.prop_map(|mode| ("approval", json!(mode))),
        1 => (0..=RULES_VERSION + 1).prop_map(|version| ("rules_version", json!(version))),
        1 => Just(("guard", Value::Null)),
        1 => Just(("guard", json!({"secrets": []}))),
        1 => Just(("server_rules", Value::Null)),
        1 => rules().prop_map(|rules| ("server_rules", json!({"rules": rules, "member_directory": "/"}))),
        1 => Just(("tools", json!([
            {"name": "bash", "description": "", "input_schema": {}, "access": "internal", "idempotent": true}
        ]))),
        1 => Just(("limits", json!({}))),
    ]
}

fn creation() -> impl Strategy<Value = Value> {
    let place = prop_oneof![
        4 => Just(Value::Null),
        1 => prop::sample::select(vec![json!("/"), json!(".."), json!("")]),
    ];
    (prop::collection::vec(part(), 0..4), place, any::<bool>()).prop_map(|(parts, place, has_helper)| {
        let mut fields = serde_json::Map::new();
        fields.extend(parts.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if !place.is_null() {
            fields.insert("workspace".to_owned(), place);
        }
        // The helper gets the same fields as the agent that has it.
        json!({"fields": fields, "helper": has_helper})
    })
}

fn change() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => rule().prop_map(|rule| json!({"rule_added": rule})),
        2 => part().prop_map(|(name, value)| json!({name: value})),
    ]
}

fn answer() -> impl Strategy<Value = Value> {
    let decision = prop::sample::select(vec!["once", "session", "always", "deny"]);
    let rule = prop::option::of(rule());
    let by = prop::option::weighted(0.2, Just("own_local"));
    (decision, rule, by).prop_map(|(decision, rule, by)| {
        let mut answer = json!({"decision": decision});
        if let Some(rule) = rule {
            answer["rule"] = rule;
        }
        if let Some(by) = by {
            answer["by"] = json!(by);
        }
        answer
    })
}

/// Requests of people besides messages and changes of the configuration.
fn request() -> impl Strategy<Value = What> {
    let role = prop::sample::select(vec!["own", "drive", "approve", "watch"]);
    let person = prop::sample::select(vec!["ann", "bob", "vera", VISITORS, "own_local"]);
    let share = (person, role).prop_map(|(person, role)| json!({"person": person, "role": role}));
    prop_oneof![
        4 => share.prop_map(|body| What::Send("POST", "roles", body)),
        3 => prop::option::of(0..9_u64).prop_map(|seq| What::Send("POST", "fork", json!({"at_seq": seq}))),
        1 => Just(What::Send("PATCH", "", json!({"title": "another title"}))),
        1 => Just(What::Send("POST", "interrupt", json!({}))),
        1 => Just(What::Send("POST", "revisions", json!({"message_id": "msg_1"}))),
        1 => Just(What::Send("POST", "context", json!({"wish": {"condense": {}}}))),
        1 => (1..9_u64).prop_map(|seq| What::Send("POST", "restore", json!({"wish": {"to_seq": seq, "files": []}}))),
        1 => Just(What::Send("POST", "replay", Value::Null)),
        1 => Just(What::Send("DELETE", "", Value::Null)),
        3 => prop::sample::select(vec!["take", "release", "ask"]).prop_map(What::Wheel),
        1 => Just(What::Command("retry", json!({}))),
        1 => Just(What::Command("ran", json!({"command": "touch x", "output": "", "exit_code": 0}))),
        1 => Just(What::Command("approve", json!({"tool_call_id": "call_1"}))),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let who = prop::sample::select(vec![
        Who::Ann,
        Who::Ann,
        Who::Bob,
        Who::Bob,
        Who::Vera,
        Who::Visitor,
    ]);
    let what = prop_oneof![
        3 => creation().prop_map(What::Create),
        6 => change().prop_map(What::Change),
        3 => answer().prop_map(What::Answer),
        2 => prop::sample::select(vec!["run touch canary", "run git push", "hello"]).prop_map(What::Say),
        4 => request(),
        1 => Just(What::Import),
    ];
    let session = (any::<prop::sample::Index>(), prop::bool::weighted(0.8));
    (who, session, what, any::<bool>()).prop_map(|(who, (session, theirs), what, framed)| Asked {
        who,
        session,
        theirs,
        what,
        framed,
    })
}

fn settled() -> impl Strategy<Value = Settled> {
    let rules = prop::sample::subsequence(
        vec![
            "deny bash: touch *",
            "ask bash: git *",
            "allow bash: ls",
            "deny bash: rm *",
            "ask read: **",
        ],
        0..=5,
    );
    let mode = prop::sample::select(vec![ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::Deny]);
    (rules, mode)
}

/// The calls that are judged after each sequence.
fn probes() -> Vec<(&'static str, Value)> {
    let lines = [
        "ls",
        "touch canary",
        "git status",
        "git push",
        "rm -rf x",
        "sh -c 'git push'",
        "cat .env",
    ];
    let paths = ["notes.txt", "/etc/passwd", ".env", "../own_bob/x", "."];
    let mut probes: Vec<(&str, Value)> = Vec::new();
    probes.extend(lines.map(|line| ("bash", json!({"command": line}))));
    for path in paths {
        probes.extend(["read", "write"].map(|tool| (tool, json!({ "path": path }))));
    }
    probes
}

fn strictness(config: &AgentConfig, name: &str, input: &Value) -> Option<u8> {
    let tool = config.tools.iter().find(|tool| tool.name == name)?;
    Some(match explain_decision(config, tool, input).verdict {
        Verdict::Allow { .. } => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny { .. } => 2,
    })
}

fn all_of(config: &AgentConfig) -> Vec<&AgentConfig> {
    let mut all = vec![config];
    all.extend(config.agents.iter().flat_map(all_of));
    all
}

/// The outcome of a sequence.
#[derive(Debug, Default)]
struct Outcome {
    /// Requests that were taken, by their kind.
    taken: BTreeMap<&'static str, u32>,
    /// A call that is judged more freely than the settings say, or that ran against them.
    freer: Option<String>,
    /// The number of calls that ran.
    ran: u32,
}

/// Whether the server is as it is, or carries out changes of anybody that it has refused: a hole on purpose.
#[derive(Clone, Copy, PartialEq)]
enum Changes {
    AsTheServerTakes,
    AllOfThem,
}

struct Trial {
    desk: Desk,
    settled: Settled,
    changes: Changes,
    /// The sessions that there are, and whose each is; `None` is the operator.
    sessions: Vec<(SessionId, Option<Who>)>,
    /// The operator's session, and its configuration before anybody else asked for anything.
    own: (SessionId, AgentConfig),
    outcome: Outcome,
}

impl Trial {
    async fn new(settled: Settled, changes: Changes) -> Self {
        let mut options = wide();
        options.allow_visitors = true;
        let desk = Desk::set(options, |settings: &mut Settings| {
            settings.rules = settled.0.iter().map(|rule| rule_of(rule)).collect();
            settings.approval = settled.1;
        })
        .await;
        let own = SessionId::new(desk.session(&desk.operator).await);
        let anns = SessionId::new(desk.session(&desk.ann).await);
        for (token, session) in [(&desk.operator, &own), (&desk.ann, &anns)] {
            desk.share(token, session.as_str(), &desk.bob_id, json!("drive"))
                .await;
            desk.share(token, session.as_str(), VISITORS, json!("watch"))
                .await;
        }
        let before = desk.state.open(&own).await.unwrap().state().await.unwrap().config;
        Self {
            desk,
            settled,
            changes,
            sessions: vec![(own.clone(), None), (anns, Some(Who::Ann))],
            own: (own, before),
            outcome: Outcome::default(),
        }
    }

    fn token(&self, who: Who) -> Option<&str> {
        match who {
            Who::Ann => Some(&self.desk.ann),
            Who::Bob => Some(&self.desk.bob),
            Who::Vera => Some(&self.desk.vera),
            Who::Visitor => None,
        }
    }

    fn id_of(&self, who: &str) -> String {
        match who {
            "ann" => self.desk.ann_id.clone(),
            "bob" => self.desk.bob_id.clone(),
            "vera" => self.desk.vera_id.clone(),
            other => other.to_owned(),
        }
    }

    /// Sends a request; the answer, if it was taken.
    async fn send(&self, who: Who, method: &str, path: &str, body: &Value) -> Option<Value> {
        let mut ask = self
            .desk
            .ask(Method::from_bytes(method.as_bytes()).unwrap(), path);
        if !body.is_null() {
            ask = ask.json(body);
        }
        if let Some(token) = self.token(who) {
            ask = ask.by(token);
        }
        let reply = ask.send().await;
        assert!(
            !reply.status.is_server_error(),
            "{method} {path} {body}: {}",
            reply.status
        );
        let taken = reply.status.is_success();
        taken.then(|| serde_json::from_slice(&reply.body).unwrap_or(Value::Null))
    }

    /// Sends what a frame of a WebSocket says; whether it was taken.
    async fn frame(&self, who: Who, kind: &str, frame: Value) -> bool {
        let (state, caller) = (&self.desk.state, self.desk.caller_or_visitor(self.token(who)));
        fn read<T: serde::de::DeserializeOwned>(frame: Value) -> Option<T> {
            serde_json::from_value(frame).ok()
        }
        match kind {
            "user_input" => match read::<UserInputFrame>(frame) {
                Some(frame) => state.say(&caller, frame).await.is_ok(),
                None => false,
            },
            "approval" => match read::<ApprovalFrame>(frame) {
                Some(frame) => state.approve(&caller, frame).await.is_ok(),
                None => false,
            },
            "interrupt" => match read::<InterruptFrame>(frame) {
                Some(frame) => state.interrupt(&caller, frame).await.is_ok(),
                None => false,
            },
            "wheel" => match read::<WheelFrame>(frame) {
                Some(frame) => state.wheel(&caller, frame).await.is_ok(),
                None => false,
            },
            _ => match read::<CommandFrame>(frame) {
                Some(frame) => state.command(&caller, frame).await.is_ok(),
                None => false,
            },
        }
    }

    /// The session that a request is about. Bob drives those that were there first.
    fn session_of(&self, asked: &Asked) -> SessionId {
        let is_theirs =
            |at: usize, owner: Option<Who>| owner == Some(asked.who) || asked.who == Who::Bob && at < 2;
        let theirs: Vec<_> = self
            .sessions
            .iter()
            .enumerate()
            .filter(|(at, known)| asked.theirs && is_theirs(*at, known.1))
            .map(|(_, known)| known)
            .collect();
        match theirs.as_slice() {
            [] => asked.session.get(&self.sessions).0.clone(),
            theirs => asked.session.get(theirs).0.clone(),
        }
    }

    async fn take(&mut self, asked: Asked) {
        let id = self.session_of(&asked);
        let Asked {
            who, what, framed, ..
        } = asked;
        let path = format!("/v1/sessions/{id}");
        let (kind, taken) = match what {
            What::Create(wanted) => ("create", self.create(who, &wanted).await),
            What::Change(change) => ("change", self.change(who, &id, change, framed).await),
            What::Answer(answer) => ("answer", self.answer(who, &id, answer, framed).await),
            What::Say(words) => ("say", self.say(who, &id, words, framed).await),
            What::Wheel(wish) => {
                let frame = json!({"session_id": id, "wish": wish});
                ("wheel", self.frame(who, "wheel", frame).await)
            }
            What::Command(command, args) => {
                let frame = json!({"session_id": id, "command": command, "args": args});
                ("command", self.frame(who, "system_command", frame).await)
            }
            What::Import => ("import", self.import(who, &id).await),
            What::Send(method, end, mut body) => {
                if let Some(person) = body["person"].as_str() {
                    body["person"] = json!(self.id_of(person));
                }
                let path = if end.is_empty() {
                    path
                } else {
                    format!("{path}/{end}")
                };
                let answer = self.send(who, method, &path, &body).await;
                let taken = answer.is_some();
                self.know(who, answer.filter(|_| end == "fork"));
                if taken && method == "DELETE" {
                    self.sessions.retain(|known| known.0 != id);
                }
                (if end.is_empty() { method } else { end }, taken)
            }
        };
        *self.outcome.taken.entry(kind).or_default() += u32::from(taken);
    }

    /// Remembers the session that an answer names.
    fn know(&mut self, who: Who, answer: Option<Value>) -> bool {
        let answer = answer.unwrap_or_default();
        let Some(id) = answer["session_id"].as_str() else {
            return false;
        };
        self.sessions.push((SessionId::new(id), Some(who)));
        true
    }

    async fn create(&mut self, who: Who, wanted: &Value) -> bool {
        let mut config = self.desk.agent().await;
        let fields = wanted["fields"].as_object().unwrap().clone();
        config.as_object_mut().unwrap().extend(fields);
        if wanted["helper"] == json!(true) {
            let mut helper = config.clone();
            helper["name"] = json!("helper");
            config["agents"] = json!([helper]);
        }
        let answer = self
            .send(who, "POST", "/v1/sessions", &json!({"config": config}))
            .await;
        self.know(who, answer)
    }

    /// A copy of a session from elsewhere, which only the operator may put on the server.
    async fn import(&self, who: Who, id: &SessionId) -> bool {
        let document = json!({
            "format": "agentx-session", "version": 1, "session_id": format!("{id}0"), "title": "", "workspace": "/",
            "created_at": 1, "hash": "", "blobs": [], "events": [],
        });
        self.send(who, "POST", "/v1/import", &document).await.is_some()
    }

    async fn change(&self, who: Who, id: &SessionId, change: Value, framed: bool) -> bool {
        let body = json!({"change": change});
        let taken = if framed {
            let frame = json!({"session_id": id, "command": "change", "args": body});
            self.frame(who, "system_command", frame).await
        } else {
            let path = format!("/v1/sessions/{id}/changes");
            self.send(who, "POST", &path, &body).await.is_some()
        };
        let forced = self.changes == Changes::AllOfThem && !taken;
        if forced && let Ok(change) = serde_json::from_value::<ConfigChange>(change) {
            let session = self.desk.state.open(id).await.unwrap();
            return session.change(change).await.is_ok();
        }
        taken
    }

    /// The call that a person has to decide about.
    async fn waiting(&self, id: &SessionId) -> Option<String> {
        let state = self.desk.state.open(id).await.unwrap().state().await.unwrap();
        state
            .pending_approvals
            .first()
            .map(|call| call.tool_call_id.to_string())
    }

    async fn answer(&self, who: Who, id: &SessionId, mut answer: Value, framed: bool) -> bool {
        if self.waiting(id).await.is_none() {
            self.say(who, id, "run touch canary", framed).await;
        }
        let call = self.waiting(id).await.unwrap_or_else(|| "call_1".to_owned());
        answer["tool_call_id"] = json!(call);
        if framed {
            answer["session_id"] = json!(id);
            return self.frame(who, "approval", answer).await;
        }
        let path = format!("/v1/sessions/{id}/approvals");
        self.send(who, "POST", &path, &answer).await.is_some()
    }

    /// Sends a message if nothing waits for an answer, and waits until a question is asked or the run ends.
    async fn say(&self, who: Who, id: &SessionId, words: &str, framed: bool) -> bool {
        let open = self.desk.state.open(id).await.unwrap();
        if self.waiting(id).await.is_some() {
            return false;
        }
        let before = open.state().await.unwrap().last_seq;
        let taken = if framed {
            let frame = json!({"session_id": id, "content": words});
            self.frame(who, "user_input", frame).await
        } else {
            let path = format!("/v1/sessions/{id}/messages");
            self.send(who, "POST", &path, &json!({"content": words}))
                .await
                .is_some()
        };
        if taken {
            let mut events = open.subscribe(before, View::Runtime).await.unwrap();
            let settled = async {
                while let Some(delivery) = events.next().await {
                    if let Delivery::Runtime(event) = delivery
                        && let RuntimeEvent::ApprovalRequested(_) | RuntimeEvent::RunFinished(_) = event.event
                    {
                        return;
                    }
                }
            };
            tokio::time::timeout(Duration::from_secs(60), settled)
                .await
                .unwrap();
        }
        taken
    }

    /// Has a member call a tool in each session, then looks at every agent of every session, and at every
    /// call that ran.
    async fn judged(mut self) -> Outcome {
        for (index, (id, who)) in self.sessions.iter().enumerate() {
            let words = ["run ls", "run touch canary"][index % 2];
            self.say(who.unwrap_or(Who::Bob), id, words, false).await;
        }
        for (id, who) in &self.sessions {
            let session = self.desk.state.open(id).await.unwrap();
            let now = session.state().await.unwrap().config;
            let bounds = match who {
                Some(who) => self.by_settings(*who, &self.own.1),
                None => self.own.1.clone(),
            };
            for agent in all_of(&now) {
                if let Some(freer) = freer(agent, &bounds, who.is_none()) {
                    self.outcome.freer = Some(format!("{id} of {who:?}: {freer}"));
                }
            }
            for call in calls_that_ran(session.as_ref()).await {
                self.outcome.ran += 1;
                if let Some(freer) = self.ran_freely(&call, *who, &bounds) {
                    self.outcome.freer = Some(format!("{id} of {who:?}: {freer}"));
                }
            }
        }
        self.outcome
    }

    /// A call that ran although the settings refuse it, or ask about it and nobody who may allow it did.
    /// Nobody else than Vera may, and only in sessions of the other members.
    fn ran_freely(&self, call: &CallThatRan, who: Option<Who>, bounds: &AgentConfig) -> Option<String> {
        let CallThatRan {
            tool,
            input,
            allowed_by,
        } = call;
        let vera = Some(OwnerId::new(&self.desk.vera_id));
        let may_vera = who.is_some_and(|who| who != Who::Vera);
        let is_right = match strictness(bounds, tool, input)? {
            0 => true,
            1 => may_vera && allowed_by.contains(&vera),
            _ => false,
        };
        (!is_right).then(|| format!("{tool} {input} ran, allowed by {allowed_by:?}, against the settings"))
    }

    /// A member's agent as the settings alone would have it: whatever they say, members are asked at least.
    fn by_settings(&self, who: Who, own: &AgentConfig) -> AgentConfig {
        let person = match who {
            Who::Ann => &self.desk.ann_id,
            Who::Bob => &self.desk.bob_id,
            Who::Vera | Who::Visitor => &self.desk.vera_id,
        };
        let directory = std::fs::canonicalize(self.desk.directory.path()).unwrap();
        let directory = directory.join("members").join(person).display().to_string();
        let rules = ServerRules {
            rules: self.settled.0.iter().map(|rule| rule_of(rule)).collect(),
            member_directory: Some(directory.clone()),
        };
        assert!(own.guard.is_some());
        AgentConfig {
            workspace: directory,
            approval: if self.settled.1 == ApprovalMode::Deny {
                ApprovalMode::Deny
            } else {
                ApprovalMode::Ask
            },
            rules: Vec::new(),
            server_rules: Some(rules.into()),
            ..own.clone()
        }
    }
}

/// A call that an agent judges more freely than within these bounds. The driver of the operator's session may
/// make it ask although nobody was asked before; unreadable commands are then refused.
fn freer(agent: &AgentConfig, bounds: &AgentConfig, is_own: bool) -> Option<String> {
    let asking = AgentConfig {
        approval: agent.approval,
        ..bounds.clone()
    };
    probes().into_iter().find_map(|(name, input)| {
        let is = strictness(agent, name, &input)?;
        let mut least = strictness(bounds, name, &input)?;
        if is_own && is > 0 {
            least = least.min(strictness(&asking, name, &input)?);
        }
        (is < least).then(|| format!("{name} {input} is judged {is}, and {least} by the settings"))
    })
}

/// Tries sequences until one lets a call be judged more freely, or run; what was taken of all, and the number
/// of calls that ran.
fn try_sequences(count: u32, changes: Changes) -> (BTreeMap<&'static str, u32>, Result<(), String>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let taken = std::cell::RefCell::new(BTreeMap::new());
    let config = Config {
        source_file: Some(file!()),
        failure_persistence: None,
        max_shrink_iters: 16,
        ..Config::with_cases(count)
    };
    let sequence = (settled(), prop::collection::vec(asked(), 1..24));
    let began = std::time::Instant::now();
    let tried = TestRunner::new(config).run(&sequence, |(settled, sequence)| {
        let outcome = runtime.block_on(async {
            let mut trial = Trial::new(settled, changes).await;
            for asked in sequence {
                trial.take(asked).await;
            }
            trial.judged().await
        });
        let kinds = outcome.taken.into_iter().chain([("ran", outcome.ran)]);
        for (kind, count) in kinds {
            *taken.borrow_mut().entry(kind).or_default() += count;
        }
        prop_assert!(outcome.freer.is_none(), "{}", outcome.freer.unwrap_or_default());
        Ok(())
    });
    eprintln!("{:?} after {count} sequences at most", began.elapsed());
    (taken.into_inner(), tried.map_err(|error| error.to_string()))
}

#[test]
fn no_sequence_of_requests_has_a_call_judged_more_freely_than_the_settings_do() {
    let (taken, found) = try_sequences(SEQUENCES, Changes::AsTheServerTakes);
    eprintln!("taken: {taken:?}");
    found.unwrap_or_else(|found| panic!("{found}"));
    assert_eq!(taken.get("import"), Some(&0), "only the operator imports");
    assert!(
        taken.get("ran").is_some_and(|ran| *ran > 0),
        "no call ran: {taken:?}"
    );
}

/// Returns the call that waits in Ann's session, whose configuration is that of the settings.
async fn waiting_call(trial: &Trial) -> (SessionId, ToolCallId) {
    let ann = trial.sessions[1].0.clone();
    assert!(trial.say(Who::Ann, &ann, "run touch canary", false).await);
    let call = ToolCallId::new(trial.waiting(&ann).await.unwrap());
    (ann, call)
}

/// Waits until nothing runs in a session any more.
async fn until_idle(trial: &Trial, id: &SessionId) {
    let session = trial.desk.state.open(id).await.unwrap();
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    let ended = async {
        while let Some(delivery) = events.next().await {
            if matches!(&delivery, Delivery::Runtime(event) if matches!(event.event, RuntimeEvent::RunFinished(_)))
            {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .unwrap();
}

/// A hole on purpose: the owner's own answer, past the server, to a call that the settings ask about. All
/// configurations are as they were.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ran_is_noticed_although_all_configurations_are_as_they_were() {
    let trial = Trial::new((Vec::new(), ApprovalMode::Ask), Changes::AsTheServerTakes).await;
    let (ann, call) = waiting_call(&trial).await;
    let session = trial.desk.state.open(&ann).await.unwrap();
    let before = session.state().await.unwrap().config;
    session
        .approve(ApprovalInput::new(call, ApprovalDecision::Once))
        .await
        .unwrap();
    until_idle(&trial, &ann).await;
    assert_eq!(session.state().await.unwrap().config, before);
    let found = trial.judged().await.freer.unwrap();
    assert!(found.contains("ran, allowed by [None]"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_an_approver_allows_runs_and_is_within_the_settings() {
    let trial = Trial::new((Vec::new(), ApprovalMode::Ask), Changes::AsTheServerTakes).await;
    let (ann, _) = waiting_call(&trial).await;
    assert!(
        !trial
            .answer(Who::Ann, &ann, json!({"decision": "once"}), false)
            .await
    );
    assert!(
        trial
            .answer(Who::Vera, &ann, json!({"decision": "once"}), false)
            .await
    );
    until_idle(&trial, &ann).await;
    let outcome = trial.judged().await;
    assert_eq!(outcome.freer, None);
    assert!(outcome.ran > 0, "{outcome:?}");
}

/// Checks each kind of request, because chance decides which ones random sequences accept.
#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_request_is_taken_from_who_may_send_it() {
    let mut runner = TestRunner::deterministic();
    let session = any::<prop::sample::Index>()
        .new_tree(&mut runner)
        .unwrap()
        .current();
    let share = json!({"person": "bob", "role": "watch"});
    let all = [
        ("create", What::Create(json!({"fields": {}, "helper": false}))),
        (
            "change",
            What::Change(json!({"rule_added": {"effect": "deny", "tool": "write"}})),
        ),
        ("answer", What::Answer(json!({"decision": "deny"}))),
        ("say", What::Say("hello")),
        ("roles", What::Send("POST", "roles", share)),
        ("fork", What::Send("POST", "fork", json!({"at_seq": null}))),
        ("wheel", What::Wheel("take")),
    ];
    for framed in [false, true] {
        let mut trial = Trial::new((Vec::new(), ApprovalMode::Ask), Changes::AsTheServerTakes).await;
        for (kind, what) in all.clone() {
            let asked = Asked {
                who: Who::Ann,
                session,
                theirs: true,
                what,
                framed,
            };
            trial.take(asked).await;
            assert_eq!(
                trial.outcome.taken.get(kind),
                Some(&1),
                "{kind}, as a frame: {framed}"
            );
        }
        assert_eq!(trial.judged().await.freer, None);
    }
}

/// A hole on purpose: a server that carries out the changes that it has refused.
#[test]
fn a_sequence_of_requests_that_opens_a_hole_is_noticed() {
    let (taken, found) = try_sequences(SEQUENCES, Changes::AllOfThem);
    let found = found.expect_err(&format!("nothing is noticed: {taken:?}"));
    assert!(
        found.contains("by the settings") || found.contains("against the settings"),
        "{found}"
    );
}
