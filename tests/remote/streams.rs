//! Many agents at once tell a story on a server, and many readers follow, each of them some agents or some
//! media, over WebSockets and event streams that are cut at random bytes. Each reader ends with all that it
//! asked for, in order, nothing twice, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use agentx_tests::proxy::{Cut, Proxy, Weather};
use agentx_tests::remote::{Lost, Seen, Serving, Socket, Web, Who};
use agentx_tests::teller::{Provider, Teller};
use agentx_tests::{Random, Running, World, workspace_root};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The number of stories in the session.
const STORIES: usize = 3;
/// The minimum number of connections to cut.
const CUTS: usize = 120;

/// The filter of one reader; it wants all values of a field that it does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    agents: Vec<String>,
    media: Vec<String>,
}

impl Part {
    fn new(agents: &[&str], media: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            agents: owned(agents),
            media: owned(media),
        }
    }

    /// As the protocol says it, and by nothing else.
    fn wants(&self, frame: &Value) -> bool {
        let agent = frame["agent_state_id"].as_str();
        let of_agent = agent.is_none_or(|agent| self.agents.iter().any(|wanted| wanted == agent));
        let medium = medium_of(frame);
        let of_medium = medium.is_none_or(|medium| self.media.iter().any(|wanted| wanted == medium));
        (self.agents.is_empty() || of_agent) && (self.media.is_empty() || of_medium)
    }
}

/// Returns the medium of an event of the view `runtime`.
fn medium_of(frame: &Value) -> Option<&str> {
    match frame["event"].as_str()? {
        "text_delta" => Some("text"),
        "thinking_delta" => Some("thinking"),
        "chunk" => frame["payload"]["medium"].as_str(),
        "tool_planned" | "tool_call" | "tool_executing" | "tool_output" | "tool_completed"
        | "tool_failed" | "tool_result" => Some("tool"),
        _ => None,
    }
}

fn place_of(frame: &Value) -> (u64, u64) {
    let number = |name: &str| frame[name].as_u64().unwrap_or_default();
    (number("seq"), number("index"))
}

/// A server in the folder of the example, its model, and a bad network before it.
struct Stage {
    world: World,
    server: Serving,
    proxy: Proxy,
    who: Who,
}

impl Stage {
    fn new(seed: u64) -> Self {
        let teller = Teller::start();
        let world = World::new(&teller.url(Provider::Anthropic));
        world.config("approval: auto\n");
        let who = Who::operator(&world, 1);
        let folder = workspace_root().join("examples/story");
        let server = Serving::start(&world, &["--cwd", &folder.to_string_lossy()]);
        let proxy = Proxy::start(server.address(), seed);
        Self {
            world,
            server,
            proxy,
            who,
        }
    }

    /// Has a story told, in a session that is there or a new one.
    fn tell(&self, session: Option<&str>, prompt: &str) -> Running {
        let url = self.server.url();
        let mut args = vec![
            "--connect",
            url.as_str(),
            "run",
            "--yes",
            "--output-format",
            "stream-json",
        ];
        match session {
            Some(session) => args.extend(["--session", session]),
            None => args.extend(["--agent", "story"]),
        }
        args.push(prompt);
        self.world.start(&args)
    }
}

/// A reader that comes back after its last event whenever it is cut.
fn socket(stage: &Stage, session: &str, part: &Part) -> Arc<Seen> {
    let seen = Arc::new(Seen::new(format!("socket of {part:?}")));
    let (address, who) = (stage.proxy.address(), stage.who.clone());
    let (session, part, taken) = (session.to_owned(), part.clone(), seen.clone());
    tokio::spawn(async move {
        let mut last = (0, 0);
        loop {
            // Whatever it was that went wrong, it is tried again: that is all that such a reader knows.
            let _ = one_socket(address, &who, &session, &part, &taken, &mut last).await;
        }
    });
    seen
}

