//! The lines about a conversation that is condensed, and about an agent that repeats itself.

use agentx::types::{ContextChange, ContextItem, ContextRange, LoopDetected, LoopResponse, RequestPart};

use super::TranscriptRenderer;
use crate::exit::http_status::with_status;
use crate::render::clean::visible;
use crate::render::table::cut;
use crate::render::units;

impl TranscriptRenderer {
    /// Prints that the model was notified of a loop. The question about a loop, and the end of the run, have
    /// their own lines.
    pub(super) fn loop_detected(&mut self, found: &LoopDetected) {
        if found.response == LoopResponse::Nudge {
            let message = cut(&visible(&found.message), LONGEST_REASON);
            let line = format!("the agent repeats itself: {message}; the model was told");
            self.aside(&self.style.warn(&line));
        }
    }

    /// A service gave context to the run: one line that names it.
    fn built(&self, source: &str, items: &[ContextItem], problem: Option<&str>) -> String {
        if let Some(problem) = problem {
            let problem = cut(&visible(problem), LONGEST_REASON);
            return self
                .style
                .warn(&format!("no {} was used: {problem}", visible(source)));
        }
        let ids: Vec<&str> = items
            .iter()
            .map(|item| item.id.split('.').next().unwrap_or_default())
            .collect();
        let ids = visible(&ids.join(", "));
        self.style.dim(&match (source, items.len()) {
            ("memory", 1) => format!("1 memory used: {ids}; `agentx memory show {ids}` shows it"),
            ("memory", count) => {
                format!("{count} memories used: {ids}; `agentx memory show NUMBER` shows one")
            }
            (source, count) => format!(
                "{} from {}: {ids}",
                units::counted(count as u64, "item"),
                visible(source)
            ),
        })
    }

    /// A model was asked what to remember; the person decides about its proposals.
    fn proposed(&self, items: &[ContextItem], problem: Option<&str>) -> String {
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let ids = visible(&ids.join(", "));
        let problem = problem.map(|problem| cut(&visible(problem), LONGEST_REASON));
        let problem = problem.unwrap_or_default();
        let line = match items.len() {
            0 => format!("no memory was proposed: {problem}"),
            1 => format!("1 memory proposed: {ids}; `agentx memory` shows what waits for you"),
            count => {
                format!("{count} memories proposed: {ids}; `agentx memory` shows what waits for you")
            }
        };
        if items.is_empty() || problem.is_empty() {
            self.style.dim(&line)
        } else {
            self.style.dim(&format!("{line}; {problem}"))
        }
    }

    /// Another model is asked from here on. The line contains the provider's error.
    fn fell_back(&mut self, change: &ContextChange) -> String {
        let ContextChange::FellBack {
            from,
            to,
            code,
            message,
            unpriced,
        } = change
        else {
            return String::new();
        };
        let status = self.problems.failure.take().and_then(|failure| failure.status);
        let message = with_status(&cut(&visible(message), LONGEST_REASON), status);
        let until = asked_until(code);
        let (from, to, code) = (visible(from), visible(to), visible(code));
        let price = if *unpriced && self.max_cost.is_some() {
            "; its prices are unknown, so max_cost counts only the costs that its server reports"
        } else {
            ""
        };
        self.style.warn(&format!(
            "{from} did not answer ({code}: {message}); asking {to} {until}{price}"
        ))
    }

