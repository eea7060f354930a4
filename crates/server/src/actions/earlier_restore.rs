//! Rebuilds the report of a restore from the log. If the first answer was lost and the client repeats the
//! request with the same key, it gets this report, and nothing is restored twice.

use std::collections::BTreeMap;

use agentx_runtime::{Delivery, RestoreReport, RestoreRequest, Runtime, RuntimeError, View};
use agentx_types::{EnvironmentEvent, FileFailed, FilesRestored, FilesRestoring, SessionId};

/// The reason for a file whose restoring has no recorded end.
const CUT_OFF: &str = "the server stopped while it restored this file; rewind to the same place again";
/// The reason for a file that was asked for and is not on record.
const NOT_TRIED: &str = "it was left as it is";

/// Returns the report of the restore that began with the event `seq`. Directories that went with their files
/// are not on record.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub(crate) async fn report_of(
    runtime: &dyn Runtime,
    session: &SessionId,
    seq: u64,
    wish: &RestoreRequest,
) -> Result<RestoreReport, RuntimeError> {
    let (mut begun, mut ended) = (None, None);
    let mut events = runtime
        .watch(session, seq.saturating_sub(1), View::Environment, false)
        .await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => match &fact.event {
                EnvironmentEvent::FilesRestoring(restoring) if fact.seq == seq => {
                    begun = Some(restoring.clone())
                }
                EnvironmentEvent::FilesRestored(restored) if restored.restoring == seq => {
                    ended = Some(restored.clone());
                    break;
                }
                _ => {}
            },
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(RestoreReport {
        seq: Some(seq),
        ..report(begun.as_ref(), ended.as_ref(), wish)
    })
}

fn report(
    begun: Option<&FilesRestoring>,
    ended: Option<&FilesRestored>,
    wish: &RestoreRequest,
) -> RestoreReport {
    let failed = ended.map(|ended| ended.failed.as_slice()).unwrap_or_default();
    let failed: BTreeMap<&str, &str> = failed.iter().map(|file| (&*file.path, &*file.what)).collect();
    let begun = begun.map(|begun| begun.files.as_slice()).unwrap_or_default();
    let mut report = RestoreReport::default();
    for file in &wish.files {
        let path = file.path.as_str();
        let was_begun = begun.iter().any(|begun| begun.path == path);
        let why = match (was_begun, failed.get(path)) {
            (false, _) => Some(NOT_TRIED),
            (true, Some(what)) => Some(*what),
            (true, None) => ended.is_none().then_some(CUT_OFF),
        };
        match why {
            None => report.restored.push(path.to_owned()),
            Some(what) => report.failed.push(FileFailed {
                path: path.to_owned(),
                what: what.to_owned(),
            }),
        }
    }
    report
}