async fn one_socket(
    address: SocketAddr,
    who: &Who,
    session: &str,
    part: &Part,
    seen: &Seen,
    last: &mut (u64, u64),
) -> Result<(), Lost> {
    let mut socket = Socket::try_enter(address, who, "part").await?;
    // The last event may have been one of several of its `seq`.
    let after = last.0.saturating_sub(1);
    let wish = json!({"session_id": session, "after_seq": after, "agents": part.agents, "media": part.media});
    if let Err(problem) = socket.try_ask("subscribe", wish).await? {
        seen.fault(problem.to_string());
        return Err(problem.to_string());
    }
    loop {
        let frame = socket.try_next().await?;
        if frame["seq"].is_u64() && place_of(&frame) > *last {
            *last = place_of(&frame);
            seen.take(last.0, frame.to_string());
        }
    }
}

/// The same over an event stream.
async fn event_stream(stage: &Stage, session: &str, part: &Part) -> Arc<Seen> {
    let seen = Arc::new(Seen::new(format!("event stream of {part:?}")));
    let web = Web::new(&stage.server.url(), &stage.who, "part")
        .signed_in()
        .await;
    let token = web.token().await;
    let web = Web::new(&stage.proxy.url(), &stage.who, "part");
    web.set_token(Some(token)).await;
    let list = |name: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("&{name}={}", names.join(",")),
    };
    let view = format!(
        "runtime{}{}",
        list("agents", &part.agents),
        list("media", &part.media)
    );
    let (session, taken) = (session.to_owned(), seen.clone());
    tokio::spawn(async move {
        let mut last = None;
        loop {
            let _ = one_stream(&web, &session, &view, &taken, &mut last).await;
        }
    });
    seen
}

async fn one_stream(
    web: &Web,
    session: &str,
    view: &str,
    seen: &Seen,
    last: &mut Option<String>,
) -> Result<(), Lost> {
    let mut stream = web.follow(session, view, last.as_deref()).await?;
    loop {
        let sent = stream.next(agentx_tests::BOUND).await?;
        let Some(id) = sent.id else { continue };
        if sent.event != "ping" {
            let frame: Value = serde_json::from_str(&sent.data).map_err(|error| error.to_string())?;
            seen.take(place_of(&frame).0, frame.to_string());
        }
        *last = Some(id);
    }
}

/// Everything that happens, as somebody hears it who is not cut; and the agents by their names.
async fn watch(stage: &Stage, session: &str) -> watch::Receiver<(Vec<Value>, BTreeMap<String, String>)> {
    let mut socket = Socket::enter(stage.server.address(), &stage.who, "watcher").await;
    socket.subscribe(session, 0, "runtime").await;
    let (sender, heard) = watch::channel((Vec::new(), BTreeMap::new()));
    tokio::spawn(async move {
        while let Ok(frame) = socket.try_next().await {
            if !frame["seq"].is_u64() {
                continue;
            }
            sender.send_modify(|(frames, agents)| {
                if frame["event"] == "agent_started" {
                    let name = frame["payload"]["name"].as_str().unwrap().to_owned();
                    let id = frame["agent_state_id"].as_str().unwrap().to_owned();
                    agents.entry(name).or_insert(id);
                }
                frames.push(frame);
            });
        }
    });
    heard
}

/// The filters of readers: agents that speak one after the other, media of their own, and both.
fn parts(agents: &BTreeMap<String, String>) -> Vec<Part> {
    let id = |name: &str| agents[name].as_str();
    vec![
        Part::new(&[id("Ada")], &["text"]),
        Part::new(&[id("director"), id("Ben")], &[]),
        Part::new(&[], &["story"]),
        Part::new(&[id("story")], &["story", "tool"]),
        Part::new(&[id("writer")], &["audio"]),
    ]
}

