//! Deciding in a chat: what a call would change, the rule that an answer keeps, and `/approvals`.

use agentx::config::{Sourced, add_rule, rule_in_file, show_rule};
use agentx::runtime::{FileInQuestion, always_asked, still_asked, with_pattern};
use agentx::types::{AgentConfig, ApprovalDecision, ApprovalRequested, ConfigChange, Rule};

use super::slash::Rules;
use super::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::pending_change;
use crate::render::approval_reply::ApprovalReply;
use crate::render::clean::visible;
use crate::rules::{self, no_rule, remove_from_file};

impl Chat<'_> {
    /// The file that a call is about to change, as it is now.
    pub(super) async fn before(&self, question: &ApprovalRequested) -> FileInQuestion {
        let Some(session) = self.connection.session() else {
            return FileInQuestion::default();
        };
        let runtime = self.place.shared();
        pending_change::file_now(&*runtime, session.id(), Some(session.clone()), question).await
    }

    /// Returns the answer that counts. If AgentX asks about such a call each time, no rule is kept, and a
    /// note says so.
    pub(super) async fn as_it_counts(
        &mut self,
        question: &ApprovalRequested,
        mut answer: ApprovalReply,
    ) -> ApprovalReply {
        let keeps = matches!(
            answer.decision,
            ApprovalDecision::Session | ApprovalDecision::Always
        );
        if !keeps {
            return answer;
        }
        // If the configuration of the agent cannot be read, the note about the rule says so.
        let Ok(config) = self.agent_config().await else {
            return answer;
        };
        if always_asked(&config, &question.name, &question.input).is_some() {
            let note = "  no rule is saved: such calls are asked about each time";
            self.display.transcript.aside(&self.display.style().dim(note));
            answer.decision = ApprovalDecision::Once;
            answer.pattern = None;
        }
        answer
    }

    /// Returns the rule that an answer keeps: the one that was shown, or one with the pattern that the person
    /// wrote. `None` if that pattern does not match the call, or the agent's configuration cannot be read;
    /// then prints the reason, and nothing is decided.
    pub(super) async fn rule_of(
        &mut self,
        question: &ApprovalRequested,
        answer: &ApprovalReply,
    ) -> Option<Rule> {
        if !matches!(
            answer.decision,
            ApprovalDecision::Session | ApprovalDecision::Always
        ) {
            return Some(question.suggested.clone());
        }
        let config = match self.agent_config().await {
            Ok(config) => config,
            Err(error) => {
                self.complain(&error);
                return None;
            }
        };
        let kept = match &answer.pattern {
            None => Ok(question.suggested.clone()),
            Some(pattern) => with_pattern(
                &question.suggested,
                pattern,
                &config,
                &question.name,
                &question.input,
            ),
        };
        let rule = match kept {
            Ok(rule) => rule,
            Err(why_not) => {
                let what = format!("{why_not}; not decided yet");
                let text = self.display.style().bad(&visible(&what));
                self.display.transcript.aside(&text);
                return None;
            }
        };
        let why = still_asked(&config, &rule, &question.name, &question.input);
        // The question already said so about the rule that was shown.
        if let Some(why) = why.filter(|_| answer.pattern.is_some()) {
            let text = format!("  similar calls will still be asked about: {}", visible(&why));
            self.display.transcript.aside(&self.display.style().dim(&text));
        }
        Some(rule)
    }

    /// Keeps a rule for later sessions, as `always` says: the rule is written into the person's own file.
    pub(super) fn keep_rule(&mut self, rule: &Rule) {
        let style = self.display.style();
        if self.connection.company.is_possible() {
            let note = "  applies in this session; for later sessions, add it to the server's configuration";
            return self.display.transcript.aside(&style.dim(note));
        }
        let file = &self.settings.user_file;
        match add_rule(file, rule) {
            Ok(true) => {
                let rule = visible(&show_rule(rule));
                let note = format!("  saved in {}: {rule}; /approvals removes it", file.display());
                self.display.transcript.aside(&style.dim(&note));
            }
            Ok(false) => {}
            Err(error) => {
                self.complain(&error.into());
                let note = "  applies in this session only";
                self.display.transcript.aside(&style.warn(note));
            }
        }
    }

    pub(super) async fn agent_config(&mut self) -> Result<AgentConfig, ChatError> {
        let session = match &self.connection.site {
            ConversationSite::Open { session, .. } => session.clone(),
            ConversationSite::New(agent) => return Ok((*agent.config).clone()),
        };
        let state = self.wait_for(async { session.state().await }).await?;
        Ok(state.config)
    }

    /// Runs `/approvals`.
    pub(super) async fn rules(&mut self, wish: Rules) -> Result<String, ChatError> {
        let config = self.agent_config().await?;
        match wish {
            Rules::List => Ok(rules::render(
                &config,
                |index, _| Some(index + 1),
                |rule| self.origin(rule),
                self.display.width(),
            )),
            Rules::Test(call) => {
                let tested = rules::TestedCall::new(&config, &call, !self.connection.company.is_possible())?;
                Ok(tested.render(|rule| self.origin(rule)))
            }
            Rules::Remove(number) => self.without_rule(config.rules, number).await,
        }
    }

    async fn without_rule(&mut self, mut rules: Vec<Rule>, number: usize) -> Result<String, ChatError> {
        let Some(index) = number.checked_sub(1).filter(|index| *index < rules.len()) else {
            return Err(no_rule(number, rules.len()));
        };
        let rule = rules.remove(index);
        // A rule that cannot be removed from the file stays in the session, too.
        let file = match self.in_file(&rule) {
            Some(written) => Some(remove_from_file(&written.value, &written.origin)?),
            None => None,
        };
        self.change(ConfigChange::Rules(rules)).await?;
        Ok(match file {
            Some(file) => format!("{}; no longer applies", file.trim_end()),
            None => format!(
                "no longer applies in this session: {}",
                visible(&show_rule(&rule))
            ),
        })
    }

    fn origin(&self, rule: &Rule) -> String {
        match self.in_file(rule) {
            Some(written) => format!("your file, {}", written.origin),
            None if self.settings.rules.contains(rule) => "the configuration".to_owned(),
            None => "the session".to_owned(),
        }
    }

    /// The rule as it stands in the person's own file.
    fn in_file(&self, rule: &Rule) -> Option<Sourced<Rule>> {
        if self.connection.company.is_possible() {
            return None;
        }
        rule_in_file(&self.settings.user_file, rule)
    }
}
