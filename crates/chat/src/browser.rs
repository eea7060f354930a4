//! The browser of the person, on the machine where the program runs.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::ChatError;

/// The file through which an address with a secret goes to the browser.
const PRIVATE_FILE: &str = "open-page.html";

/// Returns whether a browser can be opened on this machine.
pub fn has_browser() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens an address or a file. The person can do it by hand if that fails.
pub fn open_in_browser(address: &OsStr) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let started = Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        tracing::debug!(%error, "the browser was not opened");
    }
}

/// Opens an address that holds a secret. Other users of the machine see the arguments of programs, so the
/// browser gets a file in `directory` that only this user can read and that leads to the address.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn open_privately(address: &str, directory: &Path) -> Result<(), ChatError> {
    let path = directory.join(PRIVATE_FILE);
    let written = agentx_files::create_private(&path).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(leading_to(address).as_bytes())
    });
    written.map_err(|error| ChatError::File {
        path: path.display().to_string(),
        what: error.to_string(),
    })?;
    open_in_browser(path.as_os_str());
    Ok(())
}

/// Returns a page that leads to an address.
fn leading_to(address: &str) -> String {
    let escaped = address
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;");
    format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={escaped}\"><title>AgentX</title>\n")
}

#[cfg(test)]
mod tests {
    use super::leading_to;

    #[test]
    fn an_address_stays_inside_its_attribute() {
        let page = leading_to("http://a\"><script>/#code=x&y");
        assert!(
            page.contains("url=http://a&quot;>&lt;script>/#code=x&amp;y\">"),
            "{page}"
        );
    }
}