    pub(super) fn context_changed(&mut self, change: &ContextChange) {
        let line = match change {
            // The status row shows the wait.
            ContextChange::Condensing(_) => return,
            ContextChange::Condensed(range) => {
                // The error about a full window is remedied.
                self.problems.failure = None;
                let tokens = units::count(range.summary_tokens);
                let line = format!(
                    "condensed {} to {tokens}; /compact undo takes it back",
                    range_size(range)
                );
                self.style.dim(&line)
            }
            ContextChange::Restored(range) => self
                .style
                .dim(&format!("{} are restored in full", range_size(range))),
            ContextChange::Repaired(part) => {
                // The provider's error was handled.
                let failure = self.problems.failure.take();
                let why = why_repaired(failure.as_ref().map(|failure| failure.code.as_str()));
                let what = repaired(*part);
                self.style.dim(&format!("{why}; retried {what}"))
            }
            ContextChange::ToolsLeftOut { tools } => {
                self.problems.failure = None;
                self.style.warn(&tools_left_out(tools))
            }
            ContextChange::FellBack { .. } => self.fell_back(change),
            ContextChange::Built {
                source,
                items,
                problem,
            } => self.built(source, items, problem.as_deref()),
            ContextChange::Proposed { items, problem } => self.proposed(items, problem.as_deref()),
            ContextChange::Shortened { window } => {
                // The provider's error was handled.
                self.problems.failure = None;
                let window = units::count(*window);
                self.style.dim(&format!(
                    "the conversation did not fit; retried with less of it (at most {window} tokens)"
                ))
            }
            ContextChange::WindowGuessed {
                window,
                before,
                fixed,
            } => self.style.dim(&guessed_window(*window, *before, *fixed)),
            ContextChange::Cut { window, assumed } => self.style.warn(&cut_by_server(*window, *assumed)),
            ContextChange::Failed { code, .. } if code == "interrupted" => return,
            // The window that slides then is as full a few calls later, and each summary fails for the same
            // reason.
            ContextChange::Failed { code, .. } if code != NOTHING && self.problems.not_condensed => return,
            ContextChange::Failed { code, message } => {
                self.problems.not_condensed |= code != NOTHING;
                let message = cut(&visible(message), LONGEST_REASON);
                self.style.warn(&format!("not condensed: {message}"))
            }
        };
        // A summary that failed decides nothing: the run continues with less, or ends with the error.
        let failure = match change {
            ContextChange::Failed { .. } => self.problems.failure.take(),
            _ => None,
        };
        self.aside(&line);
        self.problems.failure = failure;
    }
}

/// Advice about a declined answer. The cause may be an earlier message, and only the person can tell.
pub(super) const DECLINED: &str = "the model declined to answer. Your message and the work on it are no \
                                   longer sent, and after another refusal the messages before it are not \
                                   sent either: rephrase it, or go back yourself with /rewind (agentx rewind)";

/// The provider has a word for the end of the answer that AgentX does not know.
pub(super) const UNKNOWN_END: &str = "the answer ended for an unknown reason and may be incomplete";

/// Returns the words about an answer that says nothing, with what to do for who has commands.
pub(super) fn no_answer(has_commands: bool) -> &'static str {
    if has_commands {
        "the model gave no answer: /retry asks again, /model NAME chooses another model"
    } else {
        "the model gave no answer"
    }
}

/// The code for a request of a person that cannot be fulfilled, which is reported each time.
const NOTHING: &str = "nothing_to_condense";

/// Maximum length of the reason why nothing was condensed. People read the reason; additions of a server are
/// cut.
const LONGEST_REASON: usize = 400;

/// Describes a window that the server cut, with the remedy: the person can start the server with a larger
/// window, or set its size.
fn cut_by_server(window: u64, assumed: u64) -> String {
    format!(
        "the server reads only {window} tokens and drops older ones ({assumed} were assumed): the \
         conversation is condensed to fit. To use more, start Ollama with OLLAMA_CONTEXT_LENGTH={assumed}, \
         or set num_ctx in the Modelfile; otherwise set context_window: {window} for this model in the \
         configuration"
    )
}

/// Says how much is sent from now on to a model whose server refused a conversation without a size, with the
/// remedy. A `fixed` window does not grow any more.
fn guessed_window(window: u64, before: u64, fixed: bool) -> String {
    let (now, until_now) = (units::count(window), units::count(before));
    if window < before {
        let remedy = if fixed {
            "It does not grow any more; choose the model again with /model, or set context_window in the configuration"
        } else {
            "This grows again while requests are answered; /model or context_window in the configuration sets it"
        };
        format!(
            "the server named no size: at most {now} tokens are assumed to fit ({until_now} before). {remedy}"
        )
    } else {
        format!(
            "requests of that size were answered: at most {now} tokens are assumed to fit ({until_now} before)"
        )
    }
}

