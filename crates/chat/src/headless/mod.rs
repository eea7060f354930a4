//! A single prompt and answer without a person at the terminal: sends the prompt in an open session and
//! follows the events to the end of the run. The agent's text goes to standard output or, like all progress,
//! to standard error.

mod answer_type;
mod approver;
mod ending;
mod facts;
mod first_notes;
mod folder_of_rule;
mod operator;
mod output_options;
mod parts;
mod run_error;
mod run_start;
mod shown_answer;
mod typed_answer;
mod waits;

use std::sync::Arc;

use agentx::runtime::{Delivery, Session, SessionState, UserInput, View};
use agentx::types::{ApprovalRequested, AskUser, Envelope, RunId, RuntimeEvent};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::connection_watch::{ConnectionWatch, OutageTimer};
use crate::place::follow::AnyFollower;
use crate::render::agents::LiveAgents;
use crate::render::approval;
use crate::render::clean::clean;
use crate::render::conversation;
use crate::run_result::RunResult;
use crate::session_opening;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;
pub use approver::{Approver, deny_instead_of_asking};
pub use ending::leave;
pub(crate) use ending::{RunOutcomeCollector, command_that_allows};
use facts::{drain, next_fact};
pub(crate) use first_notes::say_if_unheld;
pub use first_notes::say_of_this_machine;
pub use operator::RemoteApprovals;
pub use output_options::{Format, OutputOptions};
use parts::{FollowedRun, HeadlessOutput, RunQuestions};
use run_start::AnswerOutput;
pub use typed_answer::{held_to, read_schema};
use waits::RunWaits;

/// Sends the prompt in an open session and follows the run; without one, the last run.
pub async fn with_session(
    session: &Arc<dyn Session>,
    prompt: Option<UserInput>,
    mut manner: OutputOptions,
    approver: Approver,
    ends: (ConnectionWatch, &mut OutageTimer, Signals),
    (there, console): (u64, &mut Console),
) -> Result<RunResult, ChatError> {
    let before = session.state().await?;
    manner.typed |= before.config.answer_schema.is_some();
    run_start::notes(&before, console);
    let asks_nobody = run_start::asks_nobody(&before.config, manner, console);
    if before.held && prompt.is_some() {
        let note = conversation::queued_notice(before.queued.len());
        console.say(&console.err_style().dim(&format!("note: {note}\n")));
    }
    let begins = prompt.is_some() || before.held;
    let (after, shown_from) = run_start::places(&before, begins, there);
    let events = AnyFollower::new(session.clone(), after, View::Runtime).await?;
    let facts = match (manner.format, manner.view) {
        (Format::StreamJson, View::Environment) => {
            Some(AnyFollower::new(session.clone(), shown_from, View::Environment).await?)
        }
        _ => None,
    };
    let is_onward = prompt.is_none();
    if prompt.is_some() && approver.is_unattended() && session_opening::keeps_a_question(&before) {
        return Err(run_start::not_sent(session.id()));
    }
    let run_id = run_start::run(session, prompt, &before).await?;
    let mut headless = Headless::new(session.clone(), run_id, manner, approver, console);
    (headless.run.is_onward, headless.output.shown_from) = (is_onward, shown_from);
    let earlier = before.run.as_ref().filter(|_| !is_onward);
    headless.run.earlier = earlier.map(|run| run.run_id.clone());
    headless.questions.stay_open = before.config.ask_user == Some(AskUser::Wait);
    headless.cast = headless.cast.with_first(&before.config.name);
    headless.output.transcript.max_cost = before.config.limits.max_cost;
    headless.waits.longest = manner.longest_wait;
    headless.asked_before(&before, console).await?;
    headless.leave_long_wait(&before);
    let (link, away, signals) = ends;
    let ends = (link, &mut *away, signals);
    let mut result = headless.follow(events, facts, ends, console).await?;
    result.session_id = Some(session.id().clone());
    result.asks_nobody = asks_nobody;
    result.has_no_price = session_opening::has_no_price(&before.config);
    if !away.is_away() {
        match session.state().await {
            Ok(state) => result.fill_cost(&before, &state),
            Err(_) => result.fill_cost_of_answers(&before.config.model),
        }
    }
    folder_of_rule::name_folder(&mut result, &before.config.workspace, console);
    ending::notes(&result, before.config.limits.max_cost, console);
    if manner.typed {
        typed_answer::fill(&mut result);
    }
    if manner.format == Format::Text && manner.typed {
        typed_answer::print(&result, console)?;
    } else if manner.format == Format::Text && AnswerOutput::choose(manner, console) == AnswerOutput::AtTheEnd
    {
        shown_answer::print_at_end(&result, manner.quiet, console)?;
    }
    Ok(result)
}

