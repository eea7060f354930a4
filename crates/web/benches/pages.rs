//! Saved pages as Markdown, each by a helper process: the time of a page. The bar: a median of at most 10 ms.
//!
//! `cargo bench -p agentx-web`; the pages are at `../shared/data/readability` from the workspace, or below
//! `AGENTX_TEST_DATA`. Without them nothing is measured.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]
#![allow(
    clippy::expect_used,
    reason = "a bench that cannot read its pages has nothing to measure"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentx_web::{DocumentFormat, DocumentHelper};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 5;
const BAR: Duration = Duration::from_millis(10);

fn main() {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let Ok(folder) = std::fs::read_dir(root.join("readability")) else {
        println!("nothing is measured: there are no pages at {}", root.display());
        return;
    };
    let helper = DocumentHelper::new(env!("CARGO_BIN_EXE_agentx-documents"));
    let pages = folder
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("source.html")).ok());
    let mut times: Vec<Duration> = pages.map(|html| best_time(&helper, &html)).collect();
    times.sort();
    let (Some(median), Some(slowest)) = (times.get(times.len() / 2), times.last()) else {
        println!("nothing is measured: the folder has no pages");
        return;
    };
    println!(
        "{} pages: median {median:.1?}, slowest {slowest:.1?}",
        times.len()
    );
    assert!(*median <= BAR, "the median is above {BAR:?}");
}

/// The shortest of a few times, because other work of the machine only adds to them.
fn best_time(helper: &DocumentHelper, html: &[u8]) -> Duration {
    let address = Some("http://fakehost/test/page.html");
    let times = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        let read = helper.read(
            DocumentFormat::Html,
            html.to_vec(),
            address,
            &CancellationToken::new(),
        );
        read.expect("a page that can be read");
        begun.elapsed()
    });
    times.min().unwrap_or_default()
}
