//! The kind, exit code and hint of errors of a runtime.

use agentx::runtime::{LogError, RuntimeError};

use crate::exit::Exit;

/// The kind of an error, for programs.
pub(crate) fn runtime_kind(error: &RuntimeError) -> &'static str {
    match error {
        RuntimeError::Log(error) => match error {
            LogError::NotFound(_) => "session_not_found",
            LogError::NoBlob(_) => "blob_not_found",
            LogError::Exists(_) => "session_exists",
            LogError::Busy { .. } | LogError::Fenced { .. } => "session_busy",
            LogError::Corrupt { .. } => "damaged",
            LogError::Newer { .. } => "newer_format",
            LogError::Full { .. } => "disk_full",
            LogError::Locked { .. } => "storage_locked",
            // Also the errors of later versions, until they have a kind here.
            _ => "storage",
        },
        RuntimeError::Ambiguous { .. } => "session_ambiguous",
        RuntimeError::UnknownModel { .. } => "unknown_model",
        RuntimeError::UnknownAgent { .. } => "unknown_agent",
        RuntimeError::BadAgent { .. } => "bad_agent",
        RuntimeError::Unavailable { .. } => "missing_key",
        RuntimeError::Refused(_) => "refused",
        RuntimeError::Denied(_) => "not_allowed",
        RuntimeError::Unreachable { .. } => "unreachable",
        RuntimeError::Remote { .. } => "server",
        RuntimeError::WentBack { .. } => "log_went_back",
        RuntimeError::Gone { .. } => "session_gone",
    }
}

/// Returns the exit code for the error.
pub(crate) fn runtime_exit(error: &RuntimeError) -> Exit {
    match error {
        RuntimeError::Log(LogError::NotFound(_) | LogError::Exists(_))
        | RuntimeError::Log(LogError::Busy { .. } | LogError::Fenced { .. })
        | RuntimeError::Ambiguous { .. } => Exit::Session,
        RuntimeError::Log(_) | RuntimeError::Gone { .. } => Exit::Storage,
        RuntimeError::UnknownModel { .. } | RuntimeError::BadAgent { .. } => Exit::Config,
        RuntimeError::UnknownAgent { .. } => Exit::Usage,
        RuntimeError::Unavailable { .. } => Exit::Credentials,
        RuntimeError::Refused(_) => Exit::Failed,
        RuntimeError::Denied(_)
        | RuntimeError::Unreachable { .. }
        | RuntimeError::Remote { .. }
        | RuntimeError::WentBack { .. } => Exit::Server,
    }
}

/// The advice if a server's log went back.
const WENT_BACK: &str = "start again to see the current state of the server; a copy made with `agentx mirror \
     --keep` is unchanged: use --data to keep the current state in another directory";

/// Returns the hint for a model that is neither listed nor near a listed one. A provider that is known takes
/// any id, so a name with a provider lacks that.
pub(crate) fn unlisted_model(name: &str) -> String {
    match name.split_once('/') {
        Some((provider, _)) => format!(
            "there is no provider `{provider}`; `providers.{provider}.base_url` in the configuration adds one, and `agentx models` lists the models there are"
        ),
        None => "`agentx models` lists them all; `PROVIDER/ID` selects a model that is not listed".into(),
    }
}

/// Returns the hint for the error.
pub(crate) fn runtime_hint(error: &RuntimeError) -> Option<String> {
    let hint = match error {
        RuntimeError::Log(error) => return log_hint(error),
        RuntimeError::Ambiguous { .. } => "give more letters of the id, at least 4 after `ses_`".into(),
        RuntimeError::UnknownModel { nearest, .. } if !nearest.is_empty() => {
            format!(
                "did you mean {}? `agentx models` lists them all",
                nearest.join(", ")
            )
        }
        RuntimeError::UnknownModel { .. } => "`agentx models` lists them all".into(),
        RuntimeError::UnknownAgent { .. } => "`agentx agents` lists them all".into(),
        RuntimeError::BadAgent { .. } => "run `agentx agents check` on the machine with the files to see all errors".into(),
        RuntimeError::Unavailable { .. } => "`agentx models` shows what each model needs".into(),
        RuntimeError::Gone { session, .. } => format!("`agentx sessions verify {session}` shows which events are intact"),
        RuntimeError::WentBack { .. } => WENT_BACK.into(),
        RuntimeError::Unreachable { what, .. } if what.contains("certificate") => {
            "this machine does not trust its certificate; set SSL_CERT_FILE to a file with the certificate of its issuer"
                .into()
        }
        RuntimeError::Unreachable { .. } => "check the address, and that `agentx serve` runs there".into(),
        RuntimeError::Denied(_) => {
            "in a chat, `/who` shows who is here and `/wheel ask` asks for the wheel; the owner of a session \
             sets roles with `agentx sessions share`"
                .into()
        }
        RuntimeError::Remote { code, .. } => return server_hint(code).map(str::to_owned),
        RuntimeError::Refused(_) => return None,
    };
    Some(hint)
}

