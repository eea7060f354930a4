//! The setup of the access tests: a server, a session with secrets in it, and every kind of person.

use agentx_tests::World;
use agentx_tests::remote::{Answered, Serving, Socket, Web, Who, Worker};
use serde_json::{Value, json};

/// An agent that a file of the server describes.
pub(crate) const AGENT: &str = "guide";
/// The title of the session.
pub(crate) const TITLE: &str = "titleOfNobodyElse";
/// The message in the session.
pub(crate) const WORDS: &str = "wordsOfNobodyElse";
/// A session that there is not, of the same form as one that there is.
pub(crate) const NO_SESSION: &str = "ses_zzzzzzzzzzzz";
/// A web page that may not speak to the server.
pub(crate) const EVIL: &str = "https://evil.example";

/// Somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Actor {
    /// The owner of the session: a member.
    Owner,
    /// A member who may drive it.
    Driver,
    /// A member who may see it.
    Watcher,
    /// A member who has nothing to do with it.
    Other,
    /// The operator of the server, who does not own the session and decides about its calls.
    Operator,
    /// Somebody who does not say who they are.
    Nobody,
    /// Somebody whose token ended with an earlier server.
    Stale,
    /// The owner, from a page of somewhere else.
    Elsewhere,
}

impl Actor {
    /// Those who have no role in the session.
    pub(crate) const STRANGERS: [Self; 4] = [Self::Other, Self::Nobody, Self::Stale, Self::Elsewhere];

    /// Whether the session exists, for them.
    pub(crate) fn sees(self) -> bool {
        matches!(self, Self::Owner | Self::Driver | Self::Watcher | Self::Operator)
    }

    /// The header that tells the server where a page is from.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Elsewhere => &[("origin", EVIL)],
            _ => &[],
        }
    }
}

/// A server, a session with secrets in it, and everybody.
pub(crate) struct Stage {
    _worker: Worker,
    world: World,
    pub(crate) server: Serving,
    pub(crate) session: String,
    /// Owner, driver, watcher, another one, and the operator.
    people: [Who; 5],
    stale: String,
}

impl Stage {
    pub(crate) async fn new(visitors: bool) -> Self {
        let worker = Worker::start();
        let world = World::new(&worker.url());
        world.config("approval: ask\n");
        let files = world.workspace().join(".agentx/agents");
        std::fs::create_dir_all(&files).unwrap();
        let guide =
            format!("type: react\nname: {AGENT}\nprompt: You guide.\nlimits: {{ max_iterations: 3 }}\n");
        std::fs::write(files.join(format!("{AGENT}.yaml")), guide).unwrap();
        let people = [
            Who::member(&world, 2),
            Who::member(&world, 3),
            Who::member(&world, 4),
            Who::member(&world, 5),
            Who::operator(&world, 1),
        ];
        let args: &[&str] = if visitors { &["--allow-visitors"] } else { &[] };
        let server = Serving::start(&world, args);
        let address = server.address();
        let before = Web::new(&server.url(), &people[0], "owner").signed_in().await;
        let stale = before.token().await;
        server.kill();
        let server = Serving::at(&world, address, args);
        let mut stage = Self {
            _worker: worker,
            world,
            server,
            session: String::new(),
            people,
            stale,
        };
        stage.fill().await;
        stage
    }

    /// A session with a title, words, a call that waits for a decision, and people.
    async fn fill(&mut self) {
        let owner = self.web(Actor::Owner).await;
        self.session = owner.new_session().await;
        let at = |what: &str| format!("/v1/sessions/{}{what}", self.session);
        let patched = owner.ask("PATCH", &at(""), Some(&json!({"title": TITLE}))).await;
        patched.done();
        for (actor, role) in [(Actor::Driver, "drive"), (Actor::Watcher, "watch")] {
            let wish = json!({"person": self.who(actor).owner(), "role": role});
            owner.post(&at("/roles"), &wish).await;
        }
        self.asks_for_a_decision().await;
    }

    /// The model wants a command run, and waits for a decision. Returns the call.
    pub(crate) async fn asks_for_a_decision(&self) -> String {
        let mut socket = self.socket(Actor::Owner).await.unwrap();
        socket.subscribe(&self.session, 0, "runtime").await;
        socket.event("caught_up").await;
        let message = json!({"session_id": self.session, "content": format!("work {WORDS} turns=2")});
        socket.ask("user_message", message).await;
        let asked = socket.event("approval_requested").await;
        self.lets_go_of_the_wheel(Actor::Owner).await;
        asked["payload"]["tool_call_id"].as_str().unwrap().to_owned()
    }

    /// The driver releases the wheel, so that the next one can drive.
    pub(crate) async fn lets_go_of_the_wheel(&self, actor: Actor) {
        let mut socket = self.socket(actor).await.unwrap();
        let wish = json!({"session_id": self.session, "wish": "release"});
        let _ = socket.try_ask("wheel", wish).await.unwrap();
    }

    pub(crate) fn who(&self, actor: Actor) -> Who {
        match actor {
            Actor::Owner | Actor::Stale | Actor::Elsewhere => self.people[0].clone(),
            Actor::Driver => self.people[1].clone(),
            Actor::Watcher => self.people[2].clone(),
            Actor::Other => self.people[3].clone(),
            Actor::Operator => self.people[4].clone(),
            Actor::Nobody => Who::visitor(),
        }
    }

    /// The name of their program: over HTTP and on a socket they are the same seat.
    fn client(actor: Actor) -> String {
        format!("{actor:?}").to_lowercase()
    }

    pub(crate) async fn web(&self, actor: Actor) -> Web {
        let web = Web::new(&self.server.url(), &self.who(actor), &Self::client(actor));
        if actor == Actor::Stale {
            web.set_token(Some(self.stale.clone())).await;
            return web;
        }
        web.signed_in().await
    }

    pub(crate) async fn socket(&self, actor: Actor) -> Result<Socket, String> {
        Socket::try_enter(self.server.address(), &self.who(actor), &Self::client(actor)).await
    }

    /// The operator withdraws the trust in a person, as `agentx identity untrust` does.
    pub(crate) fn untrust(&self, actor: Actor) {
        let key = self.who(actor).key().unwrap();
        let keyring = agentx_identity::Keyring::at(self.world.data());
        let before = keyring.untrust(key.public_key()).unwrap();
        assert!(before.is_some(), "{actor:?} was not trusted");
    }

    pub(crate) fn stale_token(&self) -> &str {
        &self.stale
    }

    /// Nothing of the session is in what somebody got who may not know of it.
    #[track_caller]
    pub(crate) fn hides(&self, what: &str, text: &str) {
        for secret in [TITLE, WORDS] {
            assert!(!text.contains(secret), "{what} tells of {secret}: {text}");
        }
    }

    /// The same answer as for a session that does not exist.
    #[track_caller]
    pub(crate) fn is_as_of_none(&self, what: &str, answered: &Answered, none: &Answered) {
        let without_id = |answered: &Answered, id: &str| answered.text().replace(id, "SESSION");
        assert_eq!(answered.status, none.status, "{what}");
        assert_eq!(
            without_id(answered, &self.session),
            without_id(none, NO_SESSION),
            "{what}"
        );
        let headers = |answered: &Answered| {
            let mut names: Vec<String> = answered.headers.keys().map(ToString::to_string).collect();
            names.sort();
            names
        };
        assert_eq!(headers(answered), headers(none), "{what}");
    }
}

/// The same payload for another session.
pub(crate) fn of_session(value: &Value, session: &str) -> Value {
    let text = value.to_string().replace("{session}", session);
    serde_json::from_str(&text).unwrap()
}
