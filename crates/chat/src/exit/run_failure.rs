//! Exit codes and hints for failed runs: one table for `run` and chat.

use agentx::types::INPUT_TOO_LARGE;

use crate::exit::Exit;

/// The code of an answer that reached its longest length.
pub const CUT_OFF: &str = "answer_cut_off";
/// The code if the events of a followed session end with an error.
pub(crate) const FOLLOWING_ENDED: &str = "cut_off";
/// The code of an answer that says nothing.
pub const EMPTY: &str = "empty_answer";

/// The code of a run whose agent repeats itself.
const STUCK: &str = "stuck";
/// The code of a run whose question got no answer in time.
pub const NEEDED: &str = "operator_needed";
/// The code of a run that ends because a question of the model waits for an answer.
pub(crate) const ANSWER_NEEDED: &str = "answer_needed";
/// The code of a run that ends because it waits for a time.
pub(crate) const WAITS: &str = "waits";

/// The exit of a run that failed with this code.
pub fn exit_of(code: &str) -> Exit {
    match code {
        "unauthorized" | "forbidden" | "missing_key" | "bad_key" | "billing" => Exit::Credentials,
        "bad_address" => Exit::Config,
        "not_found" | "too_large" | "rate_limited" | "overloaded" | "server_error" | "timeout"
        | "bad_request" | "conflict" | "context_window" | "content_filter" | "bad_generation"
        | "bad_response" | "stream_broken" | "connection_failed" | "connection_lost" | "tls"
        | "proxy_login" | "redirected" | "empty_pause" | "endless_pause" | CUT_OFF | EMPTY => Exit::Provider,
        STUCK | "day_limit" => Exit::Limit,
        "disk_full" | "storage" => Exit::Storage,
        "other_server" => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// Returns the hint for a failed `agentx run`.
pub(crate) fn hint_after_run(exit: Exit, code: &str, message: &str) -> Option<String> {
    let hint = match exit {
        Exit::Limit if code == STUCK => {
            format!("tell it what to do instead (`agentx run --last \"PROMPT\"`), {OUT_OF_LOOP}")
        }
        Exit::Limit => format!(
            "{GO_ON}; raise the limits with limits.* in the configuration (`agentx config show` names the file of each) or with --max-iterations, --max-cost, --timeout"
        ),
        Exit::Denied if code == NEEDED => {
            "the call keeps waiting; use --approval-timeout to wait longer".into()
        }
        Exit::Denied if code == ANSWER_NEEDED => {
            "answer it there and the run continues; with `tools.ask_user: decide` the model decides for itself".into()
        }
        Exit::Denied => "allow it in this folder with a rule, as `agentx approvals add allow bash 'COMMAND' --here`, or run with --yes".into(),
        Exit::Waits => "`agentx waits run` continues what is due; `agentx serve` does that by itself".into(),
        Exit::Interrupted if code == "gave_up" => {
            "the session shows whether it arrived; in a chat that stays open it is in the line again".into()
        }
        Exit::Interrupted => GO_ON.into(),
        Exit::Storage if code == FOLLOWING_ENDED => {
            let session = session_in(message).unwrap_or("ID");
            format!("`agentx sessions verify {session}` shows which events are intact")
        }
        Exit::Provider if matches!(code, CUT_OFF | EMPTY) => remedy(exit, code)?.to_owned(),
        Exit::Provider if has_too_many_states(message) => format!("{FEWER_STATES}; {GO_ON}"),
        Exit::Provider if message.ends_with(INPUT_TOO_LARGE) => SHORTER_MESSAGE.to_owned(),
        Exit::Provider if wanted_wait(message).is_some() => {
            format!("try again in {}; {GO_ON}", wanted_wait(message)?)
        }
        Exit::Provider => format!("{}; {GO_ON}", of_server(exit, code, message)?),
        exit => of_server(exit, code, message)?.to_owned(),
    };
    Some(hint)
}

/// Returns the id of the session that a message names.
fn session_in(message: &str) -> Option<&str> {
    let mut words = message.split(|c: char| c.is_whitespace() || c == ':');
    words.find(|word| word.starts_with("ses_"))
}

/// Returns the hint for an `agentx run` that failed before the model said or did anything.
pub(crate) fn hint_without_answer(exit: Exit, code: &str, message: &str) -> Option<String> {
    match exit {
        Exit::Provider if wanted_wait(message).is_some() => {
            Some(format!("run it again in {}", wanted_wait(message)?))
        }
        Exit::Provider if !matches!(code, CUT_OFF | EMPTY) => match of_server(exit, code, message)? {
            SHORTER_MESSAGE => Some(SHORTER_MESSAGE.into()),
            KEPT | REFUSED => Some("run it again, or choose another model (`agentx models`)".into()),
            remedy => Some(format!("{remedy}; then run it again")),
        },
        _ => hint_after_run(exit, code, message),
    }
}

/// The time that a provider asks to wait, if that is longer than AgentX waits by itself.
fn wanted_wait(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("it asks to wait ")?;
    let (time, _) = rest.split_once(", but `model_calls.max_retry_time`")?;
    Some(time)
}

/// The remedy, which the words of the message may make a better one.
fn of_server(exit: Exit, code: &str, message: &str) -> Option<&'static str> {
    match code {
        "connection_failed" if message.contains(OLLAMA) => Some(START_OLLAMA),
        "rate_limited" if lasts_for_hours(message) => Some(USED_UP),
        "billing" if affords_less(message) => Some(SHORTER_ANSWERS),
        "bad_request" if wants_responses(message) => Some(TAKE_RESPONSES),
        "not_found" if message.contains("asked at /responses") => Some(TAKE_CHAT),
        "unauthorized" | "forbidden" if has_no_key(message) => Some(SET_KEY),
        "context_window" | "too_large" if message.ends_with(INPUT_TOO_LARGE) => Some(SHORTER_MESSAGE),
        _ => remedy(exit, code),
    }
}

/// Returns whether a limit is one for hours or a day: Gemini's quota of a day, the usage limits of plans.
fn lasts_for_hours(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["quota is one per day", "per day limit", "usage limit"]
        .iter()
        .any(|words| message.contains(words))
}

/// Returns whether OpenRouter would answer a request for fewer tokens: "You requested up to 65536 tokens, but
/// can only afford 1200" (<https://github.com/can1357/oh-my-pi/issues/9569>).
fn affords_less(message: &str) -> bool {
    let afforded = message.split_once("can only afford ").map(|(_, rest)| rest);
    afforded.is_some_and(|rest| rest.starts_with(|first: char| ('1'..='9').contains(&first)))
}

/// Returns whether OpenAI refuses tools at Chat Completions: "Function tools with reasoning_effort are not
/// supported for gpt-6.2-sol in /v1/chat/completions. Please use /v1/responses instead."
fn wants_responses(message: &str) -> bool {
    message.contains("/v1/chat/completions") && message.contains("use /v1/responses")
}

/// Returns whether a server refused a request or a list of its models that was asked for without a key.
fn has_no_key(message: &str) -> bool {
    message.contains("(no API key was sent)") || message.contains(" wants a key (HTTP ")
}

/// The hint if a model takes tools only at the Responses API.
const TAKE_RESPONSES: &str = "set `providers.openai.api: openai-responses` in the configuration (or that of \
                              your provider), and start again with --model NAME";
/// The hint if a server does not have the Responses API.
const TAKE_CHAT: &str = "if the server only has Chat Completions, set `providers.openai.api: openai-chat` in \
                         the configuration, and start again with --model NAME; otherwise check the address \
                         (`agentx config show`)";

/// The hint if a limit is used up for hours.
const USED_UP: &str = "wait until this limit begins again, or choose another model";
/// The hint if the money suffices for a shorter answer.
const SHORTER_ANSWERS: &str = "set `params.max_output_tokens` in the configuration to fewer tokens than you can afford, or add credits at the provider";

/// The hint if the message of the person alone does not fit into the window.
const SHORTER_MESSAGE: &str = "send a shorter message, or put the text into a file and ask the agent to read it in parts, \
                               or choose a model with a larger window";

/// The hint if nothing listens where Ollama would.
pub(crate) const START_OLLAMA: &str =
    "start Ollama with `ollama serve`, or name its address with OLLAMA_HOST or OLLAMA_BASE_URL";
/// The port of Ollama in an address.
pub(crate) const OLLAMA: &str = ":11434";

/// Returns the hint for a failed run in a chat, which stays open.
pub(crate) fn hint_in_chat(exit: Exit, code: &str, message: &str) -> Option<String> {
    let hint = match exit {
        Exit::Limit if code == STUCK => format!("tell it what to do instead, {OUT_OF_LOOP}"),
        Exit::Limit => {
            "`/retry` or your next message continues; raise the limits with limits.* in the configuration (`agentx config show` names the file of each) or with --max-iterations, --max-cost, --timeout".into()
        }
        Exit::Provider if has_too_many_states(message) => format!("{FEWER_STATES}; then use `/retry`"),
        Exit::Provider if wanted_wait(message).is_some() => {
            format!("nothing is lost; use `/retry` in {}", wanted_wait(message)?)
        }
        exit => match of_server(exit, code, message)? {
            key @ (KEY | SET_KEY) => format!("{key}; then leave and continue with `agentx resume --last`: a running chat keeps the key it started with"),
            KEPT => "Nothing is lost. Use `/retry` once the cause is fixed.".into(),
            REFUSED => "Nothing is lost. Use `/retry` once the cause is fixed, or go back with `/rewind` to before what the provider refuses.".into(),
            MODEL => format!("`/model NAME` switches models (`/model` lists them); {MODEL}"),
            SHORTER_MESSAGE => SHORTER_MESSAGE.into(),
            remedy if retry_is_useless(code) => remedy.into(),
            remedy => format!("{remedy}; then use `/retry`"),
        },
    };
    Some(hint)
}

/// Returns whether Gemini refused the schemas of the tools or of the answer together as too large.
fn has_too_many_states(message: &str) -> bool {
    message.contains("too many states for serving")
}

/// The hint if a server cannot hold that many schemas.
const FEWER_STATES: &str = "offer fewer tools (`tools.disabled`, `mcp.NAME.tools`), shorten long lists of choices in \
                            their schemas or in --schema, or choose another model (--model NAME, in a chat /model NAME)";

/// Returns whether the same request would fail again.
fn retry_is_useless(code: &str) -> bool {
    matches!(code, "content_filter" | "other_server")
}

/// The commands that continue a run: one for scripts, one for people.
const GO_ON: &str =
    "continue with `agentx run --last \"go on\"`, or with `/retry` in a chat (`agentx resume --last`)";
/// The hint if the agent repeats itself.
const OUT_OF_LOOP: &str = "or choose another model; `stuck.stop_after` and `stuck.stop_after_errors` in the configuration allow more equal calls";
/// The hint if a key is missing or refused.
const KEY: &str = "check the API key (`agentx config show` prints its variable)";
/// The hint if a server wants a key and none is set.
const SET_KEY: &str = "this server wants an API key, and none is set: set `providers.NAME.api_key` in the \
                       configuration, and `auth` if it is `none` there (`agentx config show` lists them)";
/// The hint if the server does not know the model or the address.
const MODEL: &str = "check the model (`agentx models`) and the address (`agentx config show`)";
/// The hint if a server answers that does not speak the API of a model.
const ADDRESS: &str = "check that a model server runs at the address that `agentx config show` prints";
/// The hint if a provider refuses a conversation in every form.
const REFUSED: &str = "the conversation so far is saved; if the provider refuses it again, go back to before that (`agentx rewind`, in a chat `/rewind`)";
/// The hint if the cause is not known well enough to name a remedy.
const KEPT: &str = "the conversation so far is saved";

fn remedy(exit: Exit, code: &str) -> Option<&'static str> {
    Some(match (exit, code) {
        (Exit::Credentials, "forbidden") => {
            "choose another model, or check the permissions of the API key (`agentx config show` prints its variable)"
        }
        (Exit::Credentials, "billing") => "check your account at the provider",
        (Exit::Credentials, _) => KEY,
        (_, "bad_address") => "correct the address",
        (_, "connection_failed" | "tls" | "redirected") => {
            "check that the server runs at this address; set another one with providers.NAME.base_url in the configuration"
        }
        (_, "proxy_login") => {
            "put the login into the variable, as in HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, and start again"
        }
        (_, "not_found") => MODEL,
        (_, "bad_request") => REFUSED,
        (_, "bad_response") => ADDRESS,
        (_, "context_window") => {
            "use `/compact` in a chat to make room, choose a model with a larger window, or start a new session"
        }
        (_, "too_large") => "choose a model with a larger window, or start a new session",
        (_, "endless_pause") => "rephrase your message, or choose another model",
        (_, "content_filter") => {
            "your message and the work on it are no longer sent, and after another refusal the messages before it are not sent either; rephrase it, or go back yourself (/rewind, `agentx rewind`)"
        }
        (_, CUT_OFF) => {
            "`agentx run --last \"go on\"` continues the answer; `params.max_output_tokens` in the configuration allows longer answers"
        }
        (_, EMPTY) => {
            "`agentx show` shows the work so far; `agentx run --last \"go on\"` tries again, with `--model NAME` on another model"
        }
        (_, "rate_limited") => "wait a moment, or choose another model",
        (_, "overloaded" | "server_error" | "timeout" | "conflict") => "wait a little",
        (_, "other_server") => {
            "restore the address (`agentx config show`), or choose the model to use the new one: --model NAME, in a chat /model NAME"
        }
        (_, "disk_full") => "free some disk space",
        (_, "storage_locked") => "end the program that locks it, such as a database tool or a backup",
        (Exit::Provider, _) => KEPT,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_got_no_key_wants_one() {
        for (said, wanted) in [
            ("no (no API key was sent)", SET_KEY),
            ("the server at http://h wants a key (HTTP 401)", SET_KEY),
            ("invalid key", KEY),
        ] {
            for hint in [
                hint_after_run(Exit::Credentials, "unauthorized", said),
                hint_without_answer(Exit::Credentials, "unauthorized", said),
                hint_in_chat(Exit::Credentials, "unauthorized", said),
            ] {
                let hint = hint.unwrap_or_default();
                assert!(hint.starts_with(wanted), "{said}: {hint}");
            }
        }
    }

    /// The words are Gemini's: <https://github.com/flutter/genui/issues/428>.
    #[test]
    fn schemas_with_too_many_states_say_what_makes_them_fewer() {
        let said = "The specified schema produces a constraint that has too many states for serving.";
        for hint in [
            hint_after_run(Exit::Provider, "bad_request", said),
            hint_in_chat(Exit::Provider, "bad_request", said),
        ] {
            let hint = hint.unwrap_or_default();
            assert!(
                hint.contains("tools.disabled") && hint.contains("--schema"),
                "{hint}"
            );
        }
    }

    #[test]
    fn a_hint_says_what_to_check_where_something_can_be() {
        let refused = "connection_failed";
        assert_eq!(exit_of(refused), Exit::Provider);
        let address = "cannot connect to http://localhost:9000/v1";
        let hint = hint_after_run(Exit::Provider, refused, address).unwrap_or_default();
        assert!(
            hint.contains("base_url")
                && hint.contains("run --last \"go on\"")
                && hint.contains("resume --last"),
            "{hint}"
        );
        let hint = hint_in_chat(Exit::Provider, refused, address).unwrap_or_default();
        assert!(
            hint.contains("base_url") && hint.contains("/retry") && !hint.contains("resume"),
            "{hint}"
        );
        let declined = hint_in_chat(Exit::Provider, "content_filter", "").unwrap_or_default();
        assert!(!declined.contains("/retry"), "{declined}");
        let hint = hint_in_chat(Exit::Credentials, "unauthorized", "").unwrap_or_default();
        assert!(
            hint.contains("agentx resume --last") && !hint.contains("/retry"),
            "a chat does not read a key again: {hint}"
        );
        assert_eq!(hint_in_chat(Exit::Failed, "something_else", ""), None);
    }

    #[test]
    fn a_message_that_is_too_large_itself_is_not_condensed() {
        let said = format!("it does not fit; {INPUT_TOO_LARGE}");
        for code in ["context_window", "too_large"] {
            for hint in [
                hint_after_run(Exit::Provider, code, &said),
                hint_without_answer(Exit::Provider, code, &said),
                hint_in_chat(Exit::Provider, code, &said),
            ] {
                assert_eq!(hint.as_deref(), Some(SHORTER_MESSAGE));
            }
        }
        let other = hint_in_chat(Exit::Provider, "context_window", "it does not fit").unwrap_or_default();
        assert!(other.contains("/compact"), "{other}");
    }

    #[test]
    fn a_refused_conversation_is_gone_back_in() {
        let code = "bad_request";
        for hint in [
            hint_after_run(Exit::Provider, code, "no"),
            hint_in_chat(Exit::Provider, code, "no"),
        ] {
            let hint = hint.unwrap_or_default();
            assert!(hint.contains("/rewind"), "{hint}");
        }
        let first = hint_without_answer(Exit::Provider, code, "no").unwrap_or_default();
        assert!(
            !first.contains("rewind"),
            "nothing is before the first message: {first}"
        );
    }

    #[test]
    fn the_words_of_a_provider_make_the_hint_a_better_one() {
        let day = "Quota exceeded (this quota is one per day, which begins again at midnight Pacific time)";
        let afford = "You requested up to 65536 tokens, but can only afford 1200. To increase, visit …";
        let none = "You requested up to 32000 tokens, but can only afford 0. To increase, visit …";
        let tools = "openai says: Function tools with reasoning_effort are not supported for gpt-6.2-sol in /v1/chat/completions. Please use /v1/responses instead.";
        let path = "openai says: Not Found (it was asked at /responses)";
        for (exit, code, said, hinted) in [
            (
                Exit::Provider,
                "rate_limited",
                day,
                "until this limit begins again",
            ),
            (Exit::Provider, "rate_limited", "slow down", "wait a moment"),
            (Exit::Credentials, "billing", afford, "`params.max_output_tokens`"),
            (Exit::Credentials, "billing", none, "check your account"),
            (
                Exit::Provider,
                "bad_request",
                tools,
                "providers.openai.api: openai-responses",
            ),
            (
                Exit::Provider,
                "not_found",
                path,
                "providers.openai.api: openai-chat",
            ),
            (Exit::Provider, "not_found", "no such model", "check the model"),
        ] {
            for hint in [
                hint_after_run(exit, code, said),
                hint_without_answer(exit, code, said),
                hint_in_chat(exit, code, said),
            ] {
                let hint = hint.unwrap_or_default();
                assert!(hint.contains(hinted), "{said}: {hint}");
            }
        }
    }

    #[test]
    fn a_model_server_that_does_not_run_is_started_and_nothing_is_continued_that_did_not_begin() {
        let at = "cannot connect to http://localhost:11434/v1: connection refused";
        let hint = hint_without_answer(Exit::Provider, "connection_failed", at).unwrap_or_default();
        assert!(
            hint.contains("`ollama serve`") && !hint.contains("go on"),
            "{hint}"
        );
        let chat = hint_in_chat(Exit::Provider, "connection_failed", at).unwrap_or_default();
        assert!(
            chat.contains("`ollama serve`") && chat.contains("/retry"),
            "{chat}"
        );
        let broken = hint_without_answer(Exit::Provider, "stream_broken", "").unwrap_or_default();
        assert!(!broken.contains("go on"), "{broken}");
        let limit = hint_without_answer(Exit::Limit, "limit", "").unwrap_or_default();
        assert!(limit.contains("go on"), "{limit}");
    }
}
