//! Values that a person marked as secret: a file of the person alone in the data directory.
//!
//! This reads the file, and writes its text; programs replace the file (`agentx secrets`).

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use agentx_config::{Secret, close_to_others};
use serde_json::{Value, json};

/// The name of the file in a data directory.
pub const MARKED_SECRETS: &str = "secrets.json";
/// The version of the file's format. Files of other versions are not read.
const FORM: u64 = 1;
/// The longest file that is read, in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// A value that a person marked.
#[derive(Clone, Debug)]
pub struct MarkedSecret {
    /// The name that replaces it.
    pub name: String,
    /// The value.
    pub value: Secret,
}

/// Returns the marked values, or none if the file is missing or unreadable. If others have access to the
/// file, that is taken from them: if it were refused, the values would be shown.
pub fn marked_secrets(data_dir: &Path) -> Vec<MarkedSecret> {
    let path = data_dir.join(MARKED_SECRETS);
    match close_to_others(&path) {
        Ok(None) => {}
        Ok(Some(mode)) => {
            let file = path.display();
            tracing::warn!(%file, "others had access to the marked secrets (mode {mode:04o})");
        }
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "others have access to the marked secrets")
        }
    }
    let Ok(file) = File::open(&path) else {
        return Vec::new();
    };
    let mut text = String::new();
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    let marked = read.ok().and_then(|_| read_text(&text));
    if marked.is_none() {
        tracing::warn!(file = %path.display(), "the marked secrets cannot be read");
    }
    marked.unwrap_or_default()
}

/// The text of the file with these values.
pub fn marked_text(secrets: &[MarkedSecret]) -> String {
    let entry = |secret: &MarkedSecret| json!({"name": secret.name, "value": secret.value.expose()});
    let entries: Vec<Value> = secrets.iter().map(entry).collect();
    json!({"form": FORM, "secrets": entries}).to_string()
}

fn read_text(text: &str) -> Option<Vec<MarkedSecret>> {
    let file: Value = serde_json::from_str(text).ok()?;
    if file.get("form")?.as_u64()? != FORM {
        return None;
    }
    let entries = file.get("secrets")?.as_array()?.iter();
    let secret = |entry: &Value| {
        Some(MarkedSecret {
            name: entry.get("name")?.as_str()?.to_owned(),
            value: Secret::new(entry.get("value")?.as_str()?),
        })
    };
    entries.map(secret).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_are_not_shown() {
        let marked = [MarkedSecret {
            name: "WIFI".into(),
            value: Secret::new("made up \"value\"\nwith lines"),
        }];
        let text = marked_text(&marked);
        let read = read_text(&text).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(
            (read[0].name.as_str(), read[0].value.expose()),
            ("WIFI", marked[0].value.expose())
        );
        assert!(!format!("{read:?}").contains("made up"), "{read:?}");
        assert!(read_text("{\"form\":2,\"secrets\":[]}").is_none());
        assert!(read_text("{\"form\":1,\"secrets\":[{\"name\":\"A\"}]}").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn the_access_of_others_to_the_values_is_taken() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(MARKED_SECRETS);
        std::fs::write(&path, marked_text(&[])).unwrap();
        for open in [0o666, 0o644] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(open)).unwrap();
            assert!(marked_secrets(directory.path()).is_empty());
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
