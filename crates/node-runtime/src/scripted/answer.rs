//! Computes the answer to a request: pure. The same request always gets the same answer.
//!
//! The answer depends only on the request: the last input, the number of answers with tool calls since then,
//! and their results. So a run that is interrupted, resumed or replayed continues with the next step, and a
//! fork answers like its parent.

use agentx_types::{ContentPart, Message, ModelRequest, Role, ToolResultPart, ToolSpec};
use serde_json::{Map, Value, json};

use super::demo_intent::{DemoIntent, ToolWish};
use super::intent::plan;
use super::phrase::is_in_chinese;
use super::{bilingual_text, named_tools, summary};

/// Maximum number of inputs of a transcript that the demo repeats.
const SAID: usize = 20;
/// The number of characters of each of these inputs that are repeated.
const SAID_CHARS: usize = 160;

/// Maximum number of inputs that the demo proposes to remember.
const PROPOSED: usize = 3;

/// An answer of the demo.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DemoAnswer {
    /// Shown as reasoning, before the text.
    pub(super) thinking: String,
    /// The text, in Markdown: results of tools first, then the next steps.
    pub(super) text: String,
    /// The tools to call, with their arguments.
    pub(super) calls: Vec<(String, Value)>,
}

/// The answer to `request`.
pub(super) fn answer(request: &ModelRequest) -> DemoAnswer {
    if let Some(text) = condensed(request) {
        return DemoAnswer {
            text,
            ..DemoAnswer::default()
        };
    }
    if let Some(text) = proposed(request) {
        return DemoAnswer {
            text,
            ..DemoAnswer::default()
        };
    }
    let asked = super::input_of(request);
    let input = asked
        .map(|at| super::text_of(&request.messages[at]))
        .unwrap_or_default();
    let since = asked.map_or(&request.messages[..], |at| &request.messages[at + 1..]);
    let chinese = is_in_chinese(&input);
    let done_steps = since.iter().filter(|message| asks_for_tools(message)).count();
    let mut answer = DemoAnswer::default();
    for result in last_results(since) {
        add_paragraph(&mut answer.text, &summary::summary(result, chinese));
    }
    let named = named_tools::calls(&input, &request.tools);
    if !named.is_empty() {
        if done_steps == 0 {
            ask_for(named, chinese, &mut answer);
        }
        return answer;
    }
    let steps = plan(&input);
    for step in steps.get(done_steps..).unwrap_or_default() {
        step.iter()
            .for_each(|intent| carry_out(intent, request, chinese, &mut answer));
        if !answer.calls.is_empty() {
            break;
        }
    }
    answer
}

/// Returns the person's inputs in a transcript to condense: a script cannot extract more.
fn condensed(request: &ModelRequest) -> Option<String> {
    let asked = request.messages.first().filter(|_| request.asks_for_summary())?;
    Some({
        let text = asked.text();
        let said = text.lines().filter_map(|line| line.split_once("] person: "));
        let said: Vec<String> = said
            .take(SAID)
            .map(|(_, said)| said.chars().take(SAID_CHARS).collect())
            .collect();
        format!(
            "A script condensed this: it keeps what the person said.\n\n- {}",
            said.join("\n- ")
        )
    })
}

/// Returns a list of proposals for the memory of the person: the inputs in which they say "remember".
fn proposed(request: &ModelRequest) -> Option<String> {
    let asked = request.messages.first().filter(|_| request.asks_for_memories())?;
    let text = asked.text();
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("] person: "));
    let wanted = lines.filter_map(|(seq, said)| {
        let (_, fact) = said.split_once("remember ")?;
        let fact = fact.trim_start_matches("that ");
        Some(json!({ "text": fact, "from": seq.parse::<u64>().ok()? }))
    });
    let wanted: Vec<Value> = wanted.take(PROPOSED).collect();
    Some(json!({ "proposals": wanted }).to_string())
}

fn asks_for_tools(message: &Message) -> bool {
    message.role == Role::Assistant
        && message
            .content
            .iter()
            .any(|part| matches!(part, ContentPart::ToolCall(_)))
}

/// The results after the last answer, which are new. Earlier ones belong to a run that is over or was
/// abandoned: only the input is answered.
fn last_results(since: &[std::sync::Arc<Message>]) -> Vec<&ToolResultPart> {
    let start = since
        .iter()
        .rposition(|message| message.role == Role::Assistant)
        .map_or(0, |at| at + 1);
    let parts = since[start..].iter().flat_map(|message| &message.content);
    parts
        .filter_map(|part| {
            if let ContentPart::ToolResult(result) = part {
                Some(result)
            } else {
                None
            }
        })
        .collect()
}

