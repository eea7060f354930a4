//! Renders rewinds: the effect of a rewind to before a message, and the result. `rewind_list` has the list of
//! messages to choose from.

use std::collections::BTreeMap;

use agentx::history::{IrreversibleEffect, PastInput, Restoring, SessionHistory};
use agentx::runtime::{PlannedFile, RestoreConflict, RestoreEffect, RestorePlan, RestoreReport};
use agentx::types::{ContentPart, SessionId};

use super::call_summary::call_summary;
use super::clean::visible;
use super::conversation::went_along;
use super::diff::shortened;
use super::style::AnsiStyle;
use super::table::cut;
use super::units::{self, counted};

/// The number of lines of a file's diff if only its beginning is shown.
const SHORT: usize = 6;
/// Maximum number of named commands; the others are counted.
const NAMED: usize = 5;
/// The number of columns beside the words in a plan.
const BESIDE_WORDS: usize = 15;

/// Returns the person's text, without attached files and output of commands.
pub fn own_text(texts: &[String]) -> String {
    let own = texts.iter().filter(|text| !went_along(text));
    own.map(String::as_str).collect()
}

/// Returns the words of an input, and of one without words what it is.
pub(super) fn words_of(input: &PastInput) -> String {
    let text = visible(own_text(&input.texts).trim());
    match (input.retry, text.is_empty()) {
        (true, _) => "(another answer, /retry)".to_owned(),
        // A picture alone.
        (false, true) => "(no text)".to_owned(),
        (false, false) => text,
    }
}

/// Returns a line about the latest restore if it was interrupted: the effect of a rewind to `to_seq` on it,
/// or a way to finish it.
pub fn cut_off(latest: Option<&Restoring>, to_seq: Option<u64>) -> String {
    let Some(latest) = latest.filter(|latest| latest.unfinished) else {
        return String::new();
    };
    let what = match to_seq {
        Some(to) if to == latest.to_seq => "this finishes it",
        Some(to) if to == latest.first => "this undoes it",
        _ if latest.is_undo => "another undo finishes it",
        _ => "rewinding there again finishes it, undo reverts it",
    };
    let files = counted(latest.files.len(), "file");
    format!("note: restoring {files} was cut off; {what}\n")
}

/// Returns a line about the restore that an undo is about, if a person should know more about it: it was
/// interrupted, or it is an undo itself.
pub fn before_undo(latest: &Restoring) -> String {
    if latest.is_finished_undo() {
        return "note: the last restore was an undo; this takes it back\n".to_owned();
    }
    cut_off(Some(latest), Some(latest.undo_to()))
}

/// Returns the same line about an undo with this plan, which may continue with the files that the last one
/// left.
pub fn before_planned_undo(latest: &Restoring, plan: &RestorePlan) -> String {
    if latest.is_finished_undo() && plan.to_seq == latest.to_seq {
        let files = counted(plan.files.len(), "file");
        return format!("note: the last undo left {files}; this undo continues it\n");
    }
    before_undo(latest)
}

/// Says that the last restore is undone, and what takes that back: a person can be asked, a script has to
/// name the input.
pub fn undone_already(session: &SessionId, latest: &Restoring, is_asked: bool) -> String {
    let hint = if is_asked {
        format!("`agentx rewind {session} --undo` without --yes asks whether to take that back")
    } else {
        format!("`agentx rewind {session} --to N --files --yes` restores files to before input N again")
    };
    let seq = latest.seq;
    format!(
        "nothing was changed: the last restore of files, event {seq}, was an undo already\nhint: {hint}\n"
    )
}

/// Renders the effects of a rewind to before an event.
pub fn plan(
    history: &SessionHistory,
    to_seq: u64,
    files: Result<&RestorePlan, &str>,
    style: AnsiStyle,
    width: usize,
) -> String {
    let undone = history.undone(to_seq);
    let mut text = String::new();
    if let Some(input) = history.inputs().iter().find(|input| input.seq == to_seq) {
        let words = cut(&words_of(input), width.saturating_sub(BESIDE_WORDS));
        text.push_str(&format!("message       {words}\n"));
    }
    if undone.messages > 0 {
        text.push_str(&format!(
            "conversation  goes back {} in a copy; this session keeps them\n",
            counted(undone.messages, "message"),
        ));
    }
    let is_amid = |input: &&PastInput| input.seq == to_seq && input.amid;
    match history.inputs().iter().find(is_amid) {
        Some(input) if input.received => text.push_str("answer        the previous answer was still streaming when you sent that; the copy contains the part received by then\n"),
        Some(_) => text.push_str("answer        the previous answer had not begun when you sent that; the copy does not contain it\n"),
        None => {}
    }
    text.push_str(&plan_of_files(history, to_seq, files, style, width));
    text
}

