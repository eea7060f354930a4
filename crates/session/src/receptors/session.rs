//! SessionReceptor: a session begins, continues in another process, changes, forks, ends.

use agentx_types::{
    ConfigChange, Envelope, EnvironmentEvent, ForkCreated, OwnerId, RuntimeEvent, SessionChange,
    SessionCreated, SessionDeleted, SessionResumed, SessionUpdated,
};

use super::Receptor;

/// Emits `session_created`, `session_resumed`, `session_updated`, `session_forked`, `session_deleted`.
///
/// | fact | event |
/// | --- | --- |
/// | `session_opened` | `session_created`, with the model and the workspace |
/// | `writer_attached` of an epoch above 1 | `session_resumed`, with the commands that the program before left running |
/// | `session_titled`, `wheel_changed`, `access_changed`, `context_condensed` | `session_updated`, with the change |
/// | `config_changed` | `session_updated`, with the name of the field alone: the whole configuration is in `SessionState` |
/// | `session_forked` | `session_forked`, in the log of the copy |
/// | `session_closed` | `session_deleted` |
///
/// It has no memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionReceptor {}

impl Receptor for SessionReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        match &fact.event {
            E::SessionOpened(opened) => out.push(
                SessionCreated {
                    model: opened.config.model.id.clone(),
                    workspace: opened.config.workspace.clone(),
                }
                .into(),
            ),
            // The first writer is the one that opened the session; there is nothing to resume yet.
            E::WriterAttached(writer) if writer.epoch > 1 => out.push(
                SessionResumed {
                    epoch: writer.epoch,
                    ended: writer.ended.clone(),
                }
                .into(),
            ),
            E::SessionTitled(titled) => {
                out.push(by(titled.by.as_ref(), SessionChange::Title(titled.title.clone())))
            }
            E::ConfigChanged(changed) => out.push(by(
                changed.by.as_ref(),
                SessionChange::Config(part_of(&changed.change).to_owned()),
            )),
            E::WheelChanged(wheel) => out.push(updated(SessionChange::Wheel(wheel.clone()))),
            E::AccessChanged(access) => out.push(updated(SessionChange::Access(access.clone()))),
            E::ContextCondensed(_) => out.push(updated(SessionChange::Condensed)),
            E::SessionForked(forked) => {
                out.push(
                    ForkCreated {
                        parent: forked.parent.clone(),
                        at_seq: forked.at_seq,
                    }
                    .into(),
                );
            }
            E::SessionClosed(closed) => out.push(
                SessionDeleted {
                    reason: closed.reason.clone(),
                }
                .into(),
            ),
            _ => {}
        }
    }
}

fn updated(change: SessionChange) -> RuntimeEvent {
    by(None, change)
}

/// A change that this person caused, if it is not the owner of the session.
fn by(person: Option<&OwnerId>, change: SessionChange) -> RuntimeEvent {
    SessionUpdated {
        change,
        by: person.cloned(),
    }
    .into()
}

