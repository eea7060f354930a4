//! A browser begins with the first page and ends with its session, its profile too.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use agentx_testing::TestServer;
use serde_json::json;

use crate::support::{HOSTS, ScriptedHand, has_browser, serve};

/// The time for a killed process to be gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns whether a process names this path in its command line.
fn is_named(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(path.as_ref()))
}

/// Waits until no process names this path. A killed process is there for a moment.
fn wait_until_gone(path: &Path) {
    let until = Instant::now() + PATIENCE;
    while is_named(path) {
        assert!(
            Instant::now() < until,
            "a process of {} still runs",
            path.display()
        );
        std::thread::yield_now();
    }
}

/// A shop with a single page.
struct Shop {
    _server: TestServer,
    /// The address of its page.
    address: String,
}

impl Shop {
    async fn open() -> Self {
        let server = serve([("/", "<h1>Here</h1>".to_owned())].into()).await;
        Self {
            address: format!("http://shop.test:{}/", server.address().port()),
            _server: server,
        }
    }

    /// The address of a file that it offers.
    fn file(&self) -> String {
        format!("{}file", self.address)
    }
}

/// Starts a browser and opens the page of a shop. Returns `None` if no browser is installed.
async fn in_a_shop() -> Option<(Shop, ScriptedHand)> {
    if !has_browser() {
        return None;
    }
    let (shop, mut hand) = (Shop::open().await, ScriptedHand::new(&HOSTS));
    hand.open(&shop.address).await;
    Some((shop, hand))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_and_its_profile_go_with_the_session() {
    if !has_browser() {
        return;
    }
    let shop = Shop::open().await;
    let mut hand = ScriptedHand::new(&HOSTS);
    let failure = hand.fails("browser_read", json!({})).await;
    assert!(failure.contains("No page is open"), "{failure}");
    assert!(hand.profiles().is_empty(), "nothing starts before the first page");
    hand.open(&shop.address).await;
    let profiles = hand.profiles();
    assert!(profiles.len() == 1 && is_named(&profiles[0]), "{profiles:?}");
    let session = hand.context().session_id;
    hand.tools.shutdown(&session).await;
    assert!(hand.profiles().is_empty());
    wait_until_gone(&profiles[0]);
    hand.open(&shop.address).await;
    let profiles = hand.profiles();
    let ScriptedHand {
        tools,
        profiles: kept,
        ..
    } = hand;
    drop(tools);
    wait_until_gone(&profiles[0]);
    drop(kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_said() {
    let Some((shop, hand)) = in_a_shop().await else {
        return;
    };
    for (tool, input, words) in [
        ("browser_back", json!({}), "no page before this one"),
        (
            "browser_tabs",
            json!({"action": "close", "tab": 1}),
            "The last tab stays",
        ),
        ("browser_tabs", json!({"action": "show", "tab": 9}), "no tab 9"),
        ("browser_tabs", json!({"action": "show"}), "Name the tab"),
        (
            "browser_wait",
            json!({"text": "never", "seconds": 0}),
            "not on the page",
        ),
        ("browser_scroll", json!({"steps": 99}), "at most 20"),
        (
            "browser_dialog",
            json!({"page": hand.page, "accept": true}),
            "shows no dialog",
        ),
        (
            "browser_navigate",
            json!({"url": shop.file()}),
            "is a file and not a page",
        ),
        (
            "browser_download",
            json!({"page": shop.file(), "path": "../out.bin"}),
            "outside the workspace",
        ),
    ] {
        let failure = hand.fails(tool, input).await;
        assert!(failure.contains(words), "{tool}: {failure}");
    }
    let file = json!({"page": shop.file(), "path": "dir/out.bin"});
    let said = hand.done("browser_download", file.clone()).await;
    assert!(
        said.contains("\"report.bin\"") && said.contains("19 bytes"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(hand.saved("dir/out.bin")).unwrap(),
        "the bytes of a file"
    );
    let failure = hand.fails("browser_download", file).await;
    assert!(failure.contains("is there already"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_download_is_over_before_the_next_call() {
    let Some((shop, hand)) = in_a_shop().await else {
        return;
    };
    for number in 0..5 {
        let refused = format!("{}?refused={number}", shop.file());
        hand.fails("browser_navigate", json!({"url": refused})).await;
        let wanted = format!("{}?wanted={number}", shop.file());
        let file = json!({"page": wanted, "path": format!("{number}.bin")});
        let said = hand.done("browser_download", file).await;
        assert!(said.contains(&wanted), "{said}");
    }
}
