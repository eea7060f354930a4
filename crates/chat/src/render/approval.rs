//! The question about a tool call, and the answers that a person may type.

use agentx::config::show_rule;
use agentx::runtime::command_severity::{Grade, of_command};
use agentx::runtime::{FileChangePreview, PendingApproval};
use agentx::types::{ApprovalDecision, ApprovalRequested, Rule};
use agentx_terminal::lookalikes::unmistakable;
use serde_json::Value;

use super::answers::Answers;
use super::approval_notes;
use super::approval_reply::ApprovalReply;
use super::asked::{self, PlanLook};
use super::form_reply;
use super::hidden_words;
use super::proposed_change;
use super::style::AnsiStyle;
use super::table::cut;
use super::tool::arguments;
use super::units;

/// A longer rule is not shown in full if its text is already above.
const LONGEST_RULE: usize = 160;

/// The reasons that say no more than the first row of a question.
const PLAIN_REASONS: [&str; 2] = [
    "changing a file needs your approval",
    "running a program needs your approval",
];

/// The note behind a rule about all calls of a tool that somebody else describes.
const ANY_ARGUMENTS: &str = "  (any arguments, until its description changes)";

/// Returns the request of a question that was already open.
pub fn open(asked: &PendingApproval) -> ApprovalRequested {
    ApprovalRequested {
        tool_call_id: asked.tool_call_id.clone(),
        name: asked.name.clone(),
        input: asked.input.clone(),
        reason: asked.reason.clone(),
        suggested: asked.suggested.clone(),
        form: asked.form.clone(),
        question: asked.question.clone(),
    }
}

/// The form of a question in a chat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuestionForm<'a> {
    /// The answers that this person may give; empty if they may not answer.
    pub(crate) answers: Option<&'a Answers>,
    /// Whether `always` keeps a rule: it does not for a call that is asked about each time.
    pub(crate) keeps_rule: bool,
    /// The reason why similar calls would cause a question even with the rule that `always` keeps.
    pub(crate) still_asked: Option<&'a str>,
    /// Another answer that may fit better than the rule that is shown.
    pub(crate) other_answer: Option<&'a str>,
    /// The key or command that makes edits like this one without asking, if it would make this one.
    pub(crate) accepts_edits: Option<&'a str>,
    /// The command that shows the rest of a long change.
    pub(crate) shows_all: &'a str,
    /// The way in which a plan is rendered; `None` if it is printed as the model wrote it.
    pub(crate) plan: Option<PlanLook>,
    /// Whether the screen is small, so that rows which repeat others are left out.
    pub(crate) is_brief: bool,
}

/// Returns the question for a chat, with only the beginning of a long change.
pub(crate) fn question_text(
    request: &ApprovalRequested,
    file: &FileChangePreview,
    how: QuestionForm<'_>,
    style: AnsiStyle,
) -> String {
    if let Some(asked) = &request.question {
        return asked::text_with_plan(request, asked, style, how.plan);
    }
    let mut diff = change(request, file, style);
    if let Some(lines) = diff.as_mut().filter(|lines| is_long(lines)) {
        let more = units::counted(lines.len() - DIFF_LINES, "line");
        lines.truncate(DIFF_LINES);
        lines.push(style.dim(&format!("… {more} more ({} shows all)", how.shows_all)));
    }
    let keeps = how.keeps_rule
        && how
            .answers
            .is_none_or(|answers| answers.has(ApprovalDecision::Always))
        && request.form.is_none()
        && hidden_words::hidden_names(&request.input).is_empty();
    let is_brief = how.is_brief;
    let look = QuestionLook { keeps, is_brief };
    let mut text = question_lines(request, file, diff, look, style);
    if keeps && how.answers.is_some() {
        let other_rule = approval_notes::other_rule(request, how.is_brief);
        text = format!("{}{}\n", text.trim_end(), style.dim(other_rule));
        if let Some(key) = how.accepts_edits {
            let words = format!("  or {key} makes this edit and later ones without asking");
            text.push_str(&format!("{}\n", style.dim(&words)));
        }
        if let Some(other) = how.other_answer {
            text.push_str(&format!(
                "{}\n",
                style.dim(&unmistakable(&format!("  or {other}")))
            ));
        }
    }
    if let Some(why) = how.still_asked {
        let words = format!("  but it would still be asked about: {}", unmistakable(why));
        text.push_str(&format!("{}\n", style.dim(&words)));
    }
    text
}