/// Assembles the text of an agent from the events of a reader.
fn text(lines: &[String], agent: &str, tag: &str) -> String {
    let frames = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    frames
        .filter(|frame: &Value| frame["agent_state_id"] == agent && frame["event"] == tag)
        .map(|frame| frame["payload"]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn each_reader_has_what_it_named_and_nothing_else_whatever_is_cut() {
    let seed = Random::seed("STREAMS_SEED");
    let stage = Stage::new(seed);
    stage.proxy.weather(Weather {
        cut_after: Some(1_500..9_000),
        cuts: vec![Cut::Reset, Cut::Reset, Cut::Finish],
        ..Weather::default()
    });
    let told = stage.tell(None, "A story of fog");
    let session = told.frame(|frame| frame["session_id"].is_string())["session_id"].clone();
    let session = session.as_str().unwrap();
    let mut heard = watch(&stage, session).await;
    let named = heard.wait_for(|(_, agents)| agents.contains_key("director"));
    let agents = tokio::time::timeout(agentx_tests::BOUND, named)
        .await
        .unwrap()
        .unwrap()
        .1
        .clone();
    let mut readers = Vec::new();
    for part in parts(&agents) {
        readers.push((part.clone(), socket(&stage, session, &part)));
        readers.push((part.clone(), event_stream(&stage, session, &part).await));
    }
    tokio::task::spawn_blocking(move || told.end().exits(0))
        .await
        .unwrap();
    for number in 1..STORIES {
        let told = stage.tell(Some(session), &format!("A story of rock {number}"));
        tokio::task::spawn_blocking(move || told.end().exits(0))
            .await
            .unwrap();
    }
    stage.proxy.until(|tally| tally.cuts() >= CUTS).await;
    stage.proxy.calm();
    let ends = |frames: &[Value]| frames.iter().filter(|frame| is_end(frame, &agents)).count();
    let all = heard.wait_for(|(frames, _)| ends(frames) == STORIES);
    let frames = tokio::time::timeout(agentx_tests::BOUND, all)
        .await
        .unwrap()
        .unwrap()
        .0
        .clone();
    let last = place_of(frames.iter().rfind(|frame| is_end(frame, &agents)).unwrap());
    for (part, seen) in &readers {
        let wanted = frames
            .iter()
            .filter(|frame| place_of(frame) <= last && part.wants(frame));
        let wanted: Vec<String> = wanted.map(Value::to_string).collect();
        seen.comes_to(wanted.len()).await;
        seen.is_shown_first(&wanted);
    }
    check_texts(&frames, &readers, &agents);
    eprintln!(
        "{} cuts, {} readers, {} events",
        stage.proxy.tally().cuts(),
        readers.len(),
        frames.len()
    );
}

/// The end of a whole story.
fn is_end(frame: &Value, agents: &BTreeMap<String, String>) -> bool {
    frame["event"] == "run_finished" && frame["agent_state_id"] == agents["story"].as_str()
}

/// The words of one agent are what its messages say, and what the script emitted has every line of it.
fn check_texts(frames: &[Value], readers: &[(Part, Arc<Seen>)], agents: &BTreeMap<String, String>) {
    let ada = agents["Ada"].as_str();
    let messages = frames
        .iter()
        .filter(|frame| frame["event"] == "assistant_message" && frame["agent_state_id"] == ada);
    let whole: BTreeSet<String> = messages
        .map(|frame| frame["payload"]["message"]["content"][0]["text"].to_string())
        .collect();
    assert!(whole.len() > 1, "Ada speaks more than once");
    for (part, seen) in readers {
        let lines = seen.lines();
        if part.media == ["text"] {
            let said = text(&lines, ada, "text_delta");
            let joined: usize = whole
                .iter()
                .map(|text| serde_json::from_str::<String>(text).unwrap().len())
                .sum();
            assert_eq!(said.len(), joined, "{part:?}");
        }
        if part.media == ["story"] {
            let story = text(&lines, &agents["story"], "chunk");
            assert_eq!(story.matches("# 3. 明け方").count(), STORIES, "{story}");
        }
        if part.media == ["audio"] {
            let spoken = lines
                .iter()
                .filter(|line| medium_of(&serde_json::from_str(line).unwrap()).is_some());
            assert_eq!(spoken.count(), 0, "nobody speaks");
        }
    }
}