/// Renders the effects of a rewind that leaves the conversation as it is, and the part of [`plan`] about all
/// else.
pub fn plan_of_files(
    history: &SessionHistory,
    to_seq: u64,
    files: Result<&RestorePlan, &str>,
    style: AnsiStyle,
    width: usize,
) -> String {
    let mut text = String::new();
    match files {
        Ok(plan) if plan.files.is_empty() => text.push_str("files         nothing to restore\n"),
        Ok(plan) => {
            let (added, removed) = plan
                .files
                .iter()
                .fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
            text.push_str(&format!(
                "files         {}, +{added} -{removed}\n",
                counted(plan.files.len(), "file")
            ));
            for file in &plan.files {
                text.push_str(&one_file(file, style, width));
            }
        }
        Err(why) => text.push_str(&format!("files         stay unchanged: {}\n", visible(why))),
    }
    let beyond: Vec<_> = history.irreversible_since(to_seq).collect();
    if !beyond.is_empty() {
        text.push_str("stays         the effects of these are not undone:\n");
    }
    for done in beyond.iter().take(NAMED) {
        let what = format!(
            "{}{}  {}",
            visible(&done.tool),
            of_files(done),
            call_summary(&done.tool, &done.input)
        );
        text.push_str(&format!("  · {}\n", cut(&what, width.saturating_sub(5))));
    }
    if beyond.len() > NAMED {
        text.push_str(&format!("  · and {} more\n", beyond.len() - NAMED));
    }
    text
}

/// Says of a command whether its changes of files go back.
fn of_files(done: &IrreversibleEffect) -> String {
    match (done.files, done.files_not_kept) {
        (None, _) => String::new(),
        (Some(_), 0) => " (but its changes of files go back)".to_owned(),
        (Some(_), left) => format!(
            " (its changes of files go back, but not those of {} beyond a limit)",
            counted(left, "file")
        ),
    }
}

fn one_file(file: &PlannedFile, style: AnsiStyle, width: usize) -> String {
    let (sign, what) = match file.happens {
        _ if file.blocked.is_some() => ("!", String::new()),
        RestoreEffect::Removed => ("-", "is deleted: it did not exist then".to_owned()),
        RestoreEffect::BroughtBack => ("+", "comes back".to_owned()),
        RestoreEffect::Changed => ("~", format!("+{} -{}", file.added, file.removed)),
    };
    let name = cut(&visible(&file.shown), width.saturating_sub(30).max(20));
    let mut line = format!("  {sign} {name}  {}\n", style.dim(&what));
    if let Some(why) = &file.blocked {
        let why = format!("cannot be restored: {}", visible(why));
        line = format!("  {sign} {name}  {}\n", style.bad(&why));
    } else if let Some(doubt) = &file.doubt {
        line.push_str(&format!("    {}\n", style.warn(&in_words(doubt))));
    }
    line
}

/// Returns the reason for asking a person about a file.
pub fn in_words(doubt: &RestoreConflict) -> String {
    match doubt {
        RestoreConflict::ChangedSince { at, during } => {
            let who = match during {
                Some(call) => format!("while `{}` ran", visible(call)),
                None => "not by this agent".to_owned(),
            };
            match at {
                Some(at) => format!("changed since, {who}, {}", units::ago(*at, units::now())),
                None => "removed since, not by this agent".to_owned(),
            }
        }
        RestoreConflict::ChangedBetween { seq } => {
            format!("somebody else also changed it before event {seq}; that change is lost too")
        }
        RestoreConflict::ChangedByAgent { seq } => format!("changed by the agent since, at event {seq}"),
        RestoreConflict::DuringCommand { seq } => {
            format!("changed while a command ran, at event {seq}: by it, or by somebody else meanwhile")
        }
        RestoreConflict::NotKnown => "unknown whether it changed since the agent wrote it".to_owned(),
        RestoreConflict::Outside => "it is outside the workspace".to_owned(),
    }
}

