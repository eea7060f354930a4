//! Errors over the wire: an error of a runtime becomes a [`Problem`] and, at the other end, the same error
//! again.
//!
//! A front end therefore reports and handles local and remote errors alike. `code` is part of the protocol
//! and never changes; `detail` is the error message; `data` holds the fields from which it is rebuilt. An
//! unknown code, or one with incomplete data, becomes [`RuntimeError::Remote`] with the server's words.
//!
//! Errors about the server's own disk (`disk_full`, `store_locked`, `store`, `newer`) are sent only as text,
//! and are read as `Remote`.

use agentx_types::wire::Problem;
use agentx_types::{BlobId, SessionId};
use serde_json::{Value, json};

use super::error::RuntimeError;
use crate::log_error::LogError;

impl From<&RuntimeError> for Problem {
    fn from(error: &RuntimeError) -> Self {
        let (code, data) = match error {
            RuntimeError::Log(error) => of_log(error),
            RuntimeError::Ambiguous { prefix, ids } => ("ambiguous", json!({"prefix": prefix, "ids": ids})),
            RuntimeError::UnknownModel { model, nearest } => {
                ("unknown_model", json!({"model": model, "nearest": nearest}))
            }
            RuntimeError::UnknownAgent { agent, nearest } => {
                ("unknown_agent", json!({"agent": agent, "nearest": nearest}))
            }
            RuntimeError::BadAgent { agent, .. } => ("bad_agent", json!({"agent": agent})),
            RuntimeError::Unavailable { model, what } => {
                ("unavailable", json!({"model": model, "what": what}))
            }
            RuntimeError::Refused(_) => ("refused", Value::Null),
            RuntimeError::Denied(_) => ("denied", Value::Null),
            RuntimeError::Unreachable { endpoint, what } => {
                ("unreachable", json!({"endpoint": endpoint, "what": what}))
            }
            RuntimeError::Remote { code, .. } => (code.as_str(), Value::Null),
            RuntimeError::WentBack { session, seq } => ("went_back", json!({"session": session, "seq": seq})),
            RuntimeError::Gone { session, why } => ("gone", json!({"session": session, "why": why})),
        };
        Problem {
            code: code.to_owned(),
            detail: error.to_string(),
            retry_after_ms: None,
            data,
        }
    }
}

/// The code of an error of the log, and its data.
fn of_log(error: &LogError) -> (&'static str, Value) {
    match error {
        LogError::NotFound(session) => ("no_session", json!({"session": session})),
        LogError::NoBlob(blob) => ("no_blob", json!({"blob": blob})),
        LogError::Exists(session) => ("exists", json!({"session": session})),
        LogError::Busy { session, process, .. } => ("busy", json!({"session": session, "process": process})),
        LogError::Fenced { session, epoch } => ("fenced", json!({"session": session, "epoch": epoch})),
        LogError::Corrupt { session, seq, what } => {
            ("corrupt", json!({"session": session, "seq": seq, "what": what}))
        }
        LogError::Newer { found, known, .. } => ("newer", json!({"found": found, "known": known})),
        LogError::Full { .. } => ("disk_full", Value::Null),
        LogError::Locked { .. } => ("store_locked", Value::Null),
        LogError::Store { .. } => ("store", Value::Null),
    }
}

impl From<Problem> for RuntimeError {
    fn from(problem: Problem) -> Self {
        let data = ProblemData(&problem.data);
        let known = match problem.code.as_str() {
            "no_session" => data.text("session").map(|id| LogError::NotFound(id).into()),
            "no_blob" => data
                .text("blob")
                .map(|id| LogError::NoBlob(BlobId::new(id)).into()),
            "exists" => data.session().map(|session| LogError::Exists(session).into()),
            "busy" => data.busy(),
            "fenced" => data.fenced(),
            "corrupt" => data.corrupt(),
            "ambiguous" => data.ambiguous(),
            "unknown_model" => data.text("model").map(|model| Self::UnknownModel {
                model,
                nearest: data.texts("nearest"),
            }),
            "unknown_agent" => data.text("agent").map(|agent| Self::UnknownAgent {
                agent,
                nearest: data.texts("nearest"),
            }),
            "bad_agent" => data.text("agent").map(|agent| Self::BadAgent {
                agent,
                what: problem.detail.clone(),
            }),
            "unavailable" => data
                .pair("model", "what")
                .map(|(model, what)| Self::Unavailable { model, what }),
            "refused" => Some(Self::Refused(problem.detail.clone())),
            "denied" => Some(Self::Denied(problem.detail.clone())),
            "unreachable" => data
                .pair("endpoint", "what")
                .map(|(endpoint, what)| Self::Unreachable { endpoint, what }),
            "went_back" => data.went_back(),
            "gone" => data.gone_error(),
            _ => None,
        };
        known.unwrap_or(Self::Remote {
            code: problem.code,
            detail: problem.detail,
        })
    }
}