struct Headless {
    session: Arc<dyn Session>,
    output: HeadlessOutput,
    cast: LiveAgents,
    ending: RunOutcomeCollector,
    run: FollowedRun,
    questions: RunQuestions,
    /// The waits of the run for a time.
    waits: RunWaits,
    signal: Option<Exit>,
}

impl Headless {
    fn new(
        session: Arc<dyn Session>,
        run_id: RunId,
        manner: OutputOptions,
        approver: Approver,
        console: &Console,
    ) -> Self {
        let output = HeadlessOutput::new(manner, &approver, console);
        let cast =
            LiveAgents::new(console.err_style(), console.terminal.width).show_separately(manner.streams);
        Self {
            session,
            cast: cast.whole_messages(output.words == AnswerOutput::Printed),
            output,
            ending: RunOutcomeCollector::new(run_id.clone()),
            run: FollowedRun::new(run_id),
            questions: RunQuestions::new(approver),
            waits: RunWaits::default(),
            signal: None,
        }
    }

    async fn follow(
        mut self,
        mut events: AnyFollower,
        mut facts: Option<AnyFollower>,
        (mut link, away, mut signals): (ConnectionWatch, &mut OutageTimer, Signals),
        console: &mut Console,
    ) -> Result<RunResult, ChatError> {
        let mut over = self.ending.is_left();
        while !over {
            tokio::select! {
                delivery = events.next() => {
                    let Some(delivery) = self.or_left(delivery)? else { break };
                    self.delivery(&delivery, console).await?;
                    while let Some(delivery) = events.ready() {
                        self.delivery(&delivery, console).await?;
                    }
                    over = self.ending.is_left()
                        || self.ending.is_over() && !self.has_more().await?
                        || self.take_back().await?;
                }
                fact = next_fact(&mut facts) => self.fact(fact?, &mut facts, console)?,
                answer = self.questions.approver.answered(console) => match answer {
                    Ok(answer) => {
                        // The call may have been settled meanwhile; then there is nothing to decide.
                        let _ = self.session.approve(answer).await;
                        self.questions.approver.put_next(&self.session, &self.cast, console).await;
                    }
                    Err(why @ ChatError::Run { .. }) => {
                        self.ending.left(why);
                        over = true;
                    }
                    Err(why) => return Err(why),
                },
                news = link.news(), if !self.output.quiet => {
                    self.output.transcript.aside(&console.err_style().warn(&format!("· {news}")));
                }
                why = away.wait_until_given_up() => return Err(why.into()),
                exit = signals.next() => {
                    // A server that is away cannot be asked to stop the run.
                    if self.signal.replace(exit).is_some() || away.is_away() {
                        break;
                    }
                    self.ending.stopping();
                    tokio::select! {
                        stopped = self.stop() => stopped?,
                        () = away.lost() => break,
                        _ = signals.next() => break,
                    }
                }
            }
            self.output.print(console)?;
        }
        if let Some(facts) = &mut facts {
            let drained = drain(facts, events.seq(), console).await;
            if !self.ending.is_left() || matches!(drained, Err(ChatError::ClosedOutput)) {
                drained?;
            }
        }
        self.cast.end_lines(&mut self.output.transcript);
        self.output.transcript.end_line();
        self.output.print_whole(console)?;
        Ok(self.ending.into_result(self.signal))
    }

    /// If the events end with an error, what was committed until then is the result.
    fn or_left(&mut self, came: Result<Option<Delivery>, ChatError>) -> Result<Option<Delivery>, ChatError> {
        match came {
            Err(why) if !matches!(why, ChatError::ClosedOutput) => {
                self.ending.left(why);
                Ok(None)
            }
            came => came,
        }
    }

    async fn stop(&self) -> Result<(), ChatError> {
        self.session.halt(Some("the person stopped it".into())).await?;
        Ok(())
    }

    /// Takes the input back after a signal, if it still waits behind another run. Returns whether the run
    /// will therefore never begin.
    async fn take_back(&mut self) -> Result<bool, ChatError> {
        let is_taken_back =
            self.signal.is_some() && run_start::take_back(&self.session, &self.run.id).await?;
        if is_taken_back {
            self.ending.taken_back();
        }
        Ok(is_taken_back)
    }

    /// Returns whether another input waits, or its run is under way, or an agent in the background is at
    /// work.
    async fn has_more(&self) -> Result<bool, ChatError> {
        if !self.run.is_onward || self.signal.is_some() {
            return Ok(false);
        }
        let state = self.session.state().await?;
        let is_last = state.run.is_some_and(|run| run.run_id == self.run.id);
        Ok(!is_last || !state.queued.is_empty() || self.cast.is_at_work())
    }

    /// Puts the questions that were open when the session was opened.
    async fn asked_before(&mut self, before: &SessionState, console: &mut Console) -> Result<(), ChatError> {
        self.questions.asked_until = before.last_seq;
        for asked in &before.pending_approvals {
            self.asked(&approval::open(asked), console).await?;
        }
        Ok(())
    }

