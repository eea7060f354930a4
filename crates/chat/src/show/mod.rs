//! `agentx show`: the messages of a session, those around an event, or the session step by step, with the
//! state and the context after each event.

mod around_event;
mod ended;
mod event_description;
mod panes;
mod queued;
mod stepper;
#[cfg(test)]
mod tests;
mod timeline;
mod view;

use agentx::history::transcript::{ActsOfOthers, AnsweringModels, each_fact};
use agentx::runtime::{Delivery, Runtime, View};
use agentx::types::SessionId;
use agentx::types::Vocabulary as _;
use agentx_terminal::{Painter, Row, Theme};
use tokio::sync::mpsc;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::clean::visible;
use crate::render::conversation;
use crate::render::speakers::PastSpeakers;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;
use crate::terminal::{RawMode, TerminalInput, keys, long_rows};

use stepper::{Stepper, StepperFlow};
use timeline::Timeline;

/// The part of a session to show; without a place and a step, all messages.
pub struct ShowRequest<'a> {
    /// The id of the session.
    pub id: SessionId,
    /// The event around which the messages are shown; `None` for all of them.
    pub at: Option<u64>,
    /// This step, whole; an empty one goes through all of them.
    pub step: Option<&'a str>,
}

/// Shows a session in the way that was asked for.
pub async fn run(
    place: &Place,
    wanted: ShowRequest<'_>,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let id = wanted.id;
    let Some(step) = wanted.step else {
        match wanted.at {
            Some(seq) => around_event::show(place, &id, seq, json, console).await?,
            None if json => events(runtime, &id, console).await?,
            None => whole(place, &id, console).await?,
        }
        return Ok(Exit::Ok);
    };
    let timeline = Timeline::read(runtime, &id).await?;
    let terminal = console.terminal;
    if !step.is_empty() {
        one(timeline, step, json, console)?;
        return Ok(Exit::Ok);
    }
    if json || !(terminal.input && terminal.output && terminal.capable) {
        all(&timeline, json, console)?;
        return Ok(Exit::Ok);
    }
    interactive(Stepper::new(timeline, wanted.at), console).await
}

/// Every derived event, for programs.
async fn events(runtime: &dyn Runtime, id: &SessionId, console: &mut Console) -> Result<(), ChatError> {
    let mut subscription = runtime.watch(id, 0, View::Runtime, false).await?;
    while let Some(delivery) = subscription.next().await {
        match delivery {
            Delivery::Runtime(envelope) => console.out_json(&*envelope)?,
            Delivery::CutOff(message) => {
                return Err(ChatError::Run {
                    exit: Exit::Storage,
                    code: "cut_off".into(),
                    message: format!("cannot read {id}: {message}"),
                });
            }
            Delivery::CaughtUp(_) => break,
            Delivery::Environment(_) => {}
        }
    }
    console.flush()
}

/// Prints the messages, and the acts of people other than the owner.
async fn whole(place: &Place, id: &SessionId, console: &mut Console) -> Result<(), ChatError> {
    let runtime = place.runtime();
    let (style, width) = (console.out_style(), console.terminal.width);
    let columns = console.terminal.output.then_some(width);
    let mut names = place.names_in(&runtime.info(id).await?);
    let (mut voices, mut ended) = (PastSpeakers::default(), ended::UnfinishedAnswer::default());
    let (mut acts, mut written) = (ActsOfOthers::default(), Ok(()));
    let (mut queued, mut models) = (queued::QueuedMessages::default(), AnsweringModels::default());
    each_fact(runtime, id, |fact, events| {
        if written.is_err() {
            return;
        }
        let mut text = String::new();
        queued.fact(fact);
        if let Some((by, what)) = acts.take(&fact.event) {
            names.meet(by);
            text.push_str(&(conversation::act(&names.name(by), &what, style) + "\n"));
        }
        for envelope in events {
            voices.meet(envelope, style);
            ended.event(&envelope.event, style);
            queued.event(&envelope.event);
            names.meet_in(&envelope.event);
            if let Some(model) = models.take(envelope) {
                let line = style.dim(&format!("  answered by {}", visible(model))) + "\n";
                text.push_str(&voices.under_name(envelope, line, columns));
            }
            if let Some(message) = conversation::message(&envelope.event, &names, style, width) {
                text.push_str(&voices.under_name(envelope, message, columns));
            }
        }
        written = console.out(&text);
    })
    .await?;
    written?;
    console.out(&(ended.text(style) + &queued.text(style, columns)))?;
    console.flush()
}