/// The data of a problem besides its text. A server may leave anything out.
struct ProblemData<'a>(&'a Value);

impl ProblemData<'_> {
    /// A field that is a text; `None` for anything else.
    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    /// The texts in a list, without other values; empty if there is no list.
    fn texts(&self, key: &str) -> Vec<String> {
        let texts = self.0.get(key).and_then(Value::as_array);
        let owned = |text: &Value| text.as_str().map(str::to_owned);
        texts
            .map(|texts| texts.iter().filter_map(owned).collect())
            .unwrap_or_default()
    }

    /// A field that is a number from 0 on.
    fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.as_u64()
    }

    /// The session that the problem is about.
    fn session(&self) -> Option<SessionId> {
        self.text("session").map(SessionId::new)
    }

    /// Two text fields, if both exist.
    fn pair(&self, first: &str, second: &str) -> Option<(String, String)> {
        Some((self.text(first)?, self.text(second)?))
    }

    fn busy(&self) -> Option<RuntimeError> {
        let process = u32::try_from(self.number("process")?).ok()?;
        let session = self.session()?;
        let server = None;
        let error = LogError::Busy {
            session,
            process,
            server,
        };
        Some(error.into())
    }

    fn fenced(&self) -> Option<RuntimeError> {
        let (session, epoch) = (self.session()?, self.number("epoch")?);
        Some(LogError::Fenced { session, epoch }.into())
    }

    fn corrupt(&self) -> Option<RuntimeError> {
        let (session, seq, what) = (self.session()?, self.number("seq")?, self.text("what")?);
        Some(LogError::Corrupt { session, seq, what }.into())
    }

    fn ambiguous(&self) -> Option<RuntimeError> {
        let prefix = self.text("prefix")?;
        let ids = self.texts("ids");
        Some(RuntimeError::Ambiguous { prefix, ids })
    }

    fn went_back(&self) -> Option<RuntimeError> {
        let (session, seq) = (self.session()?, self.number("seq")?);
        Some(RuntimeError::WentBack { session, seq })
    }

    fn gone_error(&self) -> Option<RuntimeError> {
        let (session, why) = (self.session()?, self.text("why")?);
        Some(RuntimeError::Gone { session, why })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn errors_come_back_as_they_were() {
        let session = SessionId::new("ses_1");
        let errors: Vec<RuntimeError> = vec![
            LogError::NotFound("ses_2".into()).into(),
            LogError::NoBlob(BlobId::new("b3_1")).into(),
            LogError::Exists(session.clone()).into(),
            LogError::Busy {
                session: session.clone(),
                process: 7,
                server: None,
            }
            .into(),
            LogError::Fenced {
                session: session.clone(),
                epoch: 2,
            }
            .into(),
            LogError::Corrupt {
                session: session.clone(),
                seq: 3,
                what: "a hash".into(),
            }
            .into(),
            RuntimeError::Ambiguous {
                prefix: "a".into(),
                ids: vec!["ses_a".into(), "ses_ab".into()],
            },
            RuntimeError::UnknownModel {
                model: "m".into(),
                nearest: vec!["n".into()],
            },
            RuntimeError::UnknownAgent {
                agent: "stori".into(),
                nearest: vec!["story".into()],
            },
            RuntimeError::BadAgent {
                agent: "story".into(),
                what: "there is no tool \"x\"".into(),
            },
            RuntimeError::Unavailable {
                model: "m".into(),
                what: "set KEY".into(),
            },
            RuntimeError::Refused("no".into()),
            RuntimeError::Denied("somebody else drives".into()),
            RuntimeError::Unreachable {
                endpoint: "http://h".into(),
                what: "refused".into(),
            },
            RuntimeError::WentBack {
                session: session.clone(),
                seq: 3,
            },
            RuntimeError::Gone {
                session,
                why: "it was closed".into(),
            },
        ];
        for error in errors {
            let problem = Problem::from(&error);
            let sent: Problem = serde_json::from_str(&serde_json::to_string(&problem).unwrap()).unwrap();
            assert_eq!(RuntimeError::from(sent).to_string(), error.to_string());
        }
    }

    #[test]
    fn a_problem_of_a_newer_server_keeps_its_words() {
        let problem = Problem {
            code: "tired".into(),
            detail: "later".into(),
            retry_after_ms: None,
            data: Value::Null,
        };
        assert_eq!(RuntimeError::from(problem).to_string(), "later");
    }
}
