//! The contract of [`BlobStore`](agentx_runtime::BlobStore).

use agentx_runtime::LogError;
use agentx_types::BlobId;

use super::{CheckResult, ContractCheck, TestedLog, fails, same, works};

/// Bytes and the id that they have: `b3_` and their BLAKE3 hash.
const KNOWN: [(&[u8], &str); 2] = [
    (
        b"",
        "b3_af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    ),
    (
        b"abc",
        "b3_6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
    ),
];

pub(super) const PROMISES: &[(&str, ContractCheck)] = &[
    (
        "`put_blob` returns `b3_` and the BLAKE3 hash of the bytes in hexadecimal",
        |store| Box::pin(ids(store)),
    ),
    (
        "bytes are stored once: putting them again gives the same id",
        |store| Box::pin(once(store)),
    ),
    (
        "`get_blob` brings a range of the bytes, cut to what exists",
        |store| Box::pin(ranges(store)),
    ),
    ("`blob_size` is how many bytes a blob has", |store| {
        Box::pin(sizes(store))
    }),
    ("a blob that is not there is `LogError::NoBlob`", |store| {
        Box::pin(missing(store))
    }),
];

async fn put(store: &TestedLog, bytes: &[u8]) -> Result<BlobId, String> {
    works("put_blob", store.0.put_blob(bytes.to_vec()).await)
}

async fn ids(store: TestedLog) -> CheckResult {
    for (bytes, id) in KNOWN {
        same(
            &format!("the id of {bytes:?}"),
            put(&store, bytes).await?.as_str(),
            id,
        )?;
    }
    Ok(())
}

async fn once(store: TestedLog) -> CheckResult {
    let first = put(&store, b"abc").await?;
    same("the second id", put(&store, b"abc").await?, first.clone())?;
    let bytes = works("get_blob", store.0.get_blob(&first, 0..u64::MAX).await)?;
    same("the blob", bytes, b"abc".to_vec())
}

async fn ranges(store: TestedLog) -> CheckResult {
    let id = put(&store, b"0123456789").await?;
    for (range, expected) in [
        (0..10, &b"0123456789"[..]),
        (3..5, b"34"),
        (8..100, b"89"),
        (10..20, b""),
        (100..200, b""),
        (4..4, b""),
    ] {
        let what = format!("get_blob({range:?}) of ten bytes");
        let bytes = works(&what, store.0.get_blob(&id, range).await)?;
        same(&what, bytes, expected.to_vec())?;
    }
    Ok(())
}

async fn sizes(store: TestedLog) -> CheckResult {
    for size in [0, 1, 100_000] {
        let id = put(&store, &vec![1; size]).await?;
        let found = works("blob_size", store.0.blob_size(&id).await)?;
        same("blob_size", found, size as u64)?;
    }
    Ok(())
}

async fn missing(store: TestedLog) -> CheckResult {
    let id = BlobId::new(KNOWN[1].1);
    let is_it = |error: &LogError| matches!(error, LogError::NoBlob(named) if *named == id);
    fails(
        "get_blob of an unknown id",
        store.0.get_blob(&id, 0..1).await,
        "NoBlob",
        is_it,
    )?;
    fails(
        "blob_size of an unknown id",
        store.0.blob_size(&id).await,
        "NoBlob",
        is_it,
    )
}