/// Returns the advice about an error of the log.
fn log_hint(error: &LogError) -> Option<String> {
    let hint = match error {
        LogError::NotFound(_) => "`agentx sessions list` shows all of them".into(),
        LogError::Busy {
            session,
            server: Some(url),
            ..
        } => format!(
            "`agentx --connect {url} resume {session}` joins it there, `agentx watch {session}` watches it, \
             `agentx fork {session}` continues in a copy"
        ),
        LogError::Busy { session, .. } => format!(
            "`agentx watch {session}` watches it, `agentx sessions show {session}` prints it, `agentx fork \
             {session}` continues in a copy; if the other process is `agentx serve`, join it with --connect \
             URL"
        ),
        LogError::Fenced { session, .. } => {
            format!("another process continues it; `agentx sessions show {session}` prints it")
        }
        LogError::Corrupt { session, seq, .. } => {
            let good = seq.saturating_sub(1);
            format!("`agentx sessions verify {session}` shows which events are intact; events up to {good} can be forked")
        }
        LogError::Newer { .. } => {
            "install the newer version to write it; commands that only read still work: `agentx sessions list`".into()
        }
        LogError::Full { .. } => {
            "free some disk space; a running session continues from the last saved step: `agentx resume \
             --last`"
                .into()
        }
        LogError::Locked { .. } => {
            "end the program that locks it, such as a database tool or a backup; a running session continues \
             from the last saved step: `agentx resume --last`"
                .into()
        }
        lost if lost.is_lost() => {
            "repeat it in a new session; to continue this one, restore the file from a backup".into()
        }
        LogError::Store { what, .. } if what.contains("missing or empty") => {
            "put the database back beside its log; to start over, move the log away".into()
        }
        LogError::Store { path, what } => {
            let full = if what.contains("I/O") { "check whether the disk is full; " } else { "" };
            format!(
                "{full}choose another directory with --data or AGENTX_DATA; if the file is damaged, move {path} away to start over, but keep it"
            )
        }
        LogError::Exists(session) => format!(
            "`agentx sessions show {session}` shows the session here; to get the other one, delete this one \
             first, or choose another directory with --data"
        ),
        _ => return None,
    };
    Some(hint)
}

/// Returns the advice about an answer of a server that has no other meaning here.
fn server_hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "unknown_person" => {
            "`agentx identity show` prints your key; the server's operator gives you access with `agentx identity trust KEY --as member`"
        }
        "unauthenticated" | "bad_signature" => "`agentx identity show` prints the key you use with servers",
        "stale_challenge" => "try again; if it happens again, compare the clocks of both machines",
        "rate_limited" | "too_many" | "full" | "closing" | "timed_out" => "wait a moment, then try again",
        "not_offered" => "omit --connect to use it on this machine, or run it on the server's machine",
        "operators_only" => {
            "the operator can run it, or allow you to with `agentx identity trust KEY --as operator`"
        }
        "bad_answer" => {
            "check the address: another program may answer there; or update the older of the two sides"
        }
        "stale_epoch" => "`/who` in a chat shows who is driving",
        "store" => "the server's operator finds the cause in the output of `agentx serve`",
        "store_lost" => "restart `agentx serve` there, with the right data directory in its place",
        _ => return None,
    })
}

/// The owner of a session cannot grant rights that a server reserves for its operator.
pub fn operator_only_error(error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Denied(detail) => RuntimeError::Remote {
            code: "operators_only".into(),
            detail,
        },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_an_unknown_provider_names_the_provider() {
        let hint = unlisted_model("nosuch/x");
        assert!(
            hint.contains("there is no provider `nosuch`") && !hint.contains("PROVIDER/ID"),
            "{hint}"
        );
        assert!(unlisted_model("x").contains("`PROVIDER/ID`"));
    }
}
