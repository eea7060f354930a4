//! Applies the rules and the trust of today's settings to a session that a program resumes.

use agentx_types::{
    ConfigChange, ConfigChanged, EnvironmentEvent, EventDraft, Rule, RuleEffect, Source, Timestamp,
};

use crate::api::RuntimeError;
use crate::log::SessionLog;
use crate::log::writing::Writer;
use agentx_session::SessionFold;

/// The rules of a program's settings that apply to existing sessions when it opens them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingRules {
    /// The rules of the settings. Those that deny or ask are added to a session that lacks them.
    pub rules: Vec<Rule>,
    /// The time since which the folder of the sessions has been trusted; `None` if it is not. Rules that
    /// allow something are removed from a session that was last written before, unless the settings have them
    /// too.
    pub trusted_since: Option<Timestamp>,
}

impl StandingRules {
    /// Returns the changes of a session, for each of its agents. One change removes rules, and each added
    /// rule is one change.
    pub(crate) async fn changes(
        &self,
        log: &dyn SessionLog,
        writer: &Writer,
        fold: &SessionFold,
    ) -> Result<Vec<EventDraft<EnvironmentEvent>>, RuntimeError> {
        let last = log
            .read(fold.session_id(), writer.last_seq.saturating_sub(1), 1)
            .await?;
        let last = last.last().map(|fact| fact.at);
        let is_trusted = self
            .trusted_since
            .is_some_and(|since| last.is_some_and(|last| last >= since));
        let holds = |rule: &Rule| is_trusted || rule.effect != RuleEffect::Allow || self.rules.contains(rule);
        let mut drafts = Vec::new();
        for agent in fold.agents() {
            let own = &agent.config().rules;
            let kept: Vec<Rule> = own.iter().filter(|rule| holds(rule)).cloned().collect();
            let taken = (kept.len() < own.len()).then_some(ConfigChange::Rules(kept));
            // The fold passes additions to a parent on to the agents below it.
            let is_root = fold.root() == Some(agent.id());
            let lacks = |rule: &&Rule| is_root && rule.effect != RuleEffect::Allow && !own.contains(rule);
            let added = self
                .rules
                .iter()
                .filter(lacks)
                .cloned()
                .map(ConfigChange::RuleAdded);
            drafts.extend(taken.into_iter().chain(added).map(|change| {
                EventDraft::new(
                    Source::System,
                    Some(agent.id().clone()),
                    ConfigChanged { change, by: None },
                )
            }));
        }
        Ok(drafts)
    }
}
