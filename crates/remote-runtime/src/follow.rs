//! Following a session of a server: facts as they come, and what they mean, derived here by the same fold as everywhere. A
//! reader that is slow is left behind and comes back by itself; nobody else notices.

use std::sync::Arc;

use agentx_runtime::{Delivery, Derived, Fact, RuntimeError, SessionFold, SessionInfo, Subscription, View};
use agentx_types::SessionId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::core::Core;
use crate::environment::{Facts, Held};
use crate::http::Ask;
use crate::machine::DIVERGED;

/// How many deliveries may wait for the reader.
const READER_CAPACITY: usize = 1024;
/// How many deliveries are made at once.
const AT_ONCE: usize = 256;
/// From so many facts before the end on, later readers need nothing from the server.
const LOOK_BACK: u64 = 4096;

/// What a reader wants.
pub(crate) struct Wanted {
    pub(crate) session: SessionId,
    pub(crate) after_seq: u64,
    pub(crate) view: View,
    /// Whether it goes on after all that is there now.
    pub(crate) on: bool,
    /// Ends it.
    pub(crate) end: CancellationToken,
}

/// Follows a session. When this returns, it is sure that the session is there and may be seen.
pub(crate) async fn follow(core: &Arc<Core>, wanted: Wanted) -> Result<Subscription, RuntimeError> {
    let with_fold = wanted.view == View::Runtime;
    let mut held = core.connection.hold(&wanted.session);
    if let Some(failure) = held.feed.ended() {
        return Err(core.connection.error(failure));
    }
    // Before anything is asked for: what comes from here on is heard.
    let mut facts = held.feed.listen();
    let mut fold = with_fold.then(|| SessionFold::new(wanted.session.clone()));
    let (mut first, mut in_step) = (Vec::new(), false);
    let head = match held.feed.snapshot(wanted.after_seq, with_fold) {
        Some(snapshot) => {
            (first, in_step) = (snapshot.facts, true);
            fold = snapshot.fold.or(fold);
            head(core, &wanted.session).await?
        }
        None => {
            let from = if with_fold { 0 } else { wanted.after_seq };
            match core.connection.follow(&held, from).await {
                Ok(began) => began.head_seq,
                Err(error) => {
                    // Who wants only what comes after the end waits for it from the end on.
                    let head = end_before(core, &wanted, error).await?;
                    held = core.connection.hold(&wanted.session);
                    facts = held.feed.listen();
                    core.connection.follow(&held, head).await?.head_seq
                }
            }
        }
    };
    let (out, deliveries) = mpsc::channel(READER_CAPACITY);
    let follower = Follower {
        core: core.clone(),
        held,
        facts,
        head: Some(head),
        keeps: with_fold.then(|| head.saturating_sub(LOOK_BACK)),
        sent: wanted.after_seq,
        fold,
        ready: Vec::new(),
        in_step,
        wanted,
        out,
    };
    tokio::spawn(follower.run(first));
    Ok(Subscription { deliveries })
}

async fn head(core: &Core, session: &SessionId) -> Result<u64, RuntimeError> {
    let info: SessionInfo = core.http.json(Ask::get(&["sessions", session.as_str()])).await?;
    Ok(info.last_seq)
}

/// The end of a session of which nobody can have had so much as is wanted; else the error that said so.
async fn end_before(core: &Core, wanted: &Wanted, error: RuntimeError) -> Result<u64, RuntimeError> {
    let may_be = match &error {
        RuntimeError::Refused(_) => true,
        RuntimeError::Remote { code, .. } => code == DIVERGED,
        _ => false,
    };
    if !may_be || wanted.view == View::Runtime {
        return Err(error);
    }
    let head = head(core, &wanted.session).await?;
    if wanted.after_seq > head {
        Ok(head)
    } else {
        Err(error)
    }
}

/// Why a follower stops.
enum End {
    /// There is nothing more to say.
    Quiet,
    /// The session cannot be followed on.
    Failed(String),
}

struct Follower {
    core: Arc<Core>,
    held: Held,
    facts: mpsc::Receiver<Facts>,
    wanted: Wanted,
    /// What was there when it began, until that has been delivered.
    head: Option<u64>,
    /// From where on how the session stands is kept for later readers, until that is done.
    keeps: Option<u64>,
    /// Everything up to here was delivered.
    sent: u64,
    /// How the session stands, where what facts mean is wanted.
    fold: Option<SessionFold>,
    /// What is to be delivered next.
    ready: Vec<Delivery>,
    /// Whether what comes follows what it has. It does not where the server was asked for what came before.
    in_step: bool,
    out: mpsc::Sender<Delivery>,
}

