//! The fold of events.

use agentx_tools::page_line;
use serde_json::{Value, json};

use super::TabsState;
use super::downloads::{DownloadState, MOST_DOWNLOADS, PageDownload};
use super::tab::{MOST_FRAMES, OpenDialog, OpenTab, PageFrame};
use crate::cdp::{CdpCommand, CdpEvent};
use crate::network::PageHostGate;
use crate::options::{LARGEST_DOWNLOAD, MOST_TABS};

/// The longest words of a page in a note, in characters.
const SHOWN: usize = 500;

/// Takes an event. Returns the commands that follow from it.
pub(super) fn apply(state: &mut TabsState, gate: &PageHostGate, event: &CdpEvent) -> Vec<CdpCommand> {
    let (params, session) = (&event.params, event.session.as_deref());
    match event.method.as_str() {
        "Target.attachedToTarget" => return attached(state, params),
        "Target.detachedFromTarget" => detached(state, text(params, "sessionId")),
        "Fetch.requestPaused" => return paused(state, gate, session, params),
        "Browser.downloadWillBegin" => return download_begins(state, params),
        "Browser.downloadProgress" => return progress(state, params),
        "Page.fileChooserOpened" => {
            state.note("The page asks for a file; no file is given to pages.".to_owned());
        }
        method => {
            if let Some(tab) = state.of_session(session) {
                of_page(tab, method, params);
            }
        }
    }
    Vec::new()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A new tab: it waits until everything is set, and is shown if a page opened it.
fn attached(state: &mut TabsState, params: &Value) -> Vec<CdpCommand> {
    let target = &params["targetInfo"];
    let (session, id) = (text(params, "sessionId"), text(target, "targetId"));
    if text(target, "type") != "page" {
        return Vec::new();
    }
    if state.tabs.len() >= MOST_TABS {
        state.note(format!(
            "The page wanted to open another tab; a browser has at most {MOST_TABS}."
        ));
        return vec![CdpCommand::to_browser(
            "Target.closeTarget",
            json!({"targetId": id}),
        )];
    }
    state.last_number += 1;
    let number = state.last_number;
    let is_of_page = !text(target, "openerId").is_empty();
    if is_of_page {
        state.note(format!("The page opened tab {number}, which is shown now."));
    }
    if is_of_page || state.tabs.is_empty() {
        state.active = number;
    }
    let main = PageFrame {
        parent: None,
        url: text(target, "url").to_owned(),
    };
    state.tabs.push(OpenTab {
        number,
        session: session.to_owned(),
        target: id.to_owned(),
        frames: [(id.to_owned(), main)].into(),
        ..OpenTab::default()
    });
    tab_set_up(session)
}

/// The commands that set up a tab, in their order: it runs once its requests are intercepted.
pub(crate) fn tab_set_up(session: &str) -> Vec<CdpCommand> {
    let documents = json!({"patterns": [{"resourceType": "Document", "requestStage": "Request"}]});
    vec![
        CdpCommand::to_tab(session, "Page.enable", json!({})),
        CdpCommand::to_tab(session, "Fetch.enable", documents),
        CdpCommand::to_tab(
            session,
            "Page.setInterceptFileChooserDialog",
            json!({"enabled": true}),
        ),
        CdpCommand::to_tab(session, "Runtime.runIfWaitingForDebugger", json!({})),
    ]
}

fn detached(state: &mut TabsState, session: &str) {
    let Some(place) = state.tabs.iter().position(|tab| tab.session == session) else {
        return;
    };
    let tab = state.tabs.remove(place);
    state.note(format!("Tab {} was closed.", tab.number));
    if tab.number == state.active {
        state.active = state.tabs.last().map_or(0, |tab| tab.number);
    }
}

/// A document is requested. That of the main frame is what the tab will show, so its host has to be approved;
/// frames inside a page are parts of it.
fn paused(
    state: &mut TabsState,
    gate: &PageHostGate,
    session: Option<&str>,
    params: &Value,
) -> Vec<CdpCommand> {
    let (Some(session), request) = (session, text(params, "requestId")) else {
        return Vec::new();
    };
    let url = text(&params["request"], "url");
    let tab = state.of_session(Some(session));
    let is_main = tab.is_none_or(|tab| tab.target == text(params, "frameId"));
    let checked = if is_main { gate.check_page(url) } else { Ok(()) };
    let command = match checked {
        Ok(()) => CdpCommand::to_tab(session, "Fetch.continueRequest", json!({"requestId": request})),
        Err(why) => {
            gate.note_refusal(url, &why);
            let refusal = json!({"requestId": request, "errorReason": "Aborted"});
            CdpCommand::to_tab(session, "Fetch.failRequest", refusal)
        }
    };
    vec![command]
}

fn download_begins(state: &mut TabsState, params: &Value) -> Vec<CdpCommand> {
    let id = text(params, "guid");
    if state.downloads.len() >= MOST_DOWNLOADS {
        return vec![cancel_download(id)];
    }
    state.downloads.push(PageDownload {
        id: id.to_owned(),
        url: text(params, "url").to_owned(),
        suggested_name: text(params, "suggestedFilename").to_owned(),
        state: DownloadState::Running,
    });
    Vec::new()
}

/// The command that cancels a download.
pub(crate) fn cancel_download(id: &str) -> CdpCommand {
    CdpCommand::to_browser("Browser.cancelDownload", json!({"guid": id}))
}

fn progress(state: &mut TabsState, params: &Value) -> Vec<CdpCommand> {
    let id = text(params, "guid");
    let Some(download) = state.downloads.iter_mut().find(|download| download.id == id) else {
        return Vec::new();
    };
    let number = |key: &str| params.get(key).and_then(Value::as_f64).unwrap_or_default();
    let most = number("receivedBytes").max(number("totalBytes"));
    if download.state == DownloadState::TooLarge {
        return Vec::new();
    }
    if most > LARGEST_DOWNLOAD as f64 {
        download.state = DownloadState::TooLarge;
        return vec![cancel_download(id)];
    }
    download.state = match text(params, "state") {
        "completed" => DownloadState::Complete,
        "canceled" => DownloadState::Canceled,
        _ => DownloadState::Running,
    };
    Vec::new()
}

/// An event of the page of a tab.
fn of_page(tab: &mut OpenTab, method: &str, params: &Value) {
    let frame = text(params, "frameId");
    let is_main = frame == tab.target;
    match method {
        "Page.frameStartedLoading" if is_main => tab.is_loading = true,
        "Page.frameStoppedLoading" if is_main => tab.is_loading = false,
        "Page.frameStartedNavigating" if is_main => {
            let kind = text(params, "navigationType").to_ascii_lowercase();
            tab.is_loading |= !kind.contains("samedocument");
        }
        "Page.frameAttached" if tab.frames.len() < MOST_FRAMES => {
            let attached = PageFrame {
                parent: Some(text(params, "parentFrameId").to_owned()),
                url: String::new(),
            };
            tab.frames.insert(frame.to_owned(), attached);
        }
        "Page.frameDetached" if text(params, "reason") != "swap" && !is_main => {
            tab.frames.remove(frame);
        }
        "Page.frameNavigated" => navigated(tab, &params["frame"]),
        "Page.navigatedWithinDocument" => {
            if let Some(known) = tab.frames.get_mut(frame) {
                known.url = text(params, "url").to_owned();
            }
        }
        "Page.javascriptDialogOpening" => {
            tab.dialog = Some(OpenDialog {
                kind: text(params, "type").to_owned(),
                message: page_line(text(params, "message"), SHOWN),
            });
        }
        "Page.javascriptDialogClosed" => tab.dialog = None,
        _ => {}
    }
}

fn navigated(tab: &mut OpenTab, frame: &Value) {
    let id = text(frame, "id").to_owned();
    let navigated = PageFrame {
        parent: frame.get("parentId").and_then(Value::as_str).map(str::to_owned),
        url: text(frame, "url").to_owned(),
    };
    if id == tab.target {
        // The frames of the page before are gone.
        tab.frames.clear();
    }
    if tab.frames.len() < MOST_FRAMES || tab.frames.contains_key(&id) {
        tab.frames.insert(id, navigated);
    }
}
