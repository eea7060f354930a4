//! The real program and a model behind a real socket tell a story, and the program is killed (-9) at random
//! points of it: after random bytes of random answers, after random events, after random times. Each time it
//! is started again and continues. The story is the one of a program that nobody disturbed, and the model is
//! asked again for nothing but what it was saying when the program died.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use agentx::runtime::{Fact, SessionLog as _, SessionQuery};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::{EnvironmentEvent, SessionId, StopReason};
use agentx_tests::teller::{Provider, Request, Teller};
use agentx_tests::{BOUND, Random, World, workspace_root};
use serde_json::Value;

/// The total number of programs to kill.
const KILLS: usize = 200;
/// About how many die in one story.
const KILLS_A_STORY: usize = 8;
/// The subject of the story.
const PROMPT: &str = "Tell me a story about 一座灯塔";
/// The story is cut into so many parts, and in each of them somebody has to die.
const PARTS: usize = 10;

/// The moment at which a program is killed.
#[derive(Clone, Debug)]
enum Death {
    /// The model has said so many more bytes, and then nothing for so long.
    Bytes(usize, Duration),
    /// It has printed so many events.
    Events(usize),
    /// It has lived so long.
    Time(Duration),
}

/// The world around a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Stopped,
    Printed,
    Ended,
}

/// A story that nobody disturbed.
struct Whole {
    requests: Vec<String>,
    bytes: usize,
    facts: usize,
    text: String,
    answer: String,
}

struct Stage {
    teller: Teller,
    provider: Provider,
    world: World,
    lives: usize,
}

/// A program while it lives.
struct Life {
    child: Child,
    signs: Receiver<Sign>,
    printed: std::thread::JoinHandle<Vec<String>>,
}

impl Life {
    /// Waits for its death and kills it then, unless it has ended by itself.
    fn dies(&mut self, death: &Death) -> bool {
        let mut printed = 0;
        let bound = match death {
            Death::Time(time) => *time,
            Death::Bytes(..) | Death::Events(_) => BOUND,
        };
        let until = std::time::Instant::now() + bound;
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            match (self.signs.recv_timeout(left), death) {
                (Ok(Sign::Printed), Death::Events(wanted)) if printed >= *wanted => break,
                (Ok(Sign::Printed), _) => printed += 1,
                (Ok(Sign::Stopped), Death::Bytes(_, pause)) => {
                    std::thread::park_timeout(*pause);
                    break;
                }
                (Ok(Sign::Stopped), _) => {}
                (Err(RecvTimeoutError::Timeout), Death::Time(_)) => break,
                (Ok(Sign::Ended) | Err(RecvTimeoutError::Disconnected), _) => return false,
                (Err(RecvTimeoutError::Timeout), _) => panic!("nothing happens: {death:?}"),
            }
        }
        self.child.kill().unwrap();
        true
    }

    /// Its exit status and its output.
    fn ended(mut self) -> (Option<i32>, Vec<String>) {
        let status = self.child.wait().unwrap();
        (status.code(), self.printed.join().unwrap())
    }
}

impl Stage {
    fn new(teller: &Teller, provider: Provider) -> Self {
        Self {
            teller: teller.clone(),
            provider,
            world: World::new("http://127.0.0.1:9"),
            lives: 0,
        }
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.world.command(args);
        let key = format!("sk-{}", self.lives);
        self.teller.serves(self.provider, &key, &mut command);
        command.current_dir(workspace_root().join("examples/story"));
        command
    }

    /// Starts a program that begins the story or continues with it; it gets a key of its own.
    fn lives(&mut self, session: Option<&str>, is_told: bool, signs: (Sender<Sign>, Receiver<Sign>)) -> Life {
        self.lives += 1;
        let mut args = vec![
            "run",
            "--yes",
            "--output-format",
            "stream-json",
            "--view",
            "environment",
        ];
        match session {
            Some(session) => args.extend(["--session", session]),
            None => args.extend(["--agent", "story"]),
        }
        if !is_told {
            args.push(PROMPT);
        }
        let mut child = self
            .command(&args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, signs) = signs;
        let out = BufReader::new(child.stdout.take().unwrap());
        let printed = std::thread::spawn(move || {
            let mut lines = Vec::new();
            for line in out.lines().map_while(Result::ok) {
                lines.push(line);
                // Nobody listens to a program that is dead.
                let _ = sender.send(Sign::Printed);
            }
            let _ = sender.send(Sign::Ended);
            lines
        });
        Life {
            child,
            signs,
            printed,
        }
    }

    /// The only session, and its facts.
    async fn log(&self) -> Option<(SessionId, Vec<Fact>)> {
        let log = SqliteLog::open(
            self.world.data().join(agentx::node::DATABASE),
            LogOptions::default(),
        )
        .unwrap();
        let query = SessionQuery {
            owner: "own_local".into(),
            workspace: None,
            limit: 2,
            before: None,
        };
        let sessions = log.list(query).await.unwrap();
        let session = sessions.into_iter().find(|info| info.last_seq > 0)?.session_id;
        let facts = log.read(&session, 0, usize::MAX).await.unwrap();
        Some((session, facts))
    }

