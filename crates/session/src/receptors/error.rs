//! ErrorReceptor: errors as data for people and programs. A failing tool is not an error, because the model
//! reads its result.

use agentx_types::{ConfigChange, Envelope, EnvironmentEvent, ErrorRaised, RuntimeEvent, since};

use super::Receptor;

/// Emits `error`.
///
/// The fact `error` ends the call or run that it is about; `recoverable` says whether trying again may help.
/// `attempt_failed` ends nothing: its event is recoverable and has the milliseconds until the next attempt
/// and until it gives up, and the HTTP status (from version 9 of the rules on); they are `None` for any other
/// error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorReceptor {
    /// Whether the rules of the session name the HTTP status.
    names_status: bool,
}

impl ErrorReceptor {
    fn follow_rules(&mut self, version: u32) {
        self.names_status = version >= since::ERRORS_NAME_THEIR_STATUS;
    }
}

impl Receptor for ErrorReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        let raised = match &fact.event {
            EnvironmentEvent::ErrorOccurred(error) => ErrorRaised {
                code: error.code.clone(),
                message: error.message.clone(),
                recoverable: error.recoverable,
                retry_in_ms: None,
                gives_up_in_ms: None,
                status: None,
            },
            // A failed attempt ends nothing: the call ends with a separate `error` when no attempt is left.
            EnvironmentEvent::AttemptFailed(failed) => ErrorRaised {
                code: failed.code.clone(),
                message: failed.message.clone(),
                recoverable: true,
                retry_in_ms: failed.retry_in_ms,
                gives_up_in_ms: failed.gives_up_in_ms.map(u64::from),
                status: failed.status.filter(|_| self.names_status),
            },
            EnvironmentEvent::SessionOpened(opened) => return self.follow_rules(opened.config.rules_version),
            EnvironmentEvent::ConfigChanged(changed) => {
                if let ConfigChange::RulesVersion(version) = &changed.change {
                    self.follow_rules(*version);
                }
                return;
            }
            _ => return,
        };
        out.push(raised.into());
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{AttemptFailed, ErrorOccurred};

    use super::super::testing::check;
    use super::*;

    #[test]
    fn errors_and_failed_attempts() {
        let failed = AttemptFailed {
            attempt: 1,
            code: "overloaded".into(),
            message: "Overloaded".into(),
            status: Some(529),
            retry_in_ms: Some(500),
            gives_up_in_ms: Some(10_000),
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        check(
            ErrorReceptor { names_status: true },
            vec![
                (
                    failed.into(),
                    vec![
                        ErrorRaised {
                            code: "overloaded".into(),
                            message: "Overloaded".into(),
                            recoverable: true,
                            retry_in_ms: Some(500),
                            gives_up_in_ms: Some(10_000),
                            status: Some(529),
                        }
                        .into(),
                    ],
                ),
                (
                    ErrorOccurred {
                        code: "disk_full".into(),
                        message: "no space".into(),
                        recoverable: false,
                    }
                    .into(),
                    vec![
                        ErrorRaised {
                            code: "disk_full".into(),
                            message: "no space".into(),
                            recoverable: false,
                            retry_in_ms: None,
                            gives_up_in_ms: None,
                            status: None,
                        }
                        .into(),
                    ],
                ),
            ],
        );
    }
}