/// Returns the whole change, if the question has only its beginning.
pub(crate) fn whole_change(
    request: &ApprovalRequested,
    file: &FileChangePreview,
    style: AnsiStyle,
) -> Option<String> {
    let lines = change(request, file, style).filter(|lines| is_long(lines))?;
    let path = unmistakable(edited_path(request)?);
    let mut text = format!("{}  {path}\n", style.bold(&unmistakable(&request.name)));
    for line in lines {
        text.push_str(&format!("    {line}\n"));
    }
    Some(text)
}

/// The number of lines of a change that a chat shows at first.
const DIFF_LINES: usize = 40;

/// Returns whether a change has more lines than that. Reporting one omitted line would also take a line.
fn is_long(lines: &[String]) -> bool {
    lines.len() > DIFF_LINES + 1
}

/// The tools of the program itself whose arguments say what a call does.
const BUILT_IN: [&str; 10] = [
    "bash",
    "shell",
    "shell_input",
    "write",
    "edit",
    "read",
    "grep",
    "glob",
    "query",
    "query_write",
];

/// The name of the tool if it is built in. Other tools may name their arguments as they like, so the names do
/// not tell what they do. A file of a folder that takes one of these names is named with a hash in the rule.
fn built_in(request: &ApprovalRequested) -> Option<&str> {
    let name = request.name.as_str();
    (BUILT_IN.contains(&name) && request.suggested.tool == name).then_some(name)
}

/// The file that a call changes, if it changes one.
pub(crate) fn edited_path(request: &ApprovalRequested) -> Option<&str> {
    let input = &request.input;
    let changes = match built_in(request)? {
        "edit" => input.get("old_string").is_some() && input.get("new_string").is_some(),
        "write" => input.get("content").is_some(),
        _ => false,
    };
    changes.then(|| input.get("path")?.as_str()).flatten()
}

/// Returns why an edit will fail, as far as the file shows it.
fn reason_to_fail(request: &ApprovalRequested, file: &FileChangePreview) -> Option<&'static str> {
    edited_path(request)?;
    // A file that is there has a text, or a reason why it is not shown.
    let is_missing = file.path.is_some() && file.text.is_none() && file.withheld.is_none();
    if is_missing && request.name == "edit" {
        return Some("there is no such file");
    }
    proposed_change::reason_to_fail(&request.input, file.text.as_deref())
}

/// Returns the change of a file that a call asks for, as a diff. `None` if the call changes no file or will
/// fail.
fn change(request: &ApprovalRequested, file: &FileChangePreview, style: AnsiStyle) -> Option<Vec<String>> {
    edited_path(request)?;
    if reason_to_fail(request, file).is_some() {
        return None;
    }
    proposed_change::diff(&request.input, file.text.as_deref(), style)
}

/// Renders a question: every argument in full, a change as a diff against the present file, the reason, and
/// the rule that "always" would save, if it `keeps` one.
pub fn question(
    request: &ApprovalRequested,
    file: &FileChangePreview,
    keeps: bool,
    style: AnsiStyle,
) -> String {
    if let Some(asked) = &request.question {
        return asked::text(request, asked, style);
    }
    let diff = change(request, file, style);
    question_lines(
        request,
        file,
        diff,
        QuestionLook {
            keeps,
            is_brief: false,
        },
        style,
    )
}

/// The parts of a question that depend on where it is shown.
#[derive(Clone, Copy)]
struct QuestionLook {
    /// Whether "always" would save a rule.
    keeps: bool,
    /// Whether rows are left out that repeat another one.
    is_brief: bool,
}

