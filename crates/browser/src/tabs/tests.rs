//! Made-up events, in the forms that Chromium 156 sent.

use serde_json::{Value, json};

use super::*;

fn table() -> TabTable {
    TabTable::new(Arc::new(PageHostGate::new(&[])))
}

fn event(method: &str, session: Option<&str>, params: Value) -> CdpEvent {
    CdpEvent {
        method: method.to_owned(),
        params,
        session: session.map(str::to_owned),
    }
}

/// Attaches a tab; returns the names of the commands that follow.
fn attach(table: &TabTable, id: &str, opener: Option<&str>) -> Vec<&'static str> {
    let target = json!({"targetId": id, "type": "page", "url": "about:blank", "openerId": opener});
    let params = json!({"sessionId": format!("S{id}"), "targetInfo": target, "waitingForDebugger": true});
    let commands = table.apply(&event("Target.attachedToTarget", None, params));
    commands.iter().map(|command| command.method).collect()
}

/// The answer to a request of a document.
fn requested(table: &TabTable, frame: &str, url: &str) -> &'static str {
    let params = json!({"requestId": "R", "frameId": frame, "request": {"url": url}});
    let commands = table.apply(&event("Fetch.requestPaused", Some("SA"), params));
    assert_eq!(commands.len(), 1);
    commands[0].method
}

fn of_page(table: &TabTable, method: &str, params: Value) {
    assert!(table.apply(&event(method, Some("SA"), params)).is_empty());
}

#[test]
fn a_new_tab_runs_only_when_its_requests_are_intercepted() {
    let table = table();
    let commands = attach(&table, "A", None);
    assert_eq!(commands.first(), Some(&"Page.enable"));
    assert_eq!(commands.last(), Some(&"Runtime.runIfWaitingForDebugger"));
    assert!(commands.contains(&"Fetch.enable"));
    assert_eq!(
        (table.active(), table.tab(None).unwrap().url()),
        (1, "about:blank")
    );
    attach(&table, "B", Some("A"));
    assert_eq!(table.active(), 2, "a tab that a page opens is shown");
    assert_eq!(table.take_notes(), ["The page opened tab 2, which is shown now."]);
    table.apply(&event(
        "Target.detachedFromTarget",
        None,
        json!({"sessionId": "SB"}),
    ));
    assert_eq!((table.active(), table.all().len()), (1, 1));
    for number in 0..20 {
        attach(&table, &format!("C{number}"), Some("A"));
    }
    assert_eq!(table.all().len(), crate::options::MOST_TABS);
}

#[test]
fn the_page_of_a_tab_needs_an_approved_host_and_its_frames_do_not() {
    let table = table();
    attach(&table, "A", None);
    table.gate.approve("https://a.example/").unwrap();
    assert_eq!(
        requested(&table, "A", "https://a.example/x"),
        "Fetch.continueRequest"
    );
    assert_eq!(requested(&table, "A", "https://b.example/x"), "Fetch.failRequest");
    assert_eq!(
        requested(&table, "F", "https://b.example/x"),
        "Fetch.continueRequest"
    );
    let refusals = table.gate.take_refusals();
    assert!(
        refusals.len() == 1 && refusals[0].starts_with("https://b.example/x was refused"),
        "{refusals:?}"
    );
    let params = json!({"requestId": "R", "frameId": "A", "request": {"url": "https://b.example/"}});
    let unknown = table.apply(&event("Fetch.requestPaused", Some("gone"), params));
    assert_eq!(
        unknown[0].method, "Fetch.failRequest",
        "of a tab that is not known"
    );
}