/// Adds the text or the tool call of an intent. A tool that the session does not offer is named instead of
/// called.
fn carry_out(intent: &DemoIntent, request: &ModelRequest, chinese: bool, answer: &mut DemoAnswer) {
    let said = match intent {
        DemoIntent::Greet => bilingual_text::GREETING.get(chinese).to_owned(),
        DemoIntent::Help => bilingual_text::HELP.get(chinese).to_owned(),
        DemoIntent::Identity => bilingual_text::IDENTITY.get(chinese).to_owned(),
        DemoIntent::Connect => bilingual_text::CONNECT.get(chinese).to_owned(),
        DemoIntent::Thanks => bilingual_text::THANKS.get(chinese).to_owned(),
        DemoIntent::Bye => bilingual_text::BYE.get(chinese).to_owned(),
        DemoIntent::Unclear => bilingual_text::UNCLEAR.get(chinese).to_owned(),
        DemoIntent::Echo(text) => text.clone(),
        DemoIntent::Story => bilingual_text::story(chinese),
        DemoIntent::Count(last) => count(*last, chinese),
        DemoIntent::Think(topic) => {
            answer.thinking = format!("{}{topic}", bilingual_text::THOUGHT.get(chinese));
            bilingual_text::THOUGHT_ENDS.get(chinese).to_owned()
        }
        DemoIntent::Tool(wish) => match call(wish, &request.tools) {
            Ok(call) => {
                let said = announcement(&call.0, chinese);
                answer.calls.push(call);
                said
            }
            Err(missing) if chinese => format!("这需要工具 `{missing}`，但这个会话里没有。"),
            Err(missing) => format!("That needs the tool `{missing}`, which this session does not offer."),
        },
    };
    add_paragraph(&mut answer.text, &said);
}

/// Asks for tools that were named.
fn ask_for(calls: Vec<(String, Value)>, chinese: bool, answer: &mut DemoAnswer) {
    for call in calls {
        add_paragraph(&mut answer.text, &announcement(&call.0, chinese));
        answer.calls.push(call);
    }
}

fn announcement(tool: &str, chinese: bool) -> String {
    if chinese {
        format!("我用 `{tool}` 来做。")
    } else {
        format!("I will use `{tool}` for that.")
    }
}

fn add_paragraph(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

fn count(last: u32, chinese: bool) -> String {
    let mut text = String::new();
    for number in 1..=last {
        text.push_str(&number.to_string());
        text.push_str(if number % 20 == 0 { "\n" } else { " " });
    }
    text.push_str(bilingual_text::DONE_COUNTING.get(chinese));
    text
}

/// The tool and the arguments for a request; the error is the name of a tool that is not offered.
fn call(wish: &ToolWish, tools: &[ToolSpec]) -> Result<(String, Value), &'static str> {
    let name = match wish {
        ToolWish::List { .. } => "glob",
        ToolWish::Read { .. } => "read",
        ToolWish::Run { .. } => "bash",
        ToolWish::Write { .. } => "write",
        ToolWish::Replace { .. } => "edit",
        ToolWish::Search { .. } => "grep",
    };
    let tool = tools.iter().find(|tool| tool.name == name).ok_or(name)?;
    let arguments = arguments(wish, tool).into_iter();
    let input: Map<String, Value> = arguments.map(|(key, text)| (key, Value::from(text))).collect();
    Ok((tool.name.clone(), Value::Object(input)))
}

/// Returns the arguments for `tool`, under its own parameter names.
fn arguments<'a>(wish: &'a ToolWish, tool: &ToolSpec) -> Vec<(String, &'a str)> {
    let path_key = || tool.path_argument.clone().unwrap_or_else(|| "path".to_owned());
    match wish {
        ToolWish::List { pattern } => vec![("pattern".to_owned(), pattern)],
        ToolWish::Read { path } => vec![(path_key(), path)],
        ToolWish::Run { command } => {
            vec![(
                tool.command_argument
                    .clone()
                    .unwrap_or_else(|| "command".to_owned()),
                command,
            )]
        }
        ToolWish::Write { path, content } => vec![(path_key(), path), ("content".to_owned(), content)],
        ToolWish::Replace { path, old, new } => vec![
            (path_key(), path),
            (first_of(tool, &["old", "old_string", "old_text"]), old),
            (first_of(tool, &["new", "new_string", "new_text"]), new),
        ],
        ToolWish::Search { pattern, path } => {
            let place = path.as_ref().map(|path| (path_key(), path.as_str()));
            std::iter::once(("pattern".to_owned(), pattern.as_str()))
                .chain(place)
                .collect()
        }
    }
}

/// The first of `keys` that the tool's schema has.
fn first_of(tool: &ToolSpec, keys: &[&str]) -> String {
    let known = |key: &&&str| {
        tool.input_schema
            .get("properties")
            .is_some_and(|all| all.get(**key).is_some())
    };
    keys.iter()
        .find(known)
        .or(keys.first())
        .copied()
        .unwrap_or_default()
        .to_owned()
}