    async fn asked(&mut self, request: &ApprovalRequested, console: &mut Console) -> Result<(), ChatError> {
        if let Some(note) = self.questions.approver.asked_elsewhere(request) {
            self.output.transcript.aside(&console.err_style().warn(&note));
            return self.output.print(console);
        }
        if self.questions.stay_open && request.question.is_some() && self.questions.approver.is_unattended() {
            self.output.print(console)?;
            self.ending.left(run_start::left_waiting(self.session.id()));
            return Ok(());
        }
        if let Some(answer) = self.questions.approver.asked(request) {
            self.session.approve(answer).await?;
        }
        self.questions
            .approver
            .put_next(&self.session, &self.cast, console)
            .await;
        Ok(())
    }

    async fn delivery(&mut self, delivery: &Delivery, console: &mut Console) -> Result<(), ChatError> {
        let Delivery::Runtime(envelope) = delivery else {
            return Ok(());
        };
        if envelope.seq <= self.output.shown_from {
            self.cast.meet(envelope);
            self.output.transcript.note_earlier(&envelope.event);
            // An agent that was already at work may continue behind the run, like one that this run creates.
            self.run.is_onward |= self.cast.is_at_work();
            return Ok(());
        }
        if self.output.frames {
            console.out_json(&**envelope)?;
        }
        let event = &envelope.event;
        self.cast.event(&mut self.output.transcript, envelope);
        self.output.tell_of_unheld(event, console)?;
        if let Some(note) =
            run_start::of_before(event, self.run.earlier.as_ref()).filter(|_| !self.output.quiet)
        {
            let note = console.err_style().warn(&format!("· {note}"));
            self.output.transcript.aside(&note);
        }
        match event {
            RuntimeEvent::ApprovalRequested(request) if envelope.seq > self.questions.asked_until => {
                self.output.print_whole(console)?;
                self.asked(request, console).await?;
            }
            RuntimeEvent::MessageStop(_) => self.output.print_whole(console)?,
            RuntimeEvent::ToolExecuting(_) | RuntimeEvent::ToolCompleted(_) if self.waits.concern(event) => {
                self.leave_if_waiting().await?;
            }
            RuntimeEvent::ToolFailed(failed) if self.questions.approver.lacks_terminal() => {
                self.ending.tool_failed(failed)
            }
            RuntimeEvent::ToolCallAnswered(answered) => {
                self.questions.approver.settled(&answered.tool_call_id);
                self.questions
                    .approver
                    .put_next(&self.session, &self.cast, console)
                    .await;
            }
            RuntimeEvent::ApprovalSettled(settled) => {
                self.questions.approver.settled(&settled.tool_call_id);
                self.questions
                    .approver
                    .put_next(&self.session, &self.cast, console)
                    .await;
            }
            // The run before this one was stopped; this one is not wanted either.
            RuntimeEvent::RunStarted(started) if started.run_id == self.run.id && self.signal.is_some() => {
                self.stop().await?;
            }
            // It may continue behind the run, and its result begins another run.
            RuntimeEvent::AgentStarted(started) => self.run.is_onward |= started.parent.is_some(),
            _ => {}
        }
        if self.run.is_onward {
            self.continue_with_next(envelope);
        }
        let run_id = envelope.run_id.as_ref();
        if run_id.is_none_or(|run_id| *run_id == self.run.id) {
            self.ending.event(event);
        }
        Ok(())
    }

    /// Continues with a queued message after the run: its answer is the answer from then on.
    fn continue_with_next(&mut self, envelope: &Envelope<RuntimeEvent>) {
        if envelope.run_id.as_ref() == Some(&self.run.id) {
            self.run.agent.clone_from(&envelope.agent_state_id);
        }
        if let RuntimeEvent::RunStarted(started) = &envelope.event
            && self.ending.is_over()
            && self.run.agent == envelope.agent_state_id
        {
            self.run.id.clone_from(&started.run_id);
            let said = self.ending.continue_as(started.run_id.clone());
            if self.output.words == AnswerOutput::AtTheEnd && !said.is_empty() {
                // Only the last answer is the result of the command.
                self.output.transcript.aside(&clean(&said));
            }
        }
    }

    fn fact(
        &mut self,
        fact: Option<Delivery>,
        facts: &mut Option<AnyFollower>,
        console: &mut Console,
    ) -> Result<(), ChatError> {
        match fact {
            Some(Delivery::Environment(envelope)) => console.out_json(&*envelope)?,
            Some(_) => {}
            None => *facts = None,
        }
        while let Some(Delivery::Environment(envelope)) = facts.as_mut().and_then(AnyFollower::ready) {
            console.out_json(&*envelope)?;
        }
        Ok(())
    }
}
