//! A keyring on a disk: created once, protected from others, and not lost by mistake.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use super::*;
use crate::ServerKeyStatus;

fn keyring() -> (tempfile::TempDir, Keyring) {
    let directory = tempfile::tempdir().unwrap();
    // It does not exist yet.
    let keyring = Keyring::open(directory.path().join("data")).unwrap();
    (directory, keyring)
}

fn key(seed: u8) -> PublicKey {
    *SecretKey::from_seed(&[seed; 32]).unwrap().public_key()
}

fn member(seed: u8, name: &str) -> Trusted {
    Trusted {
        public_key: key(seed),
        name: Some(name.to_owned()),
        role: TrustedAs::Member,
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    set_mode(path, 0o600);
}

#[test]
fn an_identity_is_made_at_first_need_and_stays() {
    let (_directory, keyring) = keyring();
    assert!(keyring.identity().unwrap().is_none());
    assert!(!keyring.identity_file().exists());
    let made = keyring.identity_or_new().unwrap();
    let again = keyring.identity_or_new().unwrap();
    assert_eq!(made.public_key(), again.public_key());
    assert_eq!(mode(&keyring.identity_file()), 0o600);
    assert_eq!(mode(keyring.identity_file().parent().unwrap()), 0o700);
}

#[test]
fn of_many_that_need_it_at_once_all_are_the_same_person() {
    let (_directory, keyring) = keyring();
    let keys: Vec<PublicKey> = std::thread::scope(|scope| {
        let need = || *keyring.identity_or_new().unwrap().public_key();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(need)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[test]
fn an_identity_is_replaced_only_where_that_was_meant() {
    let (_directory, keyring) = keyring();
    let (one, two) = (
        SecretKey::from_seed(&[1; 32]).unwrap(),
        SecretKey::from_seed(&[2; 32]).unwrap(),
    );
    keyring.set_identity(&one, false).unwrap();
    let error = keyring.set_identity(&two, false).unwrap_err();
    assert!(matches!(&error, KeyringError::Exists { key, .. } if key == one.public_key()));
    assert!(error.hint().unwrap().contains("--force"));
    assert_eq!(
        keyring.identity().unwrap().unwrap().public_key(),
        one.public_key()
    );
    keyring.set_identity(&two, true).unwrap();
    assert_eq!(
        keyring.identity().unwrap().unwrap().public_key(),
        two.public_key()
    );
    assert_eq!(mode(&keyring.identity_file()), 0o600);
}

#[test]
fn an_identity_that_others_may_read_is_refused_until_it_is_mended() {
    let (_directory, keyring) = keyring();
    let own = *keyring.identity_or_new().unwrap().public_key();
    for open in [0o644, 0o640, 0o604, 0o660, 0o602] {
        set_mode(&keyring.identity_file(), open);
        let error = keyring.identity().unwrap_err();
        assert!(
            matches!(error, KeyringError::Readable { mode, .. } if mode == open),
            "{error}"
        );
        let command = format!("`chmod 600 {}`", keyring.identity_file().display());
        assert!(error.hint().unwrap().starts_with(&command));
        assert!(Keyring::open(keyring.identity_file().parent().unwrap()).is_err());
        assert_eq!(keyring.person(&own), None);
        assert!(keyring.identity_or_new().is_err());
    }
    set_mode(&keyring.identity_file(), 0o400);
    assert_eq!(keyring.identity().unwrap().unwrap().public_key(), &own);
    set_mode(&keyring.identity_file(), 0o644);
    let fresh = SecretKey::from_seed(&[4; 32]).unwrap();
    keyring.set_identity(&fresh, true).unwrap();
    assert_eq!(mode(&keyring.identity_file()), 0o600);
}

#[test]
fn an_identity_that_makes_no_sense_is_refused_with_its_line() {
    let (_directory, keyring) = keyring();
    let seed = STANDARD.encode([7; 32]);
    let table = [
        (String::new(), 1),
        ("agentx-identity 2\n".to_owned(), 1),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned(), 1),
        ("agentx-identity 1".to_owned(), 2),
        ("agentx-identity 1\nAAAA\n".to_owned(), 2),
        (format!("agentx-identity 1\n{seed}!\n"), 2),
        (format!("agentx-identity 1\n{seed}\n{seed}\n"), 3),
    ];
    for (text, expected) in table {
        write(&keyring.identity_file(), &text);
        match keyring.identity().unwrap_err() {
            KeyringError::Damaged { line, what, .. } => {
                assert_eq!(line, expected, "{text}");
                assert!(!what.contains(&seed));
            }
            other => panic!("{other}"),
        }
        assert!(
            keyring.identity_or_new().is_err(),
            "it is not replaced in silence"
        );
    }
    write(
        &keyring.identity_file(),
        &format!("agentx-identity 1\r\n{seed}\r\n\n"),
    );
    assert_eq!(keyring.identity().unwrap().unwrap().public_key(), &key(7));
}

#[test]
fn people_come_change_and_go() {
    let (_directory, keyring) = keyring();
    assert_eq!(keyring.people().unwrap(), []);
    assert_eq!(keyring.untrust(&key(1)).unwrap(), None);
    assert!(!keyring.people_file().exists(), "nothing was changed");
    assert_eq!(keyring.trust(member(1, "ada")).unwrap(), None);
    assert_eq!(keyring.trust(member(2, "bob")).unwrap(), None);
    let renamed = Trusted {
        role: TrustedAs::Operator,
        ..member(1, "countess")
    };
    assert_eq!(keyring.trust(renamed.clone()).unwrap(), Some(member(1, "ada")));
    assert_eq!(keyring.people().unwrap(), [renamed.clone(), member(2, "bob")]);
    assert_eq!(mode(&keyring.people_file()), 0o600);
    assert_eq!(keyring.untrust(&key(1)).unwrap(), Some(renamed));
    assert_eq!(keyring.people().unwrap(), [member(2, "bob")]);
}

#[test]
fn each_grant_of_a_role_is_another_one_and_older_lists_have_none() {
    let (_directory, keyring) = keyring();
    let grant = || keyring.person(&key(1)).and_then(|known| known.grant);
    let trust = |name: &str, role: TrustedAs| {
        let trusted = Trusted {
            role,
            ..member(1, name)
        };
        keyring.trust(trusted).unwrap();
        grant()
    };
    let older = format!("[{{\"public_key\": \"{}\"}}]", key(1));
    write(&keyring.people_file(), &older);
    assert_eq!(grant(), None);
    assert_eq!(trust("ada", TrustedAs::Member), None, "a new name grants nothing");
    let mut grants = vec![trust("ada", TrustedAs::Operator), trust("ada", TrustedAs::Member)];
    assert_eq!(trust("countess", TrustedAs::Member), grants[1]);
    keyring.untrust(&key(1)).unwrap();
    grants.push(trust("ada", TrustedAs::Member));
    let different: std::collections::BTreeSet<_> = grants.iter().flatten().collect();
    assert_eq!(different.len(), 3, "{grants:?}");
}

#[test]
fn many_writers_lose_nobody() {
    let (_directory, keyring) = keyring();
    std::thread::scope(|scope| {
        for seed in 0..16 {
            let keyring = &keyring;
            scope.spawn(move || keyring.trust(member(seed, "x")).unwrap());
        }
    });
    assert_eq!(keyring.people().unwrap().len(), 16);
}

#[test]
fn who_somebody_is() {
    let (_directory, keyring) = keyring();
    let own = *keyring.identity_or_new().unwrap().public_key();
    keyring.trust(member(1, "ada")).unwrap();
    let friend = Trusted {
        public_key: key(2),
        name: None,
        role: TrustedAs::Operator,
    };
    keyring.trust(friend).unwrap();
    // Trusting your own key as a member removes no right.
    keyring
        .trust(Trusted {
            public_key: own,
            ..member(3, "me")
        })
        .unwrap();
    let operator = KnownPerson {
        owner: OwnerId::new("own_local"),
        name: None,
        operator: true,
        approver: false,
        grant: None,
    };
    assert_eq!(keyring.person(&own), Some(operator.clone()));
    let friend = keyring.person(&key(2)).unwrap();
    let grant = friend.grant.clone();
    assert_eq!(
        (grant.is_some(), friend),
        (true, KnownPerson { grant, ..operator })
    );
    let ada = keyring.person(&key(1)).unwrap();
    assert_eq!((ada.owner, ada.operator), (owner_of(&key(1)), false));
    assert_eq!(ada.name.as_deref(), Some("ada"));
    assert_eq!(keyring.person(&key(9)), None);
}

#[test]
fn a_list_that_makes_no_sense_is_an_error_with_its_line_and_stays_as_it_is() {
    let (_directory, keyring) = keyring();
    let own = *keyring.identity_or_new().unwrap().public_key();
    let one = format!("  {{\"public_key\": \"{}\"}}", key(1));
    let table = [
        (String::new(), 1, "EOF"),
        (
            "[\n  {\"public_key\": \"ed25519:short\"}\n]".to_owned(),
            2,
            "`ed25519:` must be followed by",
        ),
        (format!("[\n{one},\n]"), 3, "trailing comma"),
        (format!("[\n{one},\n{one}\n]"), 3, "twice"),
        ("[\n\n{\"name\": \"x\"}]".to_owned(), 3, "public_key"),
        (one.replace("\"}", "\",\n\"as\": \"king\"}"), 1, "sequence"),
        (
            format!("[{}]", one.replace("\"}", "\",\n\"as\": \"king\"}")),
            2,
            "one of `member`, `approver`, `operator`",
        ),
        (
            format!("[{}]", one.replace("\"}", "\",\n\"note\": \"x\"}")),
            2,
            "unknown field `note`",
        ),
    ];
    for (text, line, word) in table {
        write(&keyring.people_file(), &text);
        let place = format!("{}:{line}: ", keyring.people_file().display());
        for error in [
            keyring.people().map(drop).unwrap_err(),
            keyring.trust(member(5, "x")).map(drop).unwrap_err(),
            keyring.untrust(&key(1)).map(drop).unwrap_err(),
        ] {
            let told = error.to_string();
            assert!(told.starts_with(&place) && told.contains(word), "{told}");
            assert!(!told.contains(" column "), "{told}");
        }
        assert_eq!(std::fs::read_to_string(keyring.people_file()).unwrap(), text);
        assert_eq!(keyring.person(&key(1)), None, "nobody is vouched for");
        assert!(
            keyring.person(&own).is_some(),
            "one's own identity does not need the list"
        );
    }
}

#[test]
fn a_servers_key_that_others_may_read_says_how_to_mend_it() {
    let (_directory, keyring) = keyring();
    keyring.server_key_or_new().unwrap();
    let file = keyring.identity_file().with_file_name("server_key");
    set_mode(&file, 0o644);
    let hint = keyring.server_key_or_new().unwrap_err().hint().unwrap();
    assert!(
        hint.starts_with(&format!("`chmod 600 {}`", file.display())),
        "{hint}"
    );
    assert!(!hint.contains("identity new"), "that makes another key: {hint}");
}

#[test]
fn a_list_that_others_may_change_is_refused() {
    let (_directory, keyring) = keyring();
    keyring.trust(member(1, "ada")).unwrap();
    set_mode(&keyring.people_file(), 0o644);
    assert!(keyring.person(&key(1)).is_some(), "reading it does no harm");
    set_mode(&keyring.people_file(), 0o664);
    let error = keyring.people().unwrap_err();
    assert!(
        matches!(error, KeyringError::Writable { mode: 0o664, .. }),
        "{error}"
    );
    let command = format!("`chmod 600 {}`", keyring.people_file().display());
    assert!(error.hint().unwrap().contains(&command));
    assert_eq!(keyring.person(&key(1)), None);
}

#[test]
fn what_a_dead_process_left_behind_is_in_nobodys_way() {
    let (_directory, keyring) = keyring();
    let left = keyring.identity_file().with_file_name("identity.4711-0.new");
    write(&left, "half");
    set_mode(&left, 0o666);
    keyring.identity_or_new().unwrap();
    assert_eq!(mode(&keyring.identity_file()), 0o600);
    assert!(!left.exists());
}

#[test]
fn a_hand_written_list_may_have_openssh_lines() {
    let (_directory, keyring) = keyring();
    let line = key(1).to_openssh("ada@home");
    write(
        &keyring.people_file(),
        &format!("[{{\"public_key\": \"{line}\"}}]"),
    );
    assert_eq!(keyring.people().unwrap()[0].public_key, key(1));
    keyring.trust(member(2, "bob")).unwrap();
    assert_eq!(keyring.people().unwrap().len(), 2);
}

#[test]
fn a_directory_in_which_others_may_put_files_is_not_served() {
    let directory = tempfile::tempdir().unwrap();
    let keyring = Keyring::at(directory.path());
    for (mode, is_fine) in [
        (0o700, true),
        (0o755, true),
        (0o770, false),
        (0o702, false),
        (0o1777, false),
    ] {
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        let checked = keyring.check_directory();
        assert_eq!(checked.is_ok(), is_fine, "{mode:o} {checked:?}");
        let hint = checked.err().and_then(|error| error.hint());
        let command = format!("`chmod 700 {}`", directory.path().display());
        assert!(is_fine || hint.unwrap().contains(&command));
    }
    Keyring::at(directory.path().join("none"))
        .check_directory()
        .unwrap();
}

/// Root alone can give files away, so other users try only what is theirs.
#[test]
fn files_and_a_directory_of_another_user_are_refused_unless_that_user_is_allowed() {
    const OTHER: u32 = 4711;
    let (place, keyring) = keyring();
    keyring.identity_or_new().unwrap();
    keyring.trust(member(1, "ada")).unwrap();
    keyring.check_owner(None).unwrap();
    Keyring::at(place.path().join("none")).check_owner(None).unwrap();
    if place.path().metadata().unwrap().uid() != 0 {
        return;
    }
    for file in [keyring.identity_file(), keyring.people_file()] {
        chown(&file, Some(OTHER), None).unwrap();
    }
    for refused in [keyring.identity().err(), keyring.people().err()] {
        let refused = refused.unwrap();
        assert!(
            matches!(refused, KeyringError::ForeignFile { owner: OTHER, .. }),
            "{refused}"
        );
        assert!(refused.hint().unwrap().contains("`chown $(id -u) "), "{refused}");
    }
    assert_eq!(keyring.person(&key(1)), None);
    chown(place.path().join("data"), Some(OTHER), None).unwrap();
    assert!(keyring.identity().unwrap().is_some() && keyring.person(&key(1)).is_some());
    for allowed in [None, Some(OTHER + 1)] {
        let refused = keyring.check_owner(allowed).unwrap_err();
        assert!(
            matches!(refused, KeyringError::ForeignDirectory { owner: OTHER, .. }),
            "{refused}"
        );
        assert!(
            refused.hint().unwrap().contains("AGENTX_DATA_OWNER=4711"),
            "{refused}"
        );
    }
    keyring.check_owner(Some(OTHER)).unwrap();
}

#[test]
fn a_server_is_believed_the_first_time_and_has_to_stay_the_same() {
    let (_directory, keyring) = keyring();
    let place = "localhost:5200";
    assert_eq!(keyring.meet_server(place, &key(1)).unwrap(), ServerKeyStatus::New);
    assert_eq!(
        keyring.meet_server(place, &key(1)).unwrap(),
        ServerKeyStatus::Known
    );
    let changed = ServerKeyStatus::Changed { before: key(1) };
    assert_eq!(keyring.meet_server(place, &key(2)).unwrap(), changed);
    assert_eq!(
        keyring.meet_server("localhost:5201", &key(2)).unwrap(),
        ServerKeyStatus::New
    );
    assert_eq!(keyring.server_at(place).unwrap(), Some(key(1)));
    // The server of the same directory needs no line.
    let own = keyring.server_key_or_new().unwrap();
    assert_eq!(
        keyring.server_key_or_new().unwrap().public_key(),
        own.public_key()
    );
    assert_eq!(
        keyring.meet_server(place, own.public_key()).unwrap(),
        ServerKeyStatus::Known
    );
    assert!(
        keyring.identity().unwrap().is_none(),
        "a server's key is nobody's identity"
    );
    // A list that others may change, or that makes no sense, vouches for nothing.
    let file = keyring.servers_file();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o620)).unwrap();
    assert!(matches!(
        keyring.meet_server(place, &key(1)),
        Err(KeyringError::Writable { .. })
    ));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, "localhost:5200 ed25519:short\n").unwrap();
    assert!(matches!(
        keyring.meet_server(place, &key(1)),
        Err(KeyringError::Damaged { line: 1, .. })
    ));
}
