//! `agentx mirror`: a session of a server as it happens, to look at; and to keep, where that is wanted.

use agentx::config::Settings;
use agentx::remote::{Endpoint, Keeping};
use agentx::runtime::{Delivery, Runtime as _, View};
use agentx::types::{Envelope, RuntimeEvent, SessionId};

use crate::args::{AgentArgs, From, Global, MirrorArgs, OutputFormat};
use crate::cmd::block_on;
use crate::compose::{Place, begin_keeping};
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::Follower;
use crate::link::Link;
use crate::logging;
use crate::render::cast::Cast;
use crate::render::transcript::Transcript;
use crate::render::{approval, conversation};
use crate::signals::Signals;
use crate::start;

/// Follows the session until the person has seen enough.
pub(crate) fn run(global: &Global, args: &MirrorArgs, console: &mut Console) -> Result<Exit, CliError> {
    if global.connect.is_some() {
        return Err(CliError::usage(
            "`agentx mirror` is told the server by its first word",
            "leave --connect out: agentx mirror URL SESSION",
        ));
    }
    Endpoint::parse(&args.url)
        .map_err(|error| CliError::usage(error.to_string(), "agentx mirror URL SESSION"))?;
    let loaded = start::settings_aloud(global, &AgentArgs::default(), console)?;
    logging::start(&loaded.settings, false)?;
    block_on(mirror(&loaded.settings, args, console))
}

async fn mirror(settings: &Settings, args: &MirrorArgs, console: &mut Console) -> Result<Exit, CliError> {
    let signals = Signals::listen()?;
    let place = Place::server(settings, &args.url, None).await?;
    let id = place.runtime().resolve(&args.session).await?;
    let mut keeping = match args.keep {
        true => Some(begin_keeping(&place, settings, &id).await?),
        false => None,
    };
    let after = match (args.from, place.remote()) {
        (From::After(seq), _) => seq,
        (From::Live, Some(remote)) => remote.info(&id).await?.last_seq,
        (From::Live, None) => 0,
    };
    let events = Follower::watching(place.shared(), id.clone(), after, View::Runtime).await?;
    let mut view = MirrorView::new(args, console);
    let end = view.follow(events, &place, &mut keeping, signals, console).await;
    if let Some(keeping) = keeping {
        say_kept(keeping, settings, &id, console).await?;
    }
    end
}

/// What is under way is committed before it ends, and the server is asked for the last of its bytes.
async fn say_kept(
    keeping: Keeping,
    settings: &Settings,
    id: &SessionId,
    console: &mut Console,
) -> Result<(), CliError> {
    let kept = keeping.stop().await?;
    console.say(&format!(
        "kept up to event {} in {}; look with: agentx sessions show {id}\n",
        kept.seq,
        settings.data_dir.display()
    ));
    if kept.rows < kept.seq {
        console.say(&format!(
            "warning: the server's own bytes are here up to event {}; what follows is packed anew, and so the copy has \
             another head. Keep it once more to have the rest\n",
            kept.rows
        ));
    }
    if kept.missing_blobs > 0 {
        console.say(&format!(
            "warning: {} files that it names are not on the server any more\n",
            kept.missing_blobs
        ));
    }
    Ok(())
}

/// What a mirror shows.
struct MirrorView {
    json: bool,
    transcript: Transcript,
    cast: Cast,
}

impl MirrorView {
    fn new(args: &MirrorArgs, console: &Console) -> Self {
        Self {
            json: args.output_format == OutputFormat::StreamJson,
            transcript: Transcript::new(console.out_style(), console.terminal.width).with_costs(),
            cast: Cast::new(console.out_style(), console.terminal.width),
        }
    }

    async fn follow(
        &mut self,
        mut events: Follower,
        place: &Place,
        keeping: &mut Option<Keeping>,
        mut signals: Signals,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let mut link = Link::of(place);
        loop {
            tokio::select! {
                delivery = events.next() => {
                    let Some(delivery) = delivery? else {
                        self.end(console)?;
                        return Ok(Exit::Ok);
                    };
                    self.delivery(&delivery, console)?;
                    while let Some(delivery) = events.ready() {
                        self.delivery(&delivery, console)?;
                    }
                    self.print(console)?;
                }
                news = link.news() => {
                    let style = console.err_style();
                    self.say(&style.warn(&format!("· {news}")), console)?;
                }
                broken = broken(keeping) => return Err(broken),
                exit = signals.next() => {
                    self.end(console)?;
                    // To be told that it is enough is how a mirror ends.
                    return Ok(if exit == Exit::Interrupted { Exit::Ok } else { exit });
                }
            }
        }
    }

    fn delivery(&mut self, delivery: &Delivery, console: &mut Console) -> Result<(), CliError> {
        match delivery {
            Delivery::Runtime(envelope) if self.json => console.out_json(&**envelope)?,
            Delivery::Runtime(envelope) => self.tell(envelope, console),
            Delivery::CaughtUp(seq) => {
                self.print(console)?;
                let note = format!("· up to event {seq}; what comes follows, Ctrl-C ends it");
                self.say(&console.err_style().dim(&note), console)?;
            }
            Delivery::Environment(_) | Delivery::CutOff(_) => {}
        }
        Ok(())
    }

    fn tell(&mut self, envelope: &Envelope<RuntimeEvent>, console: &Console) {
        match &envelope.event {
            RuntimeEvent::UserMessageAdded(added) => {
                let said = conversation::said(&conversation::words(&added.message), console.out_style());
                self.transcript.aside(&said);
            }
            RuntimeEvent::ApprovalRequested(request) => {
                let question = approval::question(request, None, console.out_style());
                self.transcript.aside(&question);
            }
            _ => self.cast.event(&mut self.transcript, envelope),
        }
    }

    /// Says something beside what is shown; where both are on one screen, in a line of its own.
    fn say(&mut self, text: &str, console: &mut Console) -> Result<(), CliError> {
        if console.terminal.output && console.terminal.error {
            self.transcript.end_line();
            self.print(console)?;
        }
        console.say(&format!("{text}\n"));
        Ok(())
    }

    fn print(&mut self, console: &mut Console) -> Result<(), CliError> {
        let pieces = self.transcript.take();
        let text: String = pieces.into_iter().map(|piece| piece.text).collect();
        console.out(&text)?;
        console.flush()
    }

    fn end(&mut self, console: &mut Console) -> Result<(), CliError> {
        self.transcript.end_line();
        self.print(console)
    }
}

/// Waits until a copy cannot be kept any longer; for ever, where none is.
async fn broken(keeping: &mut Option<Keeping>) -> CliError {
    let Some(at_work) = keeping else {
        return std::future::pending().await;
    };
    let ended = at_work.ended().await;
    *keeping = None;
    match ended {
        Ok(_) => CliError::Input {
            what: "the copy of the session came to its end".into(),
        },
        Err(error) => error.into(),
    }
}