#[test]
fn loading_frames_and_dialogs_are_known() {
    let table = table();
    attach(&table, "A", None);
    let navigating = |kind: &str| json!({"frameId": "A", "navigationType": kind});
    of_page(&table, "Page.frameStartedNavigating", navigating("sameDocument"));
    assert!(!table.tab(None).unwrap().is_loading);
    of_page(
        &table,
        "Page.frameStartedNavigating",
        navigating("differentDocument"),
    );
    assert!(table.tab(None).unwrap().is_loading);
    let frame = |id: &str, parent: Option<&str>, url: &str| json!({"frame": {"id": id, "parentId": parent, "url": url}});
    of_page(
        &table,
        "Page.frameNavigated",
        frame("A", None, "https://a.example/"),
    );
    of_page(
        &table,
        "Page.frameAttached",
        json!({"frameId": "F", "parentFrameId": "A"}),
    );
    of_page(
        &table,
        "Page.frameAttached",
        json!({"frameId": "G", "parentFrameId": "F"}),
    );
    of_page(
        &table,
        "Page.frameNavigated",
        frame("F", Some("A"), "https://f.example/"),
    );
    of_page(&table, "Page.frameStoppedLoading", json!({"frameId": "A"}));
    let tab = table.tab(None).unwrap();
    assert!(!tab.is_loading);
    assert_eq!(tab.host_of("A").as_deref(), Some("a.example"));
    assert_eq!(
        tab.host_of("G").as_deref(),
        Some("f.example"),
        "that of the frame around it"
    );
    assert_eq!(tab.host_of("H"), None);
    let opening = json!({"frameId": "A", "type": "confirm", "message": "Sure?\n</page>"});
    of_page(&table, "Page.javascriptDialogOpening", opening);
    let dialog = table.tab(None).unwrap().dialog.unwrap();
    assert_eq!(dialog.description(), "a dialog (confirm): \"Sure? <\\/page>\"");
    of_page(&table, "Page.javascriptDialogClosed", json!({"frameId": "A"}));
    of_page(
        &table,
        "Page.frameNavigated",
        frame("A", None, "https://a.example/2"),
    );
    let tab = table.tab(None).unwrap();
    assert_eq!(
        (tab.frames.len(), tab.dialog.is_none(), tab.url()),
        (1, true, "https://a.example/2")
    );
}

#[test]
fn a_download_beyond_the_limit_is_cancelled() {
    let table = table();
    let begin = json!({"guid": "D", "url": "https://a.example/f", "suggestedFilename": "f.bin"});
    table.apply(&event("Browser.downloadWillBegin", None, begin));
    let progress = |bytes: u64, state: &str| {
        let params = json!({"guid": "D", "receivedBytes": bytes, "totalBytes": 0, "state": state});
        let commands = table.apply(&event("Browser.downloadProgress", None, params));
        (table.downloads()[0].state, commands.len())
    };
    assert_eq!(progress(7, "inProgress"), (DownloadState::Running, 0));
    assert_eq!(progress(9, "completed"), (DownloadState::Complete, 0));
    let beyond = crate::options::LARGEST_DOWNLOAD + 1;
    assert_eq!(progress(beyond, "inProgress"), (DownloadState::TooLarge, 1));
    assert_eq!(
        progress(9, "canceled"),
        (DownloadState::TooLarge, 0),
        "the reason stays"
    );
}

#[test]
fn downloads_are_told_apart_and_their_number_has_a_bound() {
    let table = table();
    let begin = |id: &str| {
        let params = json!({"guid": id, "url": "https://a.example/f", "suggestedFilename": "f.bin"});
        let commands = table.apply(&event("Browser.downloadWillBegin", None, params));
        commands.iter().map(|command| command.method).collect::<Vec<_>>()
    };
    let ends = |id: &str, state: &str| {
        let params = json!({"guid": id, "receivedBytes": 1, "totalBytes": 1, "state": state});
        table.apply(&event("Browser.downloadProgress", None, params));
    };
    let states = || -> Vec<DownloadState> {
        let all = table.downloads();
        all.iter().map(|download| download.state).collect()
    };
    // One that was refused before is told late, and its end after the beginning of the next.
    begin("refused");
    begin("wanted");
    ends("refused", "canceled");
    assert_eq!(states(), [DownloadState::Canceled, DownloadState::Running]);
    ends("wanted", "completed");
    assert_eq!(states(), [DownloadState::Canceled, DownloadState::Complete]);
    table.forget_downloads();
    ends("wanted", "completed");
    assert!(table.downloads().is_empty());
    for number in 0..downloads::MOST_DOWNLOADS {
        assert!(begin(&format!("D{number}")).is_empty());
    }
    assert_eq!(begin("more"), ["Browser.cancelDownload"]);
    assert_eq!(table.downloads().len(), downloads::MOST_DOWNLOADS);
}

#[tokio::test]
async fn whoever_waits_for_a_change_sees_it_once_it_happened() {
    let table = table();
    attach(&table, "A", None);
    let wait = table.wait_for(Duration::from_secs(60), |table| table.tab(None)?.dialog);
    let opening = json!({"frameId": "A", "type": "alert", "message": "hi"});
    let (dialog, ()) = tokio::join!(wait, async {
        of_page(&table, "Page.javascriptDialogOpening", opening);
    });
    assert_eq!(dialog.unwrap().message, "hi");
}

#[tokio::test(start_paused = true)]
async fn a_wait_has_its_end() {
    let table = table();
    let waited = table.wait_for(Duration::from_secs(60), |table| table.tab(None));
    assert_eq!(waited.await, None);
}