fn question_lines(
    request: &ApprovalRequested,
    file: &FileChangePreview,
    diff: Option<Vec<String>>,
    look: QuestionLook,
    style: AnsiStyle,
) -> String {
    let wish = wish(request);
    let mut text = format!(
        "{} {}\n",
        style.warn(style.sign("?", "question:")),
        style.bold(&wish)
    );
    let is_plain = look.is_brief && PLAIN_REASONS.contains(&request.reason.as_str());
    let is_plain = is_plain || approval_notes::repeats(&wish, &request.reason);
    let reason = if request.reason.is_empty() || request.form.is_some() || is_plain {
        String::new()
    } else {
        let because = format!("  because {}", unmistakable(&request.reason));
        format!("{}\n", style.dim(&because))
    };
    // Only the reason explains a tool that is not built in, so the reason comes first.
    let (before, after) = match built_in(request) {
        Some(_) => (String::new(), reason),
        None => (reason, String::new()),
    };
    text.push_str(&before);
    let form = request.form.as_deref();
    let in_diff = |name: &str| diff.is_some() && ["old_string", "new_string", "content"].contains(&name);
    let path = request
        .input
        .get("path")
        .and_then(Value::as_str)
        .map(unmistakable);
    let in_wish = |name: &str| {
        let is_named = path
            .as_deref()
            .is_some_and(|path| wish.ends_with(&format!(" {path}")));
        look.is_brief && name == "path" && is_named
    };
    text.push_str(&arguments(&request.input, |name| {
        !in_diff(name) && !in_wish(name)
    }));
    for line in diff.into_iter().flatten() {
        text.push_str(&format!("    {line}\n"));
    }
    for line in form.map(form_reply::numbered).into_iter().flatten() {
        text.push_str(&format!("{line}\n"));
    }
    let is_command = built_in(request).is_some_and(|name| ["bash", "shell"].contains(&name));
    let fails = reason_to_fail(request, file);
    let hidden = hidden_words::note(&request.input);
    text.extend(hidden.iter().map(|words| format!("{}\n", style.warn(words))));
    text.push_str(&approval_notes::notes(file, fails, is_command, style));
    text.push_str(&after);
    let mut say = |words: &str| text.push_str(&format!("{}\n", style.dim(words)));
    let place = match request.suggested.workspace {
        Some(_) => ", in this project",
        None => "",
    };
    if look.keeps && request.form.is_none() && hidden.is_none() {
        let any = if is_whole_tool(request) { ANY_ARGUMENTS } else { "" };
        say(&format!("  always would save{place}: {}{any}", rule(request)));
    }
    text
}

/// Describes in a sentence what the tool wants to do and how serious it is. The program's own tools are
/// described by their arguments, any other tool by the properties that the rules use.
fn wish(request: &ApprovalRequested) -> String {
    let name = unmistakable(&request.name);
    if request.form.is_some() {
        return format!("{name} asks you");
    }
    let text = |key: &str| request.input.get(key).and_then(Value::as_str);
    match (built_in(request), text("path"), text("command")) {
        (Some("shell_input"), ..) => format!("{name} wants to type into the program that runs in the shell"),
        (Some("bash" | "shell"), _, Some(line)) => match of_command(line) {
            Grade::Runs => format!("{name} wants to run a command"),
            Grade::Changes => format!("{name} wants to run a command that changes files"),
            Grade::Network => format!("{name} wants to run a command that reaches the network"),
            Grade::Destroys => format!("{name} wants to run a command that deletes or overwrites"),
        },
        (Some("write"), Some(path), _) => format!("{name} wants to write {}", unmistakable(path)),
        (Some("edit" | "query_write"), Some(path), _) => {
            format!("{name} wants to change {}", unmistakable(path))
        }
        (Some("read" | "grep" | "glob" | "query"), Some(path), _) => {
            format!("{name} wants to read {}", unmistakable(path))
        }
        (Some(_), ..) => format!("{name} wants to run"),
        (None, ..) => match request
            .suggested
            .argument
            .as_deref()
            .and_then(|argument| argument.strip_prefix("to "))
        {
            Some(host) => format!("{name} wants to send to {}", unmistakable(host)),
            None => format!("{name} wants to run"),
        },
    }
}

/// The rule that `always` would keep. One that is about a long text, word for word, has it above.
pub(super) fn rule(request: &ApprovalRequested) -> String {
    let text = request.suggested.argument.as_deref().unwrap_or_default();
    let named = request.input.get("command").and_then(Value::as_str);
    // The text before the rule says where the rule applies.
    let everywhere = Rule {
        workspace: None,
        ..request.suggested.clone()
    };
    let rule = unmistakable(&show_rule(&everywhere));
    if named == Some(text) && rule.chars().count() > LONGEST_RULE {
        return format!("{} and so on, exactly as above", cut(&rule, LONGEST_RULE));
    }
    rule
}

