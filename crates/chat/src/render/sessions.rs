//! Renders sessions as a list for people.

use std::collections::{BTreeMap, BTreeSet};

use agentx::runtime::SessionInfo;
use agentx::types::{OwnerId, RunStatus, SessionId, Timestamp};

use super::clean::visible;
use super::person_names::PersonNames;
use super::wait_times::{SessionWaitTimes, status_of_wait};
use super::{
    table::{cut_table, has_room, is_last_short},
    units,
};
use crate::demo::is_demo;

/// The width of a terminal below which the title gets the room of a count.
const WIDE: usize = 120;
/// The column of the count.
const MESSAGES: usize = 3;
/// The least room of a title beside columns that are less important.
const SHORTEST_TITLE: usize = 20;
/// The column of the cost in a narrow terminal, which has no column of the count.
const COST: usize = 3;
/// The title of a session in which nothing was said.
pub(crate) const NO_TITLE: &str = "untitled";
/// The column of the folder, which is shown if the sessions belong to several folders.
const FOLDER: usize = 6;

/// The list as `me` reads it, with the names that `me` gave to people at the server, if the sessions are a
/// server's. A note marks a session that another process has open, but not on a server, which has all of them
/// open; a session that waits for a time; one of `refused`, in whose last run calls were refused; and a
/// session of another owner.
pub(crate) fn render_list(
    sessions: &[SessionInfo],
    me: &OwnerId,
    names: Option<&BTreeMap<OwnerId, String>>,
    waits: &SessionWaitTimes,
    refused: &BTreeSet<SessionId>,
    width: usize,
) -> String {
    let on_server = names.is_some();
    let mut names = PersonNames::new(names.cloned().unwrap_or_default());
    for info in sessions {
        names.meet(&info.owner);
    }
    if sessions.is_empty() {
        return "no sessions yet: `agentx` starts one\n".into();
    }
    let now = units::now();
    let mut rows = vec![
        [
            "ID",
            "LAST EVENT",
            "STATUS",
            "MESSAGES",
            "COST",
            "MODEL",
            "FOLDER",
            "TITLE",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    rows.extend(sessions.iter().map(|info| {
        let status = if refused.contains(&info.session_id) {
            "calls refused".to_owned()
        } else {
            status_of(info, on_server, waits, now)
        };
        row_of(info, me, &names, &status, now)
    }));
    let is_one_folder = sessions
        .windows(2)
        .all(|pair| pair[0].workspace == pair[1].workspace);
    if is_one_folder {
        for row in &mut rows {
            let _ = row.remove(FOLDER);
        }
    }
    if width < WIDE {
        for row in &mut rows {
            let _ = row.remove(MESSAGES);
        }
    }
    // Without its model, each session may still be a line.
    let mut short = rows.clone();
    for row in &mut short {
        let behind = if is_one_folder { 1 } else { 2 };
        let _ = row.remove(row.len() - 1 - behind);
    }
    if !has_room(&rows, width) && has_room(&short, width) {
        rows = short;
    }
    // A title of a few letters says nothing, so it gets the room of the cost.
    if width < WIDE && has_room(&rows, width) && is_last_short(&rows, width, SHORTEST_TITLE) {
        for row in &mut rows {
            let _ = row.remove(COST);
        }
    }
    cut_table(&rows, width)
}

/// Returns a row of the list, with all columns.
fn row_of(
    info: &SessionInfo,
    me: &OwnerId,
    names: &PersonNames,
    status: &str,
    now: Timestamp,
) -> Vec<String> {
    let title = if info.title.is_empty() {
        NO_TITLE
    } else {
        &info.title
    };
    let fork = info
        .parent
        .as_ref()
        .map(|(parent, seq)| format!(" (fork of {parent} at {seq})"))
        .unwrap_or_default();
    let whose = if info.owner == *me {
        String::new()
    } else {
        format!("(of {}) ", names.name(&info.owner))
    };
    vec![
        info.session_id.to_string(),
        units::ago(info.updated_at, now),
        status.to_owned(),
        info.messages.to_string(),
        units::cost_of(info.cost, &info.usage, !is_demo(&info.model)),
        visible(&info.model),
        visible(folder_name(&info.workspace)),
        format!("{whose}{}{fork}", visible(title)),
    ]
}

/// Returns the last part of a path; all of it if it has no parts.
fn folder_name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}

/// Returns the state of a session in a word or two.
pub(crate) fn status_of(
    info: &SessionInfo,
    on_server: bool,
    waits: &SessionWaitTimes,
    now: Timestamp,
) -> String {
    let due_at = waits.get(&info.session_id);
    match (&info.writer, info.status) {
        (Some(_), Some(status)) if on_server => live_word(status).to_owned(),
        (Some(_), None) if on_server => "new".to_owned(),
        (Some(writer), _) => format!("open (pid {})", writer.process),
        (None, Some(status)) => match due_at.filter(|_| !status.is_final()) {
            Some(due_at) => status_of_wait(due_at, now),
            None => status_word(status).to_owned(),
        },
        (None, None) if info.parent.is_some() => "fork".to_owned(),
        (None, None) => "new".to_owned(),
    }
}

/// Returns the state of a run in a word.
pub(crate) fn run_word(status: RunStatus) -> &'static str {
    live_word(status)
}