/// Renders the diffs of a plan, from the present files to the restored ones.
pub fn diffs(plan: &RestorePlan, whole: bool, style: AnsiStyle, width: usize) -> String {
    let most = if whole { usize::MAX } else { SHORT };
    let mut text = String::new();
    for file in plan.files.iter().filter(|file| file.blocked.is_none()) {
        text.push_str(&diff_of(file, most, style, width));
    }
    text
}

pub(crate) fn diff_of(file: &PlannedFile, most: usize, style: AnsiStyle, width: usize) -> String {
    let mut text = format!("{}\n", style.bold(&visible(&file.shown)));
    if file.diff.is_empty() {
        text.push_str(&style.dim("  not shown: not text, or empty\n"));
    }
    for line in shortened(&file.diff, most, width.saturating_sub(2), style) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// Renders the result of restoring files, with paths as in the plan.
pub fn report(report: &RestoreReport, plan: &RestorePlan) -> String {
    let shown = |path: &str| {
        let file = plan.files.iter().find(|file| file.path == path);
        visible(file.map_or(path, |file| &file.shown))
    };
    let is_removal = |path: &str| {
        let file = plan.files.iter().find(|file| file.path == path);
        file.is_some_and(|file| file.happens == RestoreEffect::Removed)
    };
    let (removed, put_back): (Vec<&String>, Vec<&String>) =
        report.restored.iter().partition(|path| is_removal(path));
    let line = |paths: &[&String], what: &str| {
        let names: Vec<String> = paths.iter().map(|path| shown(path)).collect();
        let is_empty = names.is_empty();
        (!is_empty).then(|| format!("{} {what}: {}\n", counted(names.len(), "file"), names.join(", ")))
    };
    let lines = [line(&put_back, "put back"), line(&removed, "removed")];
    let mut text: String = lines.into_iter().flatten().collect();
    if text.is_empty() && !plan.files.is_empty() {
        text.push_str("no files were restored\n");
    }
    if !report.directories.is_empty() {
        let names: Vec<String> = report.directories.iter().map(|path| visible(path)).collect();
        text.push_str(&format!(
            "  also removed, because now empty: {}\n",
            names.join(", ")
        ));
    }
    for failed in &report.failed {
        text.push_str(&format!(
            "  ! {}: {}\n",
            shown(&failed.path),
            visible(&failed.what)
        ));
    }
    text
}

const BEFORE_PATHS: &str = "\n\n<files_put_back>\nThe person put these files back to how they were earlier; read them again before you change them:\n";
const AFTER_PATHS: &str = "\n</files_put_back>";

/// The note behind the path of a removed file.
const REMOVED: &str = " (removed: it did not exist then)";

/// Notifies an agent with the next message that its files were restored: once, even after several restores.
/// Files that a restore removed are named as removed.
pub(crate) fn tell_the_agent(along: &mut Vec<ContentPart>, report: &RestoreReport, plan: &RestorePlan) {
    if report.restored.is_empty() {
        return;
    }
    let removed = |path: &str| {
        let file = plan.files.iter().find(|file| file.path == path);
        file.is_some_and(|file| file.happens == RestoreEffect::Removed)
    };
    let mut paths: BTreeMap<String, &str> = report
        .restored
        .iter()
        .map(|path| (path.clone(), if removed(path) { REMOVED } else { "" }))
        .collect();
    along.retain(|part| {
        let told = part
            .as_text()
            .and_then(|text| text.strip_prefix(BEFORE_PATHS)?.strip_suffix(AFTER_PATHS));
        for line in told.into_iter().flat_map(str::lines) {
            let (path, how) = match line.strip_suffix(REMOVED) {
                Some(path) => (path, REMOVED),
                None => (line, ""),
            };
            // The latest change of a path counts.
            paths.entry(path.to_owned()).or_insert(how);
        }
        told.is_none()
    });
    let paths: Vec<String> = paths.into_iter().map(|(path, how)| path + how).collect();
    along.push(ContentPart::text(format!(
        "{BEFORE_PATHS}{}{AFTER_PATHS}",
        paths.join("\n")
    )));
}

#[cfg(test)]
mod tests {
    use agentx::types::{EnvironmentEvent, EventDraft, InputMode, MessageId, Source, Timestamp, UserMessage};

    use super::*;
    use crate::render::rewind_list::{ListLook, list};

    #[test]
    fn what_was_put_back_again_and_again_is_told_once() {
        let report = |restored: &[&str]| RestoreReport {
            restored: restored.iter().map(|path| (*path).to_owned()).collect(),
            ..RestoreReport::default()
        };
        let plan = |happens: RestoreEffect| RestorePlan {
            session_id: "ses_1".into(),
            to_seq: 3,
            files: vec![
                file("b", happens, None, None),
                file("c", RestoreEffect::Removed, None, None),
            ],
        };
        let mut along = vec![ContentPart::text("\n\n<command_run_by_the_person>x")];
        tell_the_agent(&mut along, &report(&[]), &plan(RestoreEffect::Changed));
        assert_eq!(along.len(), 1);
        tell_the_agent(
            &mut along,
            &report(&["/w/b", "/w/a"]),
            &plan(RestoreEffect::Removed),
        );
        tell_the_agent(
            &mut along,
            &report(&["/w/b", "/w/c"]),
            &plan(RestoreEffect::BroughtBack),
        );
        let told: Vec<&str> = along.iter().filter_map(ContentPart::as_text).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            went_along(told[1])
                && told[1].contains(":\n/w/a\n/w/b\n/w/c (removed: it did not exist then)\n</"),
            "{told:?}"
        );
    }

    #[test]
    fn a_retry_is_told_apart_from_a_message_without_text() {
        let mut history = SessionHistory::default();
        for (seq, content) in [(2, Vec::new()), (3, vec![ContentPart::text(" ")])] {
            let message = UserMessage {
                message_id: MessageId::with_suffix(seq),
                content,
                mode: InputMode::default(),
                idempotency_key: None,
                by: None,
                answer_schema: None,
            };
            let draft = EventDraft::<EnvironmentEvent>::new(Source::User, None, message);
            history.take(&draft.into_envelope("ses_1".into(), seq, Timestamp(0)));
        }
        let look = ListLook {
            most: 5,
            width: 60,
            style: AnsiStyle::default(),
            now: Timestamp(0),
        };
        let listed = list(&history, look);
        assert!(
            listed.contains("2  (no text)") && listed.contains("1  (another answer, /retry)"),
            "{listed}"
        );
    }

    fn file(
        shown: &str,
        happens: RestoreEffect,
        doubt: Option<RestoreConflict>,
        blocked: Option<&str>,
    ) -> PlannedFile {
        PlannedFile {
            path: format!("/w/{shown}"),
            shown: shown.into(),
            happens,
            seen: None,
            doubt,
            blocked: blocked.map(str::to_owned),
            added: 1,
            removed: 2,
            diff: "@@ -1,2 +1 @@\n-a\n-b\n+c\n".into(),
        }
    }

    #[test]
    fn a_plan_says_what_goes_what_comes_and_what_stays() {
        let between = Some(RestoreConflict::ChangedBetween { seq: 7 });
        let made = RestorePlan {
            session_id: "ses_1".into(),
            to_seq: 3,
            files: vec![
                file("new.txt", RestoreEffect::Removed, None, None),
                file("old.txt", RestoreEffect::BroughtBack, None, None),
                file("both\u{1b}.txt", RestoreEffect::Changed, between, None),
                file(
                    "leaf",
                    RestoreEffect::Changed,
                    None,
                    Some("a link is in its place"),
                ),
            ],
        };
        let history = SessionHistory::default();
        let shown = plan(&history, 3, Ok(&made), AnsiStyle::default(), 60);
        assert_eq!(
            shown,
            "files         4 files, +4 -8\n  - new.txt  is deleted: it did not exist then\n  + old.txt  comes back\n  \
             ~ both␛.txt  +1 -2\n    somebody else also changed it before event 7; that change is lost too\n  \
             ! leaf  cannot be restored: a link is in its place\n"
        );
        assert!(
            diffs(&made, true, AnsiStyle::default(), 60).starts_with("new.txt\n  1 -a\n  2 -b\n  1 +c\n")
        );
        let told = report(
            &RestoreReport {
                seq: Some(9),
                restored: vec!["/w/new.txt".into()],
                directories: Vec::new(),
                failed: vec![agentx::types::FileFailed {
                    path: "/w/old.txt".into(),
                    what: "permission denied".into(),
                }],
            },
            &made,
        );
        assert_eq!(told, "1 file removed: new.txt\n  ! old.txt: permission denied\n");
    }
}