/// Prints one step, whole.
fn one(mut timeline: Timeline, step: &str, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let last = timeline.facts().last().map_or(0, |fact| fact.seq);
    let place = step.parse::<u64>().ok().map(|seq| timeline.place_of(seq));
    let found = place.and_then(|place| Some((place, timeline.facts().get(place)?.clone())));
    let Some((place, fact)) = found.filter(|(_, fact)| fact.seq.to_string() == step) else {
        return Err(ChatError::usage(
            format!(
                "{} has events 1 to {last}; there is no event {step}",
                timeline.session()
            ),
            format!("`agentx show {} --step` steps through them", timeline.session()),
        ));
    };
    let fold = timeline.fold_after(place);
    if json {
        return console.out_pretty(&panes::value(&fact, fold));
    }
    let width = console.terminal.width;
    let mut text = String::new();
    for pane in panes::Pane::ALL {
        text.push_str(&format!("── {}\n", pane.name()));
        for line in panes::lines(pane, &fact, fold, &Theme::plain()) {
            for row in line.rows(width) {
                text.push_str(row.text().trim_end());
                text.push('\n');
            }
        }
    }
    console.out(&text)
}

/// Prints every event in a line.
fn all(timeline: &Timeline, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let mut text = String::new();
    for fact in timeline.facts() {
        if json {
            let words = event_description::describe(&fact.event);
            console.out_json(&serde_json::json!({
                "seq": fact.seq, "at": fact.at, "kind": fact.event.tag(), "words": words,
            }))?;
            continue;
        }
        text.push_str(&format!(
            "{:>6}  {}  {:<18} {}\n",
            fact.seq,
            panes::precise(fact.at),
            fact.event.tag(),
            event_description::describe(&fact.event)
        ));
        if text.len() > 1 << 16 {
            console.out(&text)?;
            text.clear();
        }
    }
    console.out(&text)?;
    console.flush()
}

/// Shows the events on a screen, until the person has seen enough.
async fn interactive(mut stepper: Stepper, console: &mut Console) -> Result<Exit, ChatError> {
    let mut signals = Signals::listen()?;
    let raw = RawMode::enter()?;
    let mut inputs = keys();
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    let mut painter = Painter::new(columns.into(), rows.into());
    let mut theme = console.theme();
    let end = loop {
        let (shown, cursor) = view::rows(&mut stepper, painter.columns(), painter.most() + 1, &theme);
        let bytes = painter.frame(&[], &shown, cursor);
        if let Err(error) = console.paint(&bytes) {
            break Err(error);
        }
        let input = tokio::select! {
            biased;
            exit = signals.next() => break Ok(exit),
            input = inputs.recv() => input.unwrap_or(TerminalInput::End),
        };
        match take(input, &mut inputs, &mut stepper, &mut painter, &mut theme) {
            StepperFlow::Stay => {}
            StepperFlow::Leave => break Ok(Exit::Ok),
        }
    };
    let cleared = console.paint(&painter.frame(&[], &[Row::default()], None));
    drop(raw);
    cleared.and(end)
}

/// Takes an input together with those that arrived meanwhile: a key that is held down is painted once.
fn take(
    first: TerminalInput,
    inputs: &mut mpsc::Receiver<TerminalInput>,
    stepper: &mut Stepper,
    painter: &mut Painter,
    theme: &mut Theme,
) -> StepperFlow {
    let mut input = Some(first);
    while let Some(next) = input {
        match next {
            TerminalInput::Key(key) if stepper.key(key) == StepperFlow::Leave => {
                return StepperFlow::Leave;
            }
            TerminalInput::Paste(text) => stepper.paste(&text),
            TerminalInput::Resize(columns, rows) => {
                painter.resize(columns, rows, long_rows());
            }
            TerminalInput::Background { is_light } if theme.color => {
                *theme = if is_light { Theme::light() } else { Theme::dark() };
            }
            TerminalInput::End => return StepperFlow::Leave,
            TerminalInput::Key(_)
            | TerminalInput::Background { .. }
            | TerminalInput::Named(_)
            | TerminalInput::Line(_)
            | TerminalInput::Waited(_) => {}
        }
        input = inputs.try_recv().ok();
    }
    StepperFlow::Stay
}
