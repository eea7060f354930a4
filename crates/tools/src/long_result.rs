//! Shortens a result that is too long for a model to its beginning and its end, and stores all of it in a
//! blob that `read` can continue from. This is for tools that return their output as a whole; the output of
//! commands is cut while it arrives.

use std::sync::Arc;

use agentx_runtime::BlobStore;
use agentx_types::BlobId;

use crate::text;

/// Shortens a text to about `most` bytes for the model. Returns it, and the blob that has all of it if it was
/// too long.
pub async fn shortened(text: String, most: usize, blobs: &Arc<dyn BlobStore>) -> (String, Option<BlobId>) {
    if text.len() <= most {
        return (text, None);
    }
    let (head, tail) = (text::head(&text, most / 2), text::tail(&text, most / 2));
    let left_out = text::size((text.len() - head.len() - tail.len()) as u64);
    let next_line = head.matches('\n').count() + 1;
    let border = if head.ends_with('\n') { "" } else { "\n" };
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let (blob, way) = match blobs.put_blob(text.into_bytes()).await {
        Ok(id) => {
            let way = format!(
                "all of it is kept: read {{\"blob\": \"{id}\", \"offset\": {next_line}}} continues there"
            );
            (Some(id), way)
        }
        Err(error) => (None, format!("it could not be kept: {error}")),
    };
    (
        format!("{head}{border}[{left_out} left out; {way}]\n{tail}"),
        blob,
    )
}

#[cfg(test)]
mod tests {
    use agentx_runtime::MemoryLog;

    use super::*;

    #[tokio::test]
    async fn what_is_too_long_is_cut_in_the_middle_and_kept() {
        let blobs: Arc<dyn BlobStore> = Arc::new(MemoryLog::new());
        assert_eq!(
            shortened("short\n".into(), 6, &blobs).await,
            ("short\n".to_owned(), None)
        );
        let lines: String = (0..1000).map(|number| format!("{number}\n")).collect();
        let (shown, blob) = shortened(lines.clone(), 100, &blobs).await;
        let blob = blob.unwrap();
        assert!(
            shown.starts_with("0\n1\n") && shown.ends_with("\n999\n") && shown.len() < 400,
            "{shown}"
        );
        assert!(
            shown.contains(&format!("{{\"blob\": \"{blob}\", \"offset\": 21}}")),
            "{shown}"
        );
        let kept = blobs.get_blob(&blob, 0..u64::MAX).await.unwrap();
        assert_eq!(kept, lines.as_bytes());
    }
}