/// Returns whether `always` would keep a rule about a tool with any arguments: the hash in its name is that
/// of the description which the rule is bound to.
fn is_whole_tool(request: &ApprovalRequested) -> bool {
    let kept = &request.suggested;
    kept.tool.contains('@') && kept.argument.is_none() && kept.path.is_none()
}

/// Reads a line as the answer to this question: about a call as [`parse`] does, otherwise as words.
pub(crate) fn reply_to(request: &ApprovalRequested, line: &str) -> Option<ApprovalReply> {
    match (&request.question, &request.form) {
        (Some(asked), _) => asked::reply(line, asked),
        (None, Some(form)) => form_reply::reply(line, form),
        (None, None) => parse(line),
    }
}

/// Reads an answer: a letter or its word, after `n` a word to the model, after `a` and `s` the pattern of the
/// rule to keep, which has to fit the call; `-` alone refuses, too. Anything else is not an answer, so that
/// what a person types for the agent never decides by accident.
pub fn parse(line: &str) -> Option<ApprovalReply> {
    let line = match line.trim() {
        form_reply::DECLINES => "n",
        line => line,
    };
    let (word, rest) = line.split_once([' ', ',', ':', '—']).unwrap_or((line, ""));
    let rest = rest.trim();
    let decision = match word.to_lowercase().as_str() {
        "y" | "yes" | "once" => ApprovalDecision::Once,
        "s" | "session" => ApprovalDecision::Session,
        "a" | "always" => ApprovalDecision::Always,
        "n" | "no" => ApprovalDecision::Deny,
        _ => return None,
    };
    let given = (!rest.is_empty()).then(|| rest.to_owned());
    let (note, pattern) = match decision {
        ApprovalDecision::Deny => (given, None),
        ApprovalDecision::Session | ApprovalDecision::Always => (None, given),
        ApprovalDecision::Once if given.is_some() => return None,
        ApprovalDecision::Once => (None, None),
    };
    Some(ApprovalReply {
        decision,
        note,
        pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_for(command: &str) -> ApprovalRequested {
        serde_json::from_value(serde_json::json!({
            "tool_call_id": "call_1", "name": "bash", "input": {"command": command}, "reason": "",
            "suggested": {"effect": "allow", "tool": "bash"},
        }))
        .unwrap()
    }

    fn asked(command: &str, pattern: &str) -> String {
        let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
            "tool_call_id": "call_1", "name": "bash", "input": {"command": command}, "reason": "",
            "suggested": {"effect": "allow", "tool": "bash", "argument": pattern},
        }))
        .unwrap();
        question(
            &request,
            &FileChangePreview::default(),
            true,
            AnsiStyle::default(),
        )
    }

    #[test]
    fn a_rule_for_a_tool_of_a_server_says_that_any_arguments_do_until_it_changes() {
        let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
            "tool_call_id": "call_1", "name": "harbour__echo", "input": {"text": "hello"}, "reason": "",
            "suggested": {"effect": "allow", "tool": "harbour__echo@0123", "workspace": "/ws"},
        }))
        .unwrap();
        let text = question(
            &request,
            &FileChangePreview::default(),
            true,
            AnsiStyle::default(),
        );
        let line = "always would save, in this project: allow harbour__echo@0123  (any arguments, until its description changes)\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn letters_that_look_like_others_are_marked_in_the_call_and_in_the_rule() {
        let text = asked("p\u{443}thon3 \u{ff43}onf.txt", "p\u{443}thon3 *");
        assert!(
            text.contains("  command: p<U+0443>thon3 <U+FF43>onf.txt\n"),
            "{text}"
        );
        assert!(text.contains("allow bash \"p<U+0443>thon3 *\""), "{text}");
    }

    #[test]
    fn no_rule_is_offered_for_words_that_were_replaced() {
        let text = asked(
            "curl -s https://[secret API_KEY]",
            "curl -s https://[secret API_KEY]",
        );
        assert!(
            text.contains("  [secret API_KEY] hides text that AgentX knows"),
            "{text}"
        );
        assert!(!text.contains("always would save"), "{text}");
    }

    #[test]
    fn a_long_command_is_told_once() {
        let command = format!("cat <<EOF\n{}EOF", "a row of it\n".repeat(40));
        let text = asked(&command, &command);
        assert_eq!(text.matches("a row of it").count(), 40 + 10, "{text}");
        assert!(text.contains("… and so on, exactly as above\n"), "{text}");
        assert!(
            asked("cargo test -p a", "cargo test *")
                .contains("always would save: allow bash \"cargo test *\"\n")
        );
    }

    #[test]
    fn on_a_small_screen_no_row_of_a_question_repeats_another() {
        let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
            "tool_call_id": "call_1", "name": "edit",
            "input": {"path": "a.txt", "old_string": "hello", "new_string": "bye"},
            "reason": "changing a file needs your approval",
            "suggested": {"effect": "allow", "tool": "edit", "path": "a.txt"},
        }))
        .unwrap();
        let file = FileChangePreview {
            path: Some("/w/a.txt".to_owned()),
            text: Some("hello\n".to_owned()),
            ..FileChangePreview::default()
        };
        let answers = Answers::default();
        let told = |request: &ApprovalRequested, is_brief: bool| {
            let how = QuestionForm {
                answers: Some(&answers),
                keeps_rule: true,
                still_asked: None,
                other_answer: None,
                accepts_edits: (!is_brief).then_some("Shift-Tab"),
                shows_all: "Ctrl-O",
                plan: None,
                is_brief,
            };
            question_text(request, &file, how, AnsiStyle::default())
        };
        assert_eq!(
            told(&request, true),
            "? edit wants to change a.txt\n    1 -hello\n    1 +bye\n  always would save: allow edit in a.txt\n"
        );
        let whole = told(&request, false);
        for row in [
            "  path: a.txt\n",
            "  because changing a file",
            "(or write your own",
            "  or Shift-Tab makes this edit and later ones without asking\n",
        ] {
            assert!(whole.contains(row), "{row}: {whole}");
        }
        let mut other = request;
        other.reason =
            ".git/hooks/pre-commit can make other programs run something, so no pattern allows it".to_owned();
        let text = told(&other, false);
        assert!(
            text.contains("always would save") && !text.contains("write your own"),
            "{text}"
        );
        other.reason = "it is outside the workspace".to_owned();
        assert!(told(&other, true).contains("  because it is outside the workspace\n"));
    }

    #[test]
    fn a_question_says_what_will_hold_the_command() {
        let mut request = asked_for("make");
        let mut file = FileChangePreview {
            sandbox: Some("landlock".to_owned()),
            ..FileChangePreview::default()
        };
        let told = |request: &_, file: &_| question(request, file, true, AnsiStyle::default());
        assert!(told(&request, &file).contains("  in the sandbox: landlock\n"));
        assert!(!told(&request, &FileChangePreview::default()).contains("sandbox"));
        // A folder's own tool of that name may run anything.
        request.suggested.tool = "bash@0123".to_owned();
        assert!(!told(&request, &file).contains("sandbox"));
        request.suggested.tool = "bash".to_owned();
        file.sandbox = Some("none".to_owned());
        assert!(told(&request, &file).contains("  not in a sandbox, because none works here"));
        file.sandbox = Some("unavailable".to_owned());
        assert!(told(&request, &file).contains("the sandbox does not work here, so this call will fail"));
    }

    #[test]
    fn a_question_says_how_grave_a_call_is() {
        for (command, said) in [
            ("cargo test", "bash wants to run a command\n"),
            (
                "curl -s example.com",
                "bash wants to run a command that reaches the network\n",
            ),
            (
                "sudo rm -rf build",
                "bash wants to run a command that deletes or overwrites\n",
            ),
            (
                "ls; git push",
                "bash wants to run a command that reaches the network\n",
            ),
        ] {
            let text = asked(command, command);
            assert!(text.contains(said), "{command}: {text}");
        }
    }

    #[test]
    fn only_tools_of_the_program_are_described_by_their_arguments() {
        let inputs = [
            serde_json::json!({"url": "https://docs.rs/serde"}),
            serde_json::json!({"path": "src/a.txt", "old_string": "old", "new_string": "new"}),
            serde_json::json!({"path": "src/a.txt", "content": "new"}),
            serde_json::json!({"command": "ls"}),
        ];
        let reach = "it sends to evil.example, gets the variables TOKEN";
        for (name, tool, argument, head) in [
            (
                "fetch",
                "fetch@0123",
                "to evil.example",
                "fetch wants to send to evil.example",
            ),
            ("fetch", "fetch", "{}", "fetch wants to run"),
            (
                "files__edit",
                "files__edit@0123",
                "{}",
                "files__edit wants to run",
            ),
            // A file that takes the name of a tool that is not offered.
            (
                "edit",
                "edit@0123",
                "to evil.example",
                "edit wants to send to evil.example",
            ),
            ("bash", "bash@0123", "{}", "bash wants to run"),
            ("write", "write@0123", "{}", "write wants to run"),
        ] {
            for input in &inputs {
                let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
                    "tool_call_id": "c1", "name": name, "input": input, "reason": reach,
                    "suggested": {"effect": "allow", "tool": tool, "argument": argument},
                }))
                .unwrap();
                assert_eq!(edited_path(&request), None, "{name}");
                let file = FileChangePreview {
                    path: Some("src/a.txt".into()),
                    text: Some("old".into()),
                    ..FileChangePreview::default()
                };
                let text = question(&request, &file, true, AnsiStyle::default());
                let head = format!("{head}\n  because {reach}\n");
                assert!(text.contains(&head) && !text.contains("-old"), "{text}");
                assert!(!text.contains("will fail"), "{text}");
            }
        }
    }

    #[test]
    fn an_edit_that_will_fail_is_shown_as_one() {
        let shown_of = |text: Option<&str>, withheld: Option<&str>| {
            let request: ApprovalRequested = serde_json::from_value(serde_json::json!({
                "tool_call_id": "c1",
                "name": "edit",
                "input": { "path": "a.py", "old_string": "return 1\nend", "new_string": "return 2" },
                "reason": "",
                "suggested": { "effect": "allow", "tool": "edit" },
            }))
            .unwrap();
            let file = FileChangePreview {
                path: Some("a.py".into()),
                text: text.map(str::to_owned),
                withheld: withheld.map(str::to_owned),
                ..FileChangePreview::default()
            };
            question(&request, &file, true, AnsiStyle::default())
        };
        let shown = |text: &str| shown_of(Some(text), None);
        let doomed = shown("return 3\n");
        assert!(
            doomed.contains("this call will fail") && !doomed.contains("-return 1"),
            "{doomed}"
        );
        assert!(
            doomed.contains("return 1"),
            "what the model looks for is shown: {doomed}"
        );
        let missing = shown_of(None, None);
        assert!(
            missing.contains("  there is no such file, so this call will fail")
                && !missing.contains("-return 1"),
            "{missing}"
        );
        let withheld = shown_of(None, Some("it is not text"));
        assert!(!withheld.contains("will fail"), "{withheld}");
        let twice = shown(&"return 1\nend\n".repeat(2));
        assert!(
            twice.contains("several times, so this call will fail") && !twice.contains("-return 1"),
            "{twice}"
        );
        for ends in ["\n", "\r\n"] {
            let good = shown(&"def a\nreturn 1\nend\n".replace('\n', ends));
            let diff = "    1  def a\n    2 -return 1\n    3 -end\n    2 +return 2\n";
            assert!(!good.contains("will fail") && good.contains(diff), "{good}");
        }
    }

    #[test]
    fn only_clear_answers_decide() {
        let deny = |note: &str| {
            Some(ApprovalReply {
                decision: ApprovalDecision::Deny,
                note: Some(note.into()),
                pattern: None,
            })
        };
        assert_eq!(
            parse(" Y "),
            Some(ApprovalReply {
                decision: ApprovalDecision::Once,
                note: None,
                pattern: None
            })
        );
        assert_eq!(
            parse("always"),
            Some(ApprovalReply {
                decision: ApprovalDecision::Always,
                note: None,
                pattern: None
            })
        );
        assert_eq!(parse("n use git mv"), deny("use git mv"));
        assert_eq!(parse("no, 用别的"), deny("用别的"));
        assert_eq!(
            parse("a git status *").and_then(|answer| answer.pattern),
            Some("git status *".into())
        );
        let form = ApprovalRequested {
            form: Some(Box::default()),
            ..asked_for("git push")
        };
        let said = reply_to(&form, "y: Ada, 36").unwrap();
        assert_eq!(
            (said.decision, said.note.as_deref()),
            (ApprovalDecision::Once, Some("Ada, 36"))
        );
        assert_eq!(
            reply_to(&form, "n").map(|said| said.decision),
            Some(ApprovalDecision::Deny)
        );
        assert_eq!(reply_to(&form, "always"), None, "an answer is given each time");
        for line in ["", "yes please do", "yess", "any new idea", "nope", "maybe"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
