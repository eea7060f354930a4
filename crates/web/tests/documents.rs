//! The helper that reads documents in a process of its own, and how it is held.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(feature = "documents")]

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_testing::{fixture, pdf_of, pdf_with_content};
use agentx_tools::{DocumentReader as _, FileOptions, ToolOptions, Toolbox};
use agentx_types::ToolStatus;
use agentx_web::{DocumentFormat, DocumentHelper};
use flate2::{Compress, Compression, FlushCompress, Status};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::common::helper;

fn pdf_text(bytes: Vec<u8>) -> Result<String, String> {
    helper().pdf_text(bytes, &CancellationToken::new())
}

/// Packed zeros: as many as fit into no helper. One packed piece is written again and again.
fn bomb(mebibytes: usize) -> Vec<u8> {
    let zeros = vec![0; 1 << 20];
    let mut packing = Compress::new(Compression::best(), true);
    let mut piece = |flush| {
        let mut packed = Vec::with_capacity(1 << 16);
        assert_eq!(
            packing.compress_vec(&zeros, &mut packed, flush).unwrap(),
            Status::Ok
        );
        packed
    };
    let first = piece(FlushCompress::Full);
    let next = piece(FlushCompress::Full);
    let mut all = first;
    (1..mebibytes).for_each(|_| all.extend_from_slice(&next));
    all
}

#[test]
fn the_text_of_a_pdf_is_read_page_by_page() {
    assert_eq!(pdf_text(pdf_of("Some words")).unwrap(), "[page 1]\nSome words");
}

#[test]
fn a_broken_or_greedy_document_ends_its_helper_alone() {
    let begun = Instant::now();
    let whole = pdf_of("Some words");
    let why = |bytes: Vec<u8>| pdf_text(bytes).unwrap_err();
    assert!(why(whole[..whole.len() / 2].to_vec()).contains("not a whole PDF"));
    assert!(why(pdf_of(" ")).contains("no text in them"));
    assert!(why(b"%PDF-1.4 and nothing else".to_vec()).contains("not a whole PDF"));
    let bomb = pdf_with_content(&bomb(3 << 10), " /Filter /FlateDecode");
    assert!(bomb.len() < 8 << 20, "{}", bomb.len());
    let refused = why(bomb);
    assert!(refused.contains("more memory or time"), "{refused}");
    let deep = "<div>".repeat(4_000);
    let read = helper().read(
        DocumentFormat::Html,
        deep.into_bytes(),
        None,
        &CancellationToken::new(),
    );
    assert!(read.unwrap_err().contains("nest deeper than 1000"));
    let wide = "<p>".repeat(300_000);
    let read = helper().read(
        DocumentFormat::Html,
        wide.into_bytes(),
        None,
        &CancellationToken::new(),
    );
    assert!(read.unwrap_err().contains("more than 200000 elements"));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn a_stopped_reading_ends_and_a_program_that_is_no_helper_is_not_started_as_one() {
    let stop = CancellationToken::new();
    stop.cancel();
    // This program never reads, never answers and never ends.
    let place = tempfile::tempdir().unwrap();
    let endless = place.path().join("endless");
    std::fs::write(&endless, "#!/bin/sh\nwhile :; do :; done\n").unwrap();
    std::fs::set_permissions(&endless, PermissionsExt::from_mode(0o700)).unwrap();
    let begun = Instant::now();
    let waiting = DocumentHelper::new(endless);
    let read = waiting.read(DocumentFormat::Pdf, vec![0; 1 << 20], None, &stop);
    assert_eq!(read.unwrap_err(), "it was stopped");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let missing = DocumentHelper::new("/no/such/program");
    let read = missing.read(DocumentFormat::Pdf, Vec::new(), None, &CancellationToken::new());
    assert!(read.unwrap_err().contains("cannot be started"));
    assert!(
        DocumentHelper::of_this_program().is_none(),
        "this test did not ask at its start"
    );
}

#[tokio::test]
async fn read_shows_the_text_of_pdfs_and_notebooks() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(place.path().join(name), bytes).unwrap();
    write("a.pdf", &pdf_of("Words of a PDF"));
    write("broken.pdf", b"%PDF-1.4");
    write("large.pdf", &[b"%PDF-1.4".to_vec(), vec![b' '; 10_000]].concat());
    write(
        "b.ipynb",
        br##"{"cells": [{"cell_type": "code", "source": "1 + 1", "outputs": []}]}"##,
    );
    write("c.ipynb", b"{\n");
    let files = FileOptions {
        documents: Some(Arc::new(helper())),
        document_bytes: 10_000,
        ..FileOptions::default()
    };
    let toolbox = Toolbox::builtin(ToolOptions {
        files,
        ..ToolOptions::default()
    });
    let root = place.path().canonicalize().unwrap();
    let read = async |input: Value| {
        let outcome = toolbox.call("read", input, fixture::tool_context(&root)).await;
        let text: String = outcome.content.iter().filter_map(|part| part.as_text()).collect();
        (outcome.status, text)
    };
    let (status, text) = read(json!({"path": "a.pdf"})).await;
    assert_eq!(
        (status, &*text),
        (ToolStatus::Success, "     1\t[page 1]\n     2\tWords of a PDF\n")
    );
    let (_, text) = read(json!({"path": "a.pdf", "offset": 2})).await;
    assert_eq!(text, "     2\tWords of a PDF\n");
    let (status, text) = read(json!({"path": "b.ipynb"})).await;
    assert_eq!(status, ToolStatus::Success, "{text}");
    assert!(
        text.starts_with("     1\t[cell 1: code]\n     2\t```\n     3\t1 + 1\n"),
        "{text}"
    );
    assert!(text.ends_with("look at its JSON with bash]\n"), "{text}");
    assert_eq!(read(json!({"path": "c.ipynb"})).await.1, "     1\t{\n");
    for (path, what) in [
        ("broken.pdf", "its text cannot be read: it is not a whole PDF"),
        ("large.pdf", "more than the"),
    ] {
        let (status, text) = read(json!({"path": path})).await;
        assert!(
            status == ToolStatus::Failed && text.contains(what),
            "{path}: {text}"
        );
    }
}
