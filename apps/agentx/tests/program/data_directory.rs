//! The data directory is its owner's alone: a wider mode is taken from it, or it is refused.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use crate::common::{Sandbox, check};

const DATA: &str = "home/.local/share/agentx";

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_data_directory_that_others_could_open_is_closed_with_its_database() {
    let sandbox = Sandbox::new().env("AGENTX_LOG", "warn");
    check(&sandbox.run(&["run", "hello"]), 0, &[]);
    let data = sandbox.path(DATA);
    let database = data.join("sessions.db");
    assert_eq!((mode(&data), mode(&database)), (0o700, 0o600));
    for wide in [0o755, 0o775] {
        set_mode(&data, wide);
        set_mode(&database, 0o644);
        let said = format!("others had access to the data directory (mode {wide:04o})");
        check(&sandbox.run(&["sessions", "list"]), 0, &[&said]);
        assert_eq!((mode(&data), mode(&database)), (0o700, 0o600));
        let again = sandbox.run(&["sessions", "list"]);
        assert!(!again.stderr.contains("others had access"), "{again}");
    }
}

#[test]
fn a_data_directory_that_several_users_share_is_refused_and_stays_as_it_is() {
    let sandbox = Sandbox::new();
    let shared = sandbox.path("shared");
    std::fs::create_dir(&shared).unwrap();
    set_mode(&shared, 0o1777);
    let refused = sandbox.run(&["--data", shared.to_str().unwrap(), "run", "hello"]);
    check(
        &refused,
        9,
        &[
            "others can change files in it (mode 1777)",
            "choose another directory",
        ],
    );
    assert_eq!(mode(&shared), 0o1777);
    // A directory of one's own in it is fine.
    let own = shared.join("own");
    let ran = sandbox.run(&["--data", own.to_str().unwrap(), "run", "hello"]);
    check(&ran, 0, &[]);
    assert_eq!(mode(&own), 0o700);
}

/// Root alone can open the directory of another user, and give one away: others cannot get into this.
#[test]
fn a_server_of_root_takes_the_directory_of_another_user_only_if_that_user_is_named() {
    let sandbox = Sandbox::new();
    check(&sandbox.run(&["run", "hello"]), 0, &[]);
    let data = sandbox.path(DATA);
    if data.metadata().unwrap().uid() != 0 {
        return;
    }
    chown(&data, Some(4711), None).unwrap();
    // A server that takes the directory ends at its address, which is not free.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let serve = ["serve", "--listen", &address];
    let said = ["belongs to another user (user id 4711)", "AGENTX_DATA_OWNER=4711"];
    check(&sandbox.run(&serve), 3, &said);
    assert!(!data.join("server_key").exists(), "nothing was written");
    check(&sandbox.run(&["sessions", "list"]), 0, &said);
    let doctor = sandbox.run(&["doctor", "--offline"]);
    assert!(doctor.stdout.contains(said[0]), "{doctor}");
    let sandbox = sandbox.env("AGENTX_DATA_OWNER", "4711");
    for line in [&serve[..], &["sessions", "list"], &["doctor", "--offline"]] {
        let allowed = sandbox.run(line);
        assert!(!allowed.to_string().contains("another user"), "{allowed}");
        assert!(
            line[0] != "serve" || allowed.stderr.contains(&address),
            "{allowed}"
        );
    }
}
