//! `agentx mirror`: shows a session of a server live, and with `--keep` also copies it.

use agentx::config::Settings;
use agentx::remote::{MirrorTask, ServerEndpoint};
use agentx::runtime::{Delivery, Runtime as _, View};
use agentx::types::SessionId;

use crate::args::{Global, MirrorArgs, MirrorStart, OutputFormat};
use crate::cmd::block_on;
use crate::compose::{CommandTarget, begin_keeping};
use crate::connection_watch::ConnectionWatch;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::follow::AnyFollower;
use crate::logging;
use crate::render::units;
use crate::server_patience::ServerPatience;
use crate::signals::Signals;
use crate::spectator::{Spectator, SpectatorStage};
use crate::start::{self, SettingsRead};

/// Follows the session until the person stops it.
pub(crate) fn run(global: &Global, args: &MirrorArgs, console: &mut Console) -> Result<Exit, ChatError> {
    if global.connect.is_some() {
        return Err(ChatError::usage(
            "`agentx mirror` takes the server as its first argument",
            "omit --connect: agentx mirror URL SESSION",
        ));
    }
    ServerEndpoint::parse(&args.url)
        .map_err(|error| ChatError::usage(error.to_string(), "agentx mirror URL SESSION"))?;
    let loaded = start::settings_aloud(SettingsRead::Stored, global, console)?;
    logging::start(&loaded.settings, false)?;
    block_on(mirror(&loaded.settings, args, console))
}

async fn mirror(settings: &Settings, args: &MirrorArgs, console: &mut Console) -> Result<Exit, ChatError> {
    let patience = ServerPatience::unattended(false);
    let reaching = CommandTarget::server(settings, &args.url, None, patience);
    let place = patience
        .reach(Some(&args.url), reaching, |text| console.say(text))
        .await?;
    // Until here a signal ends the program immediately.
    let signals = Signals::listen()?;
    place.introduce(console);
    let id = place.runtime().resolve(&args.session).await?;
    let mut keeping = if args.keep {
        Some(begin_keeping(&place, settings, &id).await?)
    } else {
        None
    };
    let after = match (args.from, place.remote()) {
        (MirrorStart::After(seq), _) => seq,
        (MirrorStart::Live, Some(remote)) => remote.info(&id).await?.last_seq,
        (MirrorStart::Live, None) => 0,
    };
    let events = AnyFollower::watching(place.shared(), id.clone(), after, View::Runtime).await?;
    let stage = match args.output_format {
        OutputFormat::StreamJson => SpectatorStage::Events,
        OutputFormat::Text | OutputFormat::Json => SpectatorStage::Lines,
    };
    let source = (place.shared(), id.clone());
    let names = place.names_in(&place.runtime().info(&id).await?);
    let spectator = Spectator::new(stage, source, settings.chat.thinking, names, console);
    let end = follow(events, spectator, &place, &mut keeping, signals, console).await;
    if let Some(keeping) = keeping {
        say_kept(keeping, settings, &id, console).await?;
    }
    end
}

/// Stops keeping the copy and reports it. Facts that are in progress are committed before it ends, and the
/// server is asked for the last of its bytes.
async fn say_kept(
    keeping: MirrorTask,
    settings: &Settings,
    id: &SessionId,
    console: &mut Console,
) -> Result<(), ChatError> {
    let kept = keeping.stop().await?;
    console.say(&format!(
        "kept up to event {} in {}; to read it: agentx sessions show {id}\n",
        kept.seq,
        settings.data_dir.display()
    ));
    if kept.rows < kept.seq {
        console.say(&format!(
            "warning: the copy is exact up to event {}; later events were packed again, so the copy has a \
             different head hash. Run it once more to copy the rest exactly\n",
            kept.rows
        ));
    }
    if kept.missing_blobs > 0 {
        console.say(&format!(
            "warning: no longer on the server: {} that the session refers to\n",
            units::counted(kept.missing_blobs, "file")
        ));
    }
    Ok(())
}

async fn follow(
    mut events: AnyFollower,
    mut spectator: Spectator,
    place: &CommandTarget,
    keeping: &mut Option<MirrorTask>,
    mut signals: Signals,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let mut link = ConnectionWatch::new(place);
    loop {
        tokio::select! {
            delivery = events.next() => {
                let Some(delivery) = delivery? else {
                    spectator.end(console)?;
                    return Ok(Exit::Ok);
                };
                take(&mut spectator, &delivery, console).await?;
                while let Some(delivery) = events.ready() {
                    take(&mut spectator, &delivery, console).await?;
                }
                spectator.print(console)?;
            }
            news = link.news() => {
                let style = console.err_style();
                spectator.say(&style.warn(&format!("· {news}")), console)?;
            }
            broken = broken(keeping) => return Err(broken),
            exit = signals.next() => {
                spectator.end(console)?;
                // Ctrl-C is the normal end of a mirror.
                return Ok(if exit == Exit::Interrupted { Exit::Ok } else { exit });
            }
        }
    }
}

async fn take(
    spectator: &mut Spectator,
    delivery: &Delivery,
    console: &mut Console,
) -> Result<(), ChatError> {
    if let Delivery::CaughtUp(seq) = delivery {
        spectator.mark_caught_up();
        spectator.print(console)?;
        let note = format!("· up to event {seq}; following new events, Ctrl-C ends");
        return spectator.say(&console.err_style().dim(&note), console);
    }
    spectator.delivery(delivery, console).await
}

/// Waits until a copy cannot be kept any longer; forever if none is kept.
async fn broken(keeping: &mut Option<MirrorTask>) -> ChatError {
    let Some(at_work) = keeping else {
        return std::future::pending().await;
    };
    let ended = at_work.ended().await;
    *keeping = None;
    match ended {
        Ok(_) => ChatError::Input {
            what: "the copy of the session has ended".into(),
        },
        Err(error) => error.into(),
    }
}