/// The name of the configuration field that a change touches. Names are part of the protocol: front ends
/// request the state again if a field concerns what they show. Everything that decides about calls has one
/// name, `rules`, no matter who set it.
fn part_of(change: &ConfigChange) -> &'static str {
    match change {
        ConfigChange::Model(_) => "model",
        ConfigChange::Fallbacks(_) => "fallbacks",
        ConfigChange::Params(_) => "params",
        ConfigChange::Limits(_) => "limits",
        ConfigChange::Approval(_) => "approval",
        ConfigChange::PlanMode(_) => "plan_mode",
        ConfigChange::RuleAdded(_)
        | ConfigChange::Rules(_)
        | ConfigChange::RulesVersion(_)
        | ConfigChange::Guard(_)
        | ConfigChange::ServerRules(_) => "rules",
        ConfigChange::Tools(_) => "tools",
        ConfigChange::Instructions(_) => "instructions",
        ConfigChange::Condensing(_) => "condensing",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a test fails by panicking")]

    use agentx_types::{
        AccessChanged, ApprovalMode, ConfigChanged, ContextCondensed, Limits, ModelParams, Rule, RuleEffect,
        SessionClosed, SessionForked, SessionId, SessionRole, SessionTitled, WheelReason, WriterAttached,
    };

    use super::super::testing::{self, check, driven_by, seat, session_opened};
    use super::*;

    fn config(change: ConfigChange) -> EnvironmentEvent {
        ConfigChanged { change, by: None }.into()
    }

    fn changed(part: &str) -> Vec<RuntimeEvent> {
        vec![updated(SessionChange::Config(part.into()))]
    }

    fn attached(epoch: u64) -> EnvironmentEvent {
        WriterAttached {
            epoch,
            program: "agentx 1".into(),
            process: 7,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        }
        .into()
    }

    fn forked() -> SessionForked {
        SessionForked {
            parent: SessionId::new("ses_0"),
            at_seq: 9,
            hold: false,
        }
    }

    #[test]
    fn a_session_from_its_first_day_to_its_last() {
        let created = SessionCreated {
            model: "m-1".into(),
            workspace: "/w".into(),
        };
        let titled = SessionTitled {
            title: "Lunch".into(),
            by: None,
        };
        let condensed = ContextCondensed {
            from_seq: 1,
            to_seq: 2,
            summary: "s".into(),
            kept: Vec::new(),
            bill: None,
            masked: Vec::new(),
        };
        let fork = ForkCreated {
            parent: SessionId::new("ses_0"),
            at_seq: 9,
        };
        let closed = SessionClosed {
            reason: "deleted".into(),
        };
        let deleted = SessionDeleted {
            reason: "deleted".into(),
        };
        let table = vec![
            (session_opened(), vec![created.into()]),
            (attached(1), vec![]),
            (titled.into(), vec![updated(SessionChange::Title("Lunch".into()))]),
            (condensed.into(), vec![updated(SessionChange::Condensed)]),
            (
                attached(2),
                vec![
                    SessionResumed {
                        epoch: 2,
                        ended: Vec::new(),
                    }
                    .into(),
                ],
            ),
            (forked().into(), vec![fork.into()]),
            (closed.into(), vec![deleted.into()]),
        ];
        check(SessionReceptor::default(), table);
    }

    #[test]
    fn a_change_names_the_part_that_it_touches() {
        let rule = Rule {
            workspace: None,
            effect: RuleEffect::Allow,
            tool: "bash".into(),
            argument: None,
            path: None,
            origin: None,
        };
        let table = vec![
            (
                config(ConfigChange::Model(Box::new(testing::config().model))),
                changed("model"),
            ),
            (
                config(ConfigChange::Params(ModelParams::default())),
                changed("params"),
            ),
            (config(ConfigChange::Limits(Limits::default())), changed("limits")),
            (
                config(ConfigChange::Approval(ApprovalMode::Auto)),
                changed("approval"),
            ),
            (config(ConfigChange::RuleAdded(rule)), changed("rules")),
            (config(ConfigChange::Rules(vec![])), changed("rules")),
            (config(ConfigChange::Tools([].into())), changed("tools")),
            (
                config(ConfigChange::Instructions(vec![])),
                changed("instructions"),
            ),
        ];
        check(SessionReceptor::default(), table);
    }

    #[test]
    fn who_drives_and_who_may_what_is_passed_on() {
        let taken = driven_by(Some(seat()), WheelReason::Taken);
        let released = driven_by(None, WheelReason::Released);
        let shared = AccessChanged {
            person: "own_2".into(),
            role: Some(SessionRole::Watch),
            by: None,
        };
        let withdrawn = AccessChanged {
            person: "own_2".into(),
            role: None,
            by: None,
        };
        let wheel = |fact: &EnvironmentEvent| match fact {
            EnvironmentEvent::WheelChanged(wheel) => updated(SessionChange::Wheel(wheel.clone())),
            other => panic!("{other:?}"),
        };
        let table = vec![
            (taken.clone(), vec![wheel(&taken)]),
            (released.clone(), vec![wheel(&released)]),
            (
                shared.clone().into(),
                vec![updated(SessionChange::Access(shared))],
            ),
            (
                withdrawn.clone().into(),
                vec![updated(SessionChange::Access(withdrawn))],
            ),
        ];
        check(SessionReceptor::default(), table);
    }

    #[test]
    fn another_person_who_changes_something_is_named() {
        let (person, title) = (OwnerId::new("own_b"), "Lunch".to_owned());
        let titled = SessionTitled {
            title: title.clone(),
            by: Some(person.clone()),
        };
        let changed = ConfigChanged {
            change: ConfigChange::RulesVersion(9),
            by: Some(person.clone()),
        };
        let told = |change: SessionChange| vec![by(Some(&person), change)];
        check(
            SessionReceptor::default(),
            vec![
                (titled.into(), told(SessionChange::Title(title))),
                (changed.into(), told(SessionChange::Config("rules".into()))),
            ],
        );
    }
}
