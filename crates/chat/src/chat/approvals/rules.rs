//! Approvals in a chat: the preview of what a call would change, the rule that an answer keeps, and
//! `/approvals`.

use agentx::config::{Sourced, add_rule, rule_in_file, rules_in_file, show_rule};
use agentx::runtime::{
    ApprovalInput, FileChangePreview, allows_everything, always_asked, is_useless_rule, still_asked,
    with_patterns,
};
use agentx::types::{AgentConfig, ApprovalDecision, ApprovalRequested, ConfigChange, Rule};

use super::kept_rules;
use crate::chat::slash::Rules;
use crate::chat::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::pending_change;
use crate::render::approval_reply::ApprovalReply;
use crate::render::clean::visible;
use crate::rules::{self, no_rule, origin_in_words, remove_from_file};

impl Chat<'_> {
    /// Returns the current content of the file that a call is about to change.
    pub(in crate::chat) async fn file_before_change(
        &self,
        question: &ApprovalRequested,
    ) -> FileChangePreview {
        let Some(session) = self.connection.session() else {
            return FileChangePreview::default();
        };
        let runtime = self.place.shared();
        pending_change::file_now(&*runtime, session.id(), Some(session.clone()), question).await
    }

    /// Returns the answer that counts. If AgentX asks about such a call each time, no rule is kept, and a
    /// note says so.
    pub(in crate::chat) async fn effective_answer(
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
        let note = if self.is_asked_each_time(question).await {
            Some("  no rule saved: AgentX asks about such calls each time")
        } else if answer.pattern.is_none() && self.offers_useless_rule(question).await {
            Some("  no rule saved: it would not allow such calls")
        } else {
            None
        };
        if let Some(note) = note {
            self.display.transcript.aside(&self.display.style().dim(note));
            answer.decision = ApprovalDecision::Once;
            answer.pattern = None;
        }
        answer
    }

    /// Returns whether a person is asked about each such call, so that no answer keeps a rule. If the
    /// configuration of the agent cannot be read, the note about the rule says so.
    pub(in crate::chat) async fn is_asked_each_time(&mut self, question: &ApprovalRequested) -> bool {
        let config = self.agent_config().await;
        config.is_ok_and(|config| always_asked(&config, &question.name, &question.input).is_some())
    }

    /// Returns whether the offered rule would not allow the call, so that it is not offered.
    pub(in crate::chat) async fn offers_useless_rule(&mut self, question: &ApprovalRequested) -> bool {
        let config = self.agent_config().await;
        config.is_ok_and(|config| {
            is_useless_rule(&config, &question.suggested, &question.name, &question.input)
        })
    }

    /// The rules that an answer keeps: the one that was shown, or those with the patterns that the person
    /// wrote. `None` if they do not allow the call, allow everything and were not repeated, or the agent's
    /// configuration cannot be read; then a note says so, and nothing is decided.
    pub(in crate::chat) async fn rules_of(
        &mut self,
        question: &ApprovalRequested,
        answer: &ApprovalReply,
    ) -> Option<Vec<Rule>> {
        if !matches!(
            answer.decision,
            ApprovalDecision::Session | ApprovalDecision::Always
        ) {
            return Some(vec![question.suggested.clone()]);
        }
        let config = match self.agent_config().await {
            Ok(config) => config,
            Err(error) => {
                self.complain(&error);
                return None;
            }
        };
        let Some(pattern) = &answer.pattern else {
            return Some(vec![question.suggested.clone()]);
        };
        if self.warn_if_too_wide(question, pattern, &config) {
            return None;
        }
        let (tool, input) = (&question.name, &question.input);
        let kept = match rules::with_any_arguments(question, pattern, &config) {
            Some(rule) => Ok(vec![rule]),
            None => with_patterns(&question.suggested, pattern, &config, tool, input),
        };
        let kept = match kept {
            Ok(kept) => kept,
            Err(why_not) => {
                let what = format!("{why_not}. Nothing saved; answer again.");
                let text = self.display.style().bad(&visible(&what));
                self.display.transcript.aside(&text);
                return None;
            }
        };
        let (last, others) = kept.split_last()?;
        let mut with_others = config;
        with_others.rules.extend(others.iter().cloned());
        if let Some(why) = still_asked(&with_others, last, tool, input) {
            let text = format!("  AgentX will still ask about similar calls: {}", visible(&why));
            self.display.transcript.aside(&self.display.style().dim(&text));
        }
        Some(kept)
    }

    /// Warns once about a pattern that allows everything, and returns whether it did; the same answer again
    /// counts.
    fn warn_if_too_wide(
        &mut self,
        question: &ApprovalRequested,
        pattern: &str,
        config: &AgentConfig,
    ) -> bool {
        let of_server = rules::with_any_arguments(question, pattern, config).is_some();
        let shown = &question.suggested;
        let is_of_tool = shown.argument.is_none() && shown.path.is_none();
        if of_server || !allows_everything(pattern) || is_of_tool {
            return false;
        }
        let given = Some((question.tool_call_id.clone(), pattern.to_owned()));
        if self.approvals.doubted == given {
            return false;
        }
        self.approvals.doubted = given;
        let tool = visible(&question.name);
        let does = match shown.argument {
            Some(_) => "do anything here without asking, including deleting files",
            None => "change any file here without asking",
        };
        let text = format!(
            "`{}` lets {tool} {does}. Nothing saved: give a narrower pattern, or the same answer again to allow everything.",
            visible(pattern)
        );
        self.display.transcript.aside(&self.display.style().warn(&text));
        true
    }

    /// Adds rules to the session, beside the one that its answer brings.
    pub(in crate::chat) async fn add_to_session(&mut self, others: &[Rule]) -> Result<(), ChatError> {
        if others.is_empty() {
            return Ok(());
        }
        let mut rules = self.agent_config().await?.rules;
        let lacking: Vec<Rule> = others
            .iter()
            .filter(|rule| !rules.contains(rule))
            .cloned()
            .collect();
        rules.extend(lacking);
        self.change(ConfigChange::Rules(rules)).await
    }

    /// Keeps a rule for later sessions, as `always` says: the rule is written into the person's own file.
    pub(in crate::chat) fn keep_rule(&mut self, rule: &Rule) {
        let style = self.display.style();
        if self.connection.company.is_possible() {
            let note = "  applies in this session; for later sessions, add it to the server's configuration";
            return self.display.transcript.aside(&style.dim(note));
        }
        self.approvals.kept.keep(rule);
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

    /// Applies the rules that were kept or removed in this chat to the session that it has just opened: the
    /// settings from before add removed ones again.
    pub(in crate::chat) async fn apply_kept_rules(&mut self, config: &AgentConfig) -> Result<(), ChatError> {
        match self.rules_kept_here(config) {
            Some(rules) => self.change(ConfigChange::Rules(rules)).await,
            None => Ok(()),
        }
    }

    /// The rules of another agent of this chat with those that were kept or removed here; `None` if it has
    /// them already.
    pub(in crate::chat) fn rules_kept_here(&self, config: &AgentConfig) -> Option<Vec<Rule>> {
        let is_here = !self.connection.company.is_possible();
        self.approvals.kept.applied_to(config).filter(|_| is_here)
    }

    pub(in crate::chat) async fn agent_config(&mut self) -> Result<AgentConfig, ChatError> {
        let session = match &self.connection.site {
            ConversationSite::Open { session, .. } => session.clone(),
            ConversationSite::New(agent) => return Ok((*agent.config).clone()),
        };
        let state = self.wait_for(async { session.state().await }).await?;
        Ok(state.config)
    }

    /// Runs `/approvals`.
    pub(in crate::chat) async fn rules(&mut self, wish: Rules) -> Result<String, ChatError> {
        let config = self.agent_config().await?;
        match wish {
            Rules::List => Ok(rules::render(
                &config,
                |index, _| self.rule_numbers(&config).get(index).copied(),
                |rule| self.origin(rule),
                self.display.width(),
            )),
            Rules::Test(call) => {
                let tested = rules::TestedCall::new(&config, &call, !self.connection.company.is_possible())?;
                Ok(tested.render(|rule| self.origin(rule)))
            }
            Rules::Remove(number) => self.without_rule(config, number).await,
            Rules::Overrule(number) => self.overrule(number).await,
        }
    }

    /// Lists the calls that a judge refused, or allows the one with this number: it runs when the model makes
    /// it again.
    async fn overrule(&mut self, number: Option<usize>) -> Result<String, ChatError> {
        let Some(session) = self.connection.session().cloned() else {
            return Ok("no call was refused by a judge: there is no session yet".to_owned());
        };
        let state = self.wait_for(async { session.state().await }).await?;
        let Some(number) = number else {
            return Ok(rules::numbered_refusals(&state.refused_calls));
        };
        let Some(call) = number
            .checked_sub(1)
            .and_then(|index| state.refused_calls.get(index))
        else {
            let message = format!("there is no refused call {number}");
            return Err(ChatError::usage(message, "`/approvals overrule` lists them"));
        };
        let decision = ApprovalInput::new(call.tool_call_id.clone(), ApprovalDecision::Once);
        self.wait_for(async { session.approve(decision).await }).await?;
        Ok("allowed: the call runs when the model makes it again; tell it to go on".to_owned())
    }

    /// The numbers of an agent's rules, in the order of the rules.
    fn rule_numbers(&self, config: &AgentConfig) -> Vec<usize> {
        if self.connection.company.is_possible() {
            return (1..=config.rules.len()).collect();
        }
        let in_file = rules_in_file(&self.settings.user_file);
        kept_rules::numbers(config, &in_file, &self.settings.rules)
    }

    async fn without_rule(&mut self, config: AgentConfig, number: usize) -> Result<String, ChatError> {
        let numbers = self.rule_numbers(&config);
        let mut rules = config.rules;
        let Some(index) = numbers.iter().position(|other| *other == number) else {
            return Err(no_rule(number, rules.len()));
        };
        let rule = rules.remove(index);
        // If a rule cannot be removed from the file, it also stays in the session.
        let file = match self.in_file(&rule) {
            Some(written) => Some(remove_from_file(&written.value, &written.origin)?),
            None => None,
        };
        self.change(ConfigChange::Rules(rules)).await?;
        self.approvals.kept.remove(&rule);
        Ok(match file {
            Some(file) => format!("{}; no longer applies", file.trim_end()),
            None => format!(
                "no longer applies in this session: {}",
                visible(&show_rule(&rule))
            ),
        })
    }

    fn origin(&self, rule: &Rule) -> String {
        let settings = &self.settings;
        match (
            self.in_file(rule),
            settings.rules.iter().position(|other| other == rule),
        ) {
            (Some(written), _) => origin_in_words(&written.origin),
            // The files of a server are not those of this machine.
            (None, Some(_)) if self.place.remote().is_some() => "the configuration".to_owned(),
            (None, Some(index)) => settings
                .rule_origins
                .get(index)
                .map_or_else(|| "the configuration".to_owned(), origin_in_words),
            (None, None) => "the session".to_owned(),
        }
    }

    /// The rule as the person's own file has it.
    fn in_file(&self, rule: &Rule) -> Option<Sourced<Rule>> {
        if self.connection.company.is_possible() {
            return None;
        }
        rule_in_file(&self.settings.user_file, rule)
    }
}