fn status_word(status: RunStatus) -> &'static str {
    use agentx::types::RunStatus as S;
    match status {
        S::Completed => "completed",
        S::Failed => "failed",
        S::TimedOut => "limit reached",
        S::Interrupted => "stopped",
        S::AwaitingApproval => "asks you",
        S::Pending | S::BuildingContext | S::AwaitingLlm | S::AwaitingTool | S::Stopping => "interrupted",
    }
}

/// Returns the word for the status of an open session.
fn live_word(status: RunStatus) -> &'static str {
    use agentx::types::RunStatus as S;
    match status {
        S::Pending | S::BuildingContext | S::AwaitingLlm | S::AwaitingTool | S::Stopping => "works",
        status => status_word(status),
    }
}

#[cfg(test)]
mod tests {
    use agentx::runtime::{OpenWait, SessionWaits, WaitKind};
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    #[test]
    fn sessions_of_several_folders_are_listed_with_their_folders() {
        let of = |folder: &str| {
            let mut info = SessionInfo::new("ses_1", "me", Timestamp::default());
            info.workspace = folder.into();
            info
        };
        let me = OwnerId::new("me");
        let listed = |folders: &[&str]| {
            let sessions: Vec<_> = folders.iter().map(|folder| of(folder)).collect();
            render_list(
                &sessions,
                &me,
                None,
                &SessionWaitTimes::default(),
                &BTreeSet::new(),
                120,
            )
        };
        let two = listed(&["/home/ada/garden", "/"]);
        assert!(
            two.contains("FOLDER") && two.contains("  garden  ") && two.contains("  /  "),
            "{two}"
        );
        let one = listed(&["/home/ada/garden", "/home/ada/garden"]);
        assert!(!one.contains("FOLDER"), "{one}");
    }

    #[test]
    fn a_long_title_is_cut_where_the_list_is_narrow() {
        let me = OwnerId::new("me");
        let mut one = SessionInfo::new("ses_7d4k9q2m5x8w", "me", Timestamp::default())
            .with_status(Some(RunStatus::Completed));
        one.model = "claude-sonnet-4-5".into();
        one.title = "rename the field of the harbour and everything that reads it".into();
        let mut other = one.clone();
        other.title = "tea".into();
        let listed = |width| {
            let sessions = [one.clone(), other.clone()];
            let (waits, refused) = (SessionWaitTimes::default(), BTreeSet::new());
            render_list(&sessions, &me, None, &waits, &refused, width)
        };
        let narrow = listed(60);
        assert!(
            narrow.contains("rename the field") && !narrow.contains("COST"),
            "{narrow}"
        );
        for width in [60, 64, 72, 80, 100, 130] {
            let list = listed(width);
            assert_eq!(list.lines().count(), 3, "{list}");
            assert!(list.lines().all(|line| line.width() <= width), "{list}");
            assert!(
                list.lines()
                    .all(|line| !line.contains("rename") || line.ends_with('…') || width > 110)
            );
        }
    }

    #[test]
    fn a_session_that_waits_for_a_time_is_not_called_interrupted() {
        let now = Timestamp(10_000_000_000);
        let info = |status| SessionInfo::new("ses_1", "me", Timestamp::default()).with_status(Some(status));
        let due_at = |due_at| {
            let wait = OpenWait::new(WaitKind::Call, due_at);
            let of = SessionWaits {
                session: info(RunStatus::AwaitingTool),
                waits: vec![wait],
            };
            SessionWaitTimes::from_iter([&of])
        };
        let none = SessionWaitTimes::default();
        let later = due_at(now.after_millis(7_200_000));
        for (status, waits, expected) in [
            (RunStatus::AwaitingTool, &none, "interrupted"),
            (RunStatus::AwaitingTool, &later, "waits, 2h 00m left"),
            (RunStatus::AwaitingTool, &due_at(now), "waits, due now"),
            (RunStatus::Completed, &later, "completed"),
        ] {
            assert_eq!(status_of(&info(status), false, waits, now), expected);
        }
    }
}
