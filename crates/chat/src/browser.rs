//! The browser of the person, on the machine where the program runs.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use agentx_files::{ReplaceOptions, replace};

use crate::error::ChatError;
use crate::terminal::console::Console;

/// The file through which an address with a secret goes to the browser.
const PRIVATE_FILE: &str = "open-page.html";

/// Returns whether a browser can be opened on this machine.
pub fn has_browser() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens an address or a file. Returns whether the program for it was started; the person can do it by hand.
pub fn open_in_browser(address: &OsStr) -> bool {
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
    if let Err(error) = &started {
        tracing::debug!(%error, "the browser was not opened");
    }
    started.is_ok()
}

/// Opens an address that holds a secret, or says that no browser could be opened. Other users of the machine
/// see the arguments of programs, so the browser gets a file in `directory` that only this user can read and
/// that leads to the address.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn open_privately(address: &str, directory: &Path, console: &mut Console) -> Result<(), ChatError> {
    if !has_browser() {
        console.say(&not_opened("DISPLAY and WAYLAND_DISPLAY are not set", address));
        return Ok(());
    }
    let path = directory.join(PRIVATE_FILE);
    write_privately(address, &path).map_err(|error| ChatError::File {
        path: path.display().to_string(),
        what: error.to_string(),
    })?;
    if !open_in_browser(path.as_os_str()) {
        console.say(&not_opened(
            "the program that opens addresses did not start",
            address,
        ));
    }
    Ok(())
}

/// Says that the person has to open an address.
fn not_opened(why: &str, address: &str) -> String {
    format!("no browser could be opened ({why}); open this address in one: {address}\n")
}

/// Writes a page that leads to an address. It is a new file, whoever could read an old one.
fn write_privately(address: &str, path: &Path) -> io::Result<()> {
    replace(path, leading_to(address).as_bytes(), ReplaceOptions::default())
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
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_the_address_in_a_file_that_was_readable() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(PRIVATE_FILE);
        std::fs::write(&path, "an older page").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write_privately("http://127.0.0.1:1/#code=made-up", &path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.contains("#code=made-up"), "{page}");
    }

    #[test]
    fn a_machine_without_a_display_gets_the_address() {
        assert_eq!(
            not_opened(
                "DISPLAY and WAYLAND_DISPLAY are not set",
                "http://127.0.0.1:1/#code=made-up"
            ),
            "no browser could be opened (DISPLAY and WAYLAND_DISPLAY are not set); open this address in one: \
             http://127.0.0.1:1/#code=made-up\n"
        );
    }

    #[test]
    fn an_address_stays_inside_its_attribute() {
        let page = leading_to("http://a\"><script>/#code=x&y");
        assert!(
            page.contains("url=http://a&quot;>&lt;script>/#code=x&amp;y\">"),
            "{page}"
        );
    }
}
