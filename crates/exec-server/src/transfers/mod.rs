//! Files that are listed, uploaded and downloaded, as OpenHands' clients ask for it.

mod archive;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Multipart, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::body_of;
use crate::exec_state::ExecState;
use crate::refusal::ExecRefusal;

/// Entries of a directory that are listed, at most.
const MOST_ENTRIES: usize = 10_000;

/// A request for the entries of a directory.
#[derive(Debug, Deserialize)]
pub(crate) struct ListFiles {
    path: Option<String>,
}

/// The place of an upload.
#[derive(Debug, Deserialize)]
pub(crate) struct UploadTo {
    destination: Option<String>,
    recursive: Option<bool>,
}

/// The place of a download.
#[derive(Debug, Deserialize)]
pub(crate) struct DownloadFrom {
    path: String,
}

/// Lists a directory: directories first, with `/` behind their names. A missing one is empty.
pub(crate) async fn list_files(
    State(state): State<Arc<ExecState>>,
    body: Result<Json<ListFiles>, JsonRejection>,
) -> Result<Json<Value>, ExecRefusal> {
    let asked = body_of(body)?;
    let place = state.options.directory.join(asked.path.unwrap_or_default());
    let names = in_background(move || Ok(entries(&place))).await?;
    Ok(Json(json!(names)))
}

fn entries(place: &Path) -> Vec<String> {
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    let found = std::fs::read_dir(place).into_iter().flatten().flatten();
    for entry in found.take(MOST_ENTRIES) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            folders.push(name + "/");
        } else {
            files.push(name);
        }
    }
    for names in [&mut folders, &mut files] {
        names.sort_by_key(|name| name.to_lowercase());
    }
    folders.append(&mut files);
    folders
}

/// Writes an uploaded file into a directory; with `recursive` unpacks a zip archive there.
pub(crate) async fn upload_file(
    State(state): State<Arc<ExecState>>,
    asked: Result<Query<UploadTo>, QueryRejection>,
    multipart: Multipart,
) -> Result<Json<Value>, ExecRefusal> {
    let Query(asked) = asked.map_err(|error| ExecRefusal::bad_request(error.body_text()))?;
    let destination = match asked.destination {
        Some(destination) => absolute(&destination)?,
        None => state.options.directory.clone(),
    };
    let (name, bytes) = uploaded(multipart).await?;
    let shown = destination.display().to_string();
    let most = state.options.body_bytes;
    let written = name.clone();
    if asked.recursive == Some(true) {
        if !name.ends_with(".zip") {
            return Err(ExecRefusal::bad_request("a recursive upload is a zip archive"));
        }
        in_background(move || archive::unpack(&bytes, &destination, most)).await?;
    } else {
        in_background(move || put(&destination, &written, &bytes)).await?;
    }
    Ok(Json(json!({
        "filename": name,
        "destination": shown,
        "message": "File uploaded successfully",
    })))
}

/// Returns the name and the bytes of the part `file`. The name is that of a file, without directories.
async fn uploaded(mut multipart: Multipart) -> Result<(String, Bytes), ExecRefusal> {
    loop {
        let field = multipart.next_field().await;
        let field =
            field.map_err(|error| ExecRefusal::new(error.status(), "bad_request", error.body_text()))?;
        let Some(field) = field else {
            return Err(ExecRefusal::bad_request("the upload has no part `file`"));
        };
        if field.name() != Some("file") {
            continue;
        }
        let name = field.file_name().map(Path::new).and_then(Path::file_name);
        let name = name.and_then(|name| name.to_str()).map(str::to_owned);
        let name = name.ok_or_else(|| ExecRefusal::bad_request("the part `file` has no file name"))?;
        let bytes = field.bytes().await;
        let bytes =
            bytes.map_err(|error| ExecRefusal::new(error.status(), "bad_request", error.body_text()))?;
        return Ok((name, bytes));
    }
}

fn put(destination: &Path, name: &str, bytes: &[u8]) -> Result<(), ExecRefusal> {
    let written =
        std::fs::create_dir_all(destination).and_then(|()| std::fs::write(destination.join(name), bytes));
    written.map_err(|error| not_done(&format!("{name} cannot be written"), &error))
}

/// Sends a file, or all files below a directory, as a zip archive.
pub(crate) async fn download_files(
    State(state): State<Arc<ExecState>>,
    asked: Result<Query<DownloadFrom>, QueryRejection>,
) -> Result<Response, ExecRefusal> {
    let Query(asked) = asked.map_err(|error| ExecRefusal::bad_request(error.body_text()))?;
    let path = absolute(&asked.path)?;
    let most = state.options.body_bytes;
    let packed = in_background(move || archive::pack(&path, most)).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"files.zip\""),
    ];
    Ok((headers, packed).into_response())
}

fn absolute(path: &str) -> Result<PathBuf, ExecRefusal> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(ExecRefusal::bad_request("the path has to be absolute"))
    }
}

/// An error of the disk.
fn not_done(what: &str, error: &std::io::Error) -> ExecRefusal {
    let (status, code) = match error.kind() {
        std::io::ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
    };
    ExecRefusal::new(status, code, format!("{what}: {error}"))
}

/// Does work that blocks.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExecRefusal> + Send + 'static,
) -> Result<T, ExecRefusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(ExecRefusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            format!("the work on files failed: {error}"),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_a_missing_one_is_empty() {
        let place = tempfile::tempdir().unwrap();
        for name in ["b.txt", "A.txt"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        std::fs::create_dir(place.path().join("z")).unwrap();
        assert_eq!(entries(place.path()), ["z/", "A.txt", "b.txt"]);
        assert_eq!(entries(&place.path().join("none")), Vec::<String>::new());
    }

    #[test]
    fn a_relative_path_is_refused() {
        assert!(absolute("/a/b").is_ok());
        assert_eq!(absolute("a/b").unwrap_err().status, StatusCode::BAD_REQUEST);
    }
}