impl Follower {
    async fn run(mut self, first: Vec<Fact>) {
        let end = self.wanted.end.clone();
        let work = async {
            match self.work(first).await {
                Err(End::Failed(why)) => drop(self.out.send(Delivery::CutOff(why)).await),
                Err(End::Quiet) | Ok(()) => {}
            }
        };
        tokio::select! {
            () = work => {}
            () = end.cancelled() => {}
        }
    }

    async fn work(&mut self, first: Vec<Fact>) -> Result<(), End> {
        if self.has_caught_up(self.sent) {
            self.deliver().await?;
        }
        self.keep();
        self.take_all(&first).await?;
        loop {
            let received = tokio::select! {
                biased;
                received = self.facts.recv() => received,
                () = self.out.closed() => return Err(End::Quiet),
            };
            match received {
                Some(facts) => self.take_all(&facts).await?,
                None => self.come_back().await?,
            }
        }
    }

    /// It was left behind, or the session has ended. What it missed is here, or comes again.
    async fn come_back(&mut self) -> Result<(), End> {
        let failed = |error: RuntimeError| End::Failed(error.to_string());
        if let Some(failure) = self.held.feed.ended() {
            return Err(failed(self.core.connection.error(failure)));
        }
        self.facts = self.held.feed.listen();
        match self.held.feed.snapshot(self.has(), false) {
            Some(snapshot) => self.take_all(&snapshot.facts).await,
            None => {
                self.in_step = false;
                let began = self.core.connection.follow(&self.held, self.has()).await;
                began.map(drop).map_err(failed)
            }
        }
    }

    /// The last fact that it knows.
    fn has(&self) -> u64 {
        self.fold.as_ref().map_or(self.sent, SessionFold::last_seq)
    }

    async fn take_all(&mut self, facts: &[Fact]) -> Result<(), End> {
        for fact in facts {
            let is_end = self.take(fact)?;
            if is_end || self.ready.len() >= AT_ONCE {
                self.deliver().await?;
            }
        }
        self.keep();
        self.deliver().await
    }

    /// Keeps how the session stands for later readers, once, near its end.
    fn keep(&mut self) {
        if let (Some(from), Some(fold)) = (self.keeps, &self.fold)
            && fold.last_seq() >= from
            && self.held.feed.remember(fold)
        {
            self.keeps = None;
        }
    }

    /// Takes a fact, if it is the next. Whether all is there now that was wanted.
    fn take(&mut self, fact: &Fact) -> Result<bool, End> {
        let has = self.has();
        if fact.seq <= has || (fact.seq != has + 1 && !self.in_step) {
            return Ok(false);
        }
        if fact.seq != has + 1 {
            let missing = format!("the events {} to {} did not come", has + 1, fact.seq - 1);
            return Err(End::Failed(missing));
        }
        self.in_step = true;
        match &mut self.fold {
            None => {
                self.sent = fact.seq;
                self.ready.push(Delivery::Environment(fact.clone()));
            }
            Some(fold) if fact.seq <= self.wanted.after_seq => fold.apply(fact, &mut Derived::state_only()),
            Some(fold) => {
                let mut derived = Derived::default();
                fold.apply(fact, &mut derived);
                self.sent = fact.seq;
                let events = derived.events.into_iter().map(Arc::new);
                self.ready.extend(events.map(Delivery::Runtime));
            }
        }
        Ok(self.has_caught_up(fact.seq))
    }

    /// Says that all is there, where it is now. Whether nothing more is wanted.
    fn has_caught_up(&mut self, seq: u64) -> bool {
        let Some(head) = self.head.take_if(|head| seq >= *head) else {
            return false;
        };
        self.ready.push(Delivery::CaughtUp(head));
        !self.wanted.on
    }

    /// Delivers what is ready; waits for the reader.
    async fn deliver(&mut self) -> Result<(), End> {
        while !self.ready.is_empty() {
            let count = self.ready.len().min(AT_ONCE);
            let places = self.out.reserve_many(count).await.map_err(|_| End::Quiet)?;
            for (place, delivery) in places.zip(self.ready.drain(..count)) {
                place.send(delivery);
            }
        }
        let is_done = self.head.is_none() && !self.wanted.on;
        if is_done { Err(End::Quiet) } else { Ok(()) }
    }
}
