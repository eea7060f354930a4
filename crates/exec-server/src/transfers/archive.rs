//! Zip archives of files: packed for a download, unpacked from an upload. Links are left out, and no entry
//! leaves the directory.

use std::fs::{self, File};
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::not_done;
use crate::refusal::ExecRefusal;

/// Entries of an archive, at most.
const MOST_ENTRIES: usize = 50_000;

/// Returns a zip archive of a file, or of all files below a directory, of at most `most` bytes.
pub(super) fn pack(path: &Path, most: usize) -> Result<Vec<u8>, ExecRefusal> {
    let failed = |error: std::io::Error| not_done(&format!("{} cannot be read", path.display()), &error);
    let about = fs::metadata(path).map_err(failed)?;
    let (root, files) = if about.is_dir() {
        (path, files_below(path).map_err(failed)?)
    } else {
        (path.parent().unwrap_or(path), vec![path.to_owned()])
    };
    let mut size = 0;
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for file in files {
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        let bytes = read_at_most(&file, most.saturating_sub(size)).map_err(failed)?;
        let bytes = bytes.ok_or_else(|| too_large(most))?;
        size += bytes.len();
        writer.start_file(name, options).map_err(damaged)?;
        writer.write_all(&bytes).map_err(failed)?;
    }
    Ok(writer.finish().map_err(damaged)?.into_inner())
}

/// Returns the files below a directory. Links are left out.
fn files_below(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut open, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
        if files.len() + open.len() > MOST_ENTRIES {
            return Err(std::io::Error::other("there are too many files"));
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file; `None` if it has more than `most` bytes.
fn read_at_most(file: &Path, most: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    File::open(file)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then_some(bytes))
}

/// Unpacks an archive below a directory. Its files may have at most `most` bytes together.
pub(super) fn unpack(bytes: &[u8], destination: &Path, most: usize) -> Result<(), ExecRefusal> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    if archive.len() > MOST_ENTRIES {
        return Err(too_large(most));
    }
    let mut left = most;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(damaged)?;
        let inside = entry.enclosed_name();
        let Some(inside) = inside.filter(|_| !entry.is_symlink()) else {
            let words = "an entry of the archive is a link or leads out of the directory; the entries before it are unpacked";
            return Err(ExecRefusal::bad_request(words));
        };
        let path = destination.join(inside);
        let failed =
            |error: std::io::Error| not_done(&format!("{} cannot be written", path.display()), &error);
        if entry.is_dir() {
            fs::create_dir_all(&path).map_err(failed)?;
            continue;
        }
        // The size that an entry states may be wrong.
        let mut content = Vec::new();
        let limit = u64::try_from(left).unwrap_or(u64::MAX);
        entry
            .take(limit.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(failed)?;
        left = left.checked_sub(content.len()).ok_or_else(|| too_large(most))?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&path, content).map_err(failed)?;
    }
    Ok(())
}

fn too_large(most: usize) -> ExecRefusal {
    let words = format!("the files have more than {most} bytes, or are too many");
    ExecRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", words)
}

fn damaged(error: zip::result::ZipError) -> ExecRefusal {
    ExecRefusal::bad_request(format!("the archive cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_without_links() {
        let from = tempfile::tempdir().unwrap();
        fs::create_dir_all(from.path().join("a/b")).unwrap();
        fs::write(from.path().join("a/b/c.txt"), "words").unwrap();
        fs::write(from.path().join("d.bin"), [0, 1, 2]).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", from.path().join("link")).unwrap();
        let packed = pack(from.path(), 1_000).unwrap();
        let to = tempfile::tempdir().unwrap();
        unpack(&packed, &to.path().join("new"), 1_000).unwrap();
        assert_eq!(fs::read(to.path().join("new/a/b/c.txt")).unwrap(), b"words");
        assert_eq!(fs::read(to.path().join("new/d.bin")).unwrap(), [0, 1, 2]);
        assert!(!to.path().join("new/link").exists());
        let one = pack(&from.path().join("d.bin"), 1_000).unwrap();
        assert_eq!(ZipArchive::new(Cursor::new(one)).unwrap().len(), 1);
    }

    #[test]
    fn sizes_are_bounded_in_both_directions() {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("zeros"), vec![0; 100_000]).unwrap();
        assert_eq!(pack(from.path(), 1_000).unwrap_err().code, "too_large");
        let packed = pack(from.path(), 100_000).unwrap();
        assert!(packed.len() < 10_000);
        let refused = unpack(&packed, from.path(), 10_000).unwrap_err();
        assert_eq!(refused.code, "too_large");
        assert_eq!(pack(&from.path().join("none"), 9).unwrap_err().code, "not_found");
        assert_eq!(
            unpack(b"no archive", from.path(), 9).unwrap_err().code,
            "bad_request"
        );
    }

    #[test]
    fn an_entry_that_leads_out_is_refused() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("../out", SimpleFileOptions::default()).unwrap();
        writer.write_all(b"x").unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("inside");
        assert_eq!(unpack(&bytes, &inside, 100).unwrap_err().code, "bad_request");
        assert!(!place.path().join("out").exists());
    }
}