/// Returns why a request is sent in another form, by the code of the error before. The server's own failures,
/// whatever its words, are followed by another form only if each attempt got the same HTTP 500; sessions of
/// earlier programs have such forms after an overload, too.
fn why_repaired(code: Option<&str>) -> &'static str {
    match code {
        Some(
            "server_error" | "overloaded" | "rate_limited" | "timeout" | "bad_generation" | "bad_response"
            | "conflict" | "stream_broken",
        ) => "the server answered 500 each time",
        _ => "the request was rejected",
    }
}

fn repaired(part: RequestPart) -> &'static str {
    match part {
        RequestPart::Thinking => "without earlier reasoning",
        RequestPart::Extras => "without optional settings",
        RequestPart::Media => "without images and files",
        RequestPart::ToolCalls => "with earlier tool calls as plain text",
        RequestPart::Tools => "without a tool",
        RequestPart::LongestAnswer => "with a shorter limit for the answer",
        RequestPart::Blocks => "without parts that only their own provider can read",
        RequestPart::Temperature => "without `params.temperature`, which this model does not take",
        RequestPart::StreamOptions => "without `stream_options`, so tokens are estimated",
        RequestPart::ReasoningEffort => "without `reasoning_effort`",
        RequestPart::CacheKey => "without `prompt_cache_key`",
        RequestPart::MaxTokens => "with the limit for the answer as `max_completion_tokens`",
        RequestPart::MaxCompletionTokens => "with the limit for the answer as `max_tokens`",
        RequestPart::ReasoningSummary => "without summaries of its reasoning",
        RequestPart::EmptyText => "without empty texts beside tool calls",
        RequestPart::ThoughtSignature => "with unchecked signatures",
        RequestPart::StrictSchema => "with the schema of the answer, but not `strict`",
        RequestPart::AnswerSchema => "with the schema of the answer in words",
        RequestPart::ReasoningContent => "without `reasoning_content`",
        RequestPart::MissingReasoning => "with earlier reasoning as `reasoning_content`",
        RequestPart::Reasoning => "without `reasoning`",
        RequestPart::Include => "without `include`, so its reasoning is not kept",
        RequestPart::Store => "without `store`",
        RequestPart::ToolStrict => "without `strict` in tools",
        RequestPart::CacheControl => "without `cache_control`, so the provider caches nothing",
        RequestPart::ThinkingBinding => "without `block_binding`",
        RequestPart::ThinkingDisplay => "without `thinking.display`, so reasoning may not be shown",
        RequestPart::AdaptiveThinking => "with a budget for reasoning instead of `adaptive`",
        RequestPart::ThinkingBudget => "with `adaptive` reasoning instead of a budget",
        RequestPart::ToolJsonSchema => "with `parameters` of tools instead of `parametersJsonSchema`",
        RequestPart::NamedPart => "with a note in place of the part that it names",
        RequestPart::LatestMessages => "with a note in place of the latest messages",
        RequestPart::Roles => "with alternating user and assistant messages",
        RequestPart::Unknown => "as it was",
    }
}

/// Names the tools that were left out, so that the person can fix or disable them.
fn tools_left_out(tools: &[String]) -> String {
    let names: Vec<String> = tools
        .iter()
        .take(LISTED_TOOLS)
        .map(|name| visible(name))
        .collect();
    let more = match tools.len().saturating_sub(LISTED_TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "the provider rejected the definitions of tools; retried without {}{more}. They are offered again once their files change; tools.disabled removes them permanently",
        names.join(", ")
    )
}

/// Maximum number of names to list.
const LISTED_TOOLS: usize = 8;

fn range_size(range: &ContextRange) -> String {
    let messages = units::counted(range.messages, "message");
    format!("{messages}, {} tokens,", units::count(range.tokens))
}

/// Returns how long a fallback is asked that took over for the reason `code`.
fn asked_until(code: &str) -> &'static str {
    match code {
        // A message that a model declined would be declined in the next run too.
        "content_filter" => "while the declined message is in the conversation",
        _ => "until this run ends",
    }
}