    /// Returns the text of the story that the script emitted.
    fn told(&self, session: &str) -> String {
        let ran = self.world.run(&["sessions", "show", session, "--json"]).exits(0);
        let lines = ran.out.lines().map(|line| serde_json::from_str(line).unwrap());
        lines
            .filter(|event: &Value| event["event"] == "chunk" && event["payload"]["medium"] == "story")
            .map(|event| event["payload"]["text"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Returns the number of complete answers on record.
fn answered(facts: &[Fact]) -> usize {
    let whole = |fact: &&Fact| {
        matches!(&fact.event, EnvironmentEvent::StreamEnd(end)
            if !matches!(end.stop_reason, StopReason::Broken | StopReason::Interrupted))
    };
    facts.iter().filter(whole).count()
}

fn is_told(facts: &[Fact]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact.event, EnvironmentEvent::UserMessage(_)))
}

fn answer_of(printed: &[String]) -> String {
    let result: Value = serde_json::from_str(printed.last().unwrap()).unwrap();
    assert_eq!(result["type"], "result", "{result}");
    result["text"].as_str().unwrap_or_default().to_owned()
}

async fn undisturbed(teller: &Teller, provider: Provider) -> Whole {
    let mut stage = Stage::new(teller, provider);
    let (code, printed) = stage.lives(None, false, channel()).ended();
    assert_eq!(code, Some(0), "{printed:?}");
    let (session, facts) = stage.log().await.unwrap();
    let (requests, bytes) = teller.take();
    let requests: Vec<String> = requests.iter().map(Request::what).collect();
    assert_eq!(answered(&facts), requests.len(), "each answer is on record");
    let distinct: std::collections::BTreeSet<&String> = requests.iter().collect();
    assert_eq!(distinct.len(), requests.len(), "no two requests are the same");
    Whole {
        bytes,
        facts: facts.len(),
        text: stage.told(session.as_str()),
        answer: answer_of(&printed),
        requests,
    }
}

/// Somewhere in the next part of the story.
fn next_death(random: &mut Random, whole: &Whole) -> Death {
    let within = |random: &mut Random, all: usize| {
        let bound = 2 * all / KILLS_A_STORY;
        usize::try_from(random.below(bound as u64)).unwrap()
    };
    match random.below(5) {
        0 | 1 => {
            let pause = Duration::from_micros(random.below(6_000));
            Death::Bytes(within(random, whole.bytes) + 1, pause)
        }
        2 | 3 => Death::Events(within(random, whole.facts)),
        _ => Death::Time(Duration::from_micros(random.below(250_000))),
    }
}

/// The task of one program: the number of answers that were recorded before it, and its name.
struct Began {
    key: String,
    answered: usize,
}

/// Tells one story with deaths in it; returns how many answers there were at each death.
async fn one_story(teller: &Teller, provider: Provider, whole: &Whole, random: &mut Random) -> Vec<usize> {
    let mut stage = Stage::new(teller, provider);
    let (mut lives, mut deaths) = (Vec::new(), Vec::new());
    loop {
        let before = stage.log().await;
        let session = before.as_ref().map(|(session, _)| session.to_string());
        let facts = before.map(|(_, facts)| facts).unwrap_or_default();
        if !lives.is_empty() {
            deaths.push(answered(&facts));
        }
        let death = next_death(random, whole);
        let what = format!("life {}: {death:?}", stage.lives + 1);
        let (sender, signs) = channel();
        if let Death::Bytes(bytes, _) = death {
            let (told, stopped) = channel();
            teller.stop_after(bytes, told);
            let sender = sender.clone();
            std::thread::spawn(move || stopped.recv().map(|()| sender.send(Sign::Stopped)));
        }
        let mut life = stage.lives(session.as_deref(), is_told(&facts), (sender, signs));
        lives.push(Began {
            key: format!("sk-{}", stage.lives),
            answered: answered(&facts),
        });
        let died = life.dies(&death);
        teller.go_on();
        let (code, printed) = life.ended();
        if died {
            continue;
        }
        assert_eq!(code, Some(0), "{what}: {printed:?}");
        assert_eq!(answer_of(&printed), whole.answer, "{what}");
        break;
    }
    check(&stage, whole, &lives).await;
    deaths
}

/// The story is the same, and nobody was asked for what was on record.
async fn check(stage: &Stage, whole: &Whole, lives: &[Began]) {
    let (session, facts) = stage.log().await.unwrap();
    assert_eq!(stage.told(session.as_str()), whole.text);
    assert_eq!(answered(&facts), whole.requests.len());
    let (requests, _) = stage.teller.take();
    let asked_by = |key: &str| -> Vec<String> {
        let of_it = requests.iter().filter(|request: &&Request| request.key == key);
        of_it.map(Request::what).collect()
    };
    let mut asked = 0;
    for life in lives {
        let (key, from) = (&life.key, life.answered);
        assert!(
            from + 1 >= asked && from <= asked,
            "{key}: {asked} were asked, {from} are on record"
        );
        let bodies = asked_by(key);
        for (at, body) in bodies.iter().enumerate() {
            assert_eq!(Some(body), whole.requests.get(from + at), "{key}: request {at}");
        }
        asked = from + bodies.len();
    }
    stage.world.check(session.as_str());
}

#[tokio::test]
async fn a_story_is_told_to_its_end_whatever_dies_and_nothing_is_asked_twice() {
    let seed = Random::seed("KILLS_SEED");
    let mut random = Random::new(seed);
    let teller = Teller::start();
    let mut wholes = Vec::new();
    for provider in Provider::ALL {
        wholes.push((provider, undisturbed(&teller, provider).await));
    }
    assert_eq!(wholes[0].1.text, wholes[1].1.text, "both protocols tell the same");
    let (mut kills, mut stories) = (0, 0);
    let mut parts = [0; PARTS];
    while kills < KILLS {
        let (provider, whole) = &wholes[stories % wholes.len()];
        let deaths = one_story(&teller, *provider, whole, &mut random).await;
        for answers in &deaths {
            parts[answers * PARTS / (whole.requests.len() + 1)] += 1;
        }
        kills += deaths.len();
        stories += 1;
    }
    eprintln!("{kills} kills in {stories} stories; in each tenth of them {parts:?}");
    assert!(parts.iter().all(|kills| *kills > 0), "{parts:?}");
}
