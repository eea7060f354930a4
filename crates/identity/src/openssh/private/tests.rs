//! Private keys from `ssh-keygen` if it is installed, and always keys that are made up byte by byte. None is
//! a real key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::PublicKey;

/// The parts of a key file, each of which a test may spoil.
struct Made {
    magic: &'static [u8],
    cipher: &'static [u8],
    derivation: &'static [u8],
    keys: u32,
    kind: &'static [u8],
    public: Vec<u8>,
    checks: [u32; 2],
    pair: Vec<u8>,
    padding: &'static [u8],
    rest: &'static [u8],
}

const SEED: [u8; 32] = [7; 32];

fn public() -> PublicKey {
    *SecretKey::from_seed(&SEED).unwrap().public_key()
}

impl Made {
    fn right() -> Self {
        Self {
            magic: b"openssh-key-v1\0",
            cipher: b"none",
            derivation: b"none",
            keys: 1,
            kind: b"ssh-ed25519",
            public: public().as_bytes().to_vec(),
            checks: [99, 99],
            pair: [SEED, *public().as_bytes()].concat(),
            padding: &[1, 2, 3, 4, 5, 6],
            rest: b"",
        }
    }

    fn blob(&self) -> Vec<u8> {
        let string = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
        let public = [string(self.kind), string(&self.public)].concat();
        let secret = [
            &self.checks[0].to_be_bytes()[..],
            &self.checks[1].to_be_bytes(),
            &public,
            &string(&self.pair),
            &string(b"me@here"),
            self.padding,
        ];
        [
            self.magic,
            &string(self.cipher),
            &string(self.derivation),
            &string(b""),
            &self.keys.to_be_bytes(),
            &string(&public),
            &string(&secret.concat()),
            self.rest,
        ]
        .concat()
    }

    fn read(&self) -> Result<PublicKey, KeyError> {
        read(file(&self.blob()).as_bytes()).map(|key| *key.public_key())
    }
}

fn file(blob: &[u8]) -> String {
    let letters = STANDARD.encode(blob);
    let middle = letters.len() / 2;
    format!("{BEGIN}\n{}\n{}\n{END}\n", &letters[..middle], &letters[middle..])
}

#[test]
fn a_key_is_read() {
    assert_eq!(Made::right().read(), Ok(public()));
    let windows = file(&Made::right().blob()).replace('\n', "\r\n");
    assert_eq!(
        *read(format!("\r\n{windows}").as_bytes()).unwrap().public_key(),
        public()
    );
}

#[test]
fn what_is_written_is_read_again() {
    for comment in ["", "me@here", "a longer comment, by one letter after the other"] {
        let text = write(&SecretKey::from_seed(&SEED).unwrap(), comment).unwrap();
        assert!(text.lines().all(|line| line.len() <= 70), "{comment}");
        assert_eq!(*read(text.as_bytes()).unwrap().public_key(), public());
    }
}

#[test]
fn every_damage_is_found() {
    type Spoil = fn(&mut Made);
    let table: [(Spoil, &str); 12] = [
        (|made| made.magic = b"openssh-key-v2\0", "version"),
        (|made| made.keys = 2, "one key"),
        (|made| made.checks[1] = 98, "check numbers"),
        (|made| made.public[3] ^= 1, "halves"),
        (|made| made.pair[3] ^= 1, "another key"),
        (|made| made.pair[40] ^= 1, "halves"),
        (|made| made.pair.truncate(63), "length"),
        (|made| made.pair.truncate(31), "length"),
        (|made| made.public.push(0), "length"),
        (|made| made.padding = &[1, 2, 3, 4, 5, 5], "its end"),
        (|made| made.padding = &[1, 2, 3, 4, 5, 6, 7, 8], "length"),
        (|made| made.rest = b"x", "follows"),
    ];
    for (at, (spoil, word)) in table.into_iter().enumerate() {
        let mut made = Made::right();
        spoil(&mut made);
        let told = made.read().unwrap_err().to_string();
        assert!(told.contains("damaged") && told.contains(word), "{at}: {told}");
    }
}

#[test]
fn no_beginning_of_a_key_is_one_and_none_is_a_panic() {
    let blob = Made::right().blob();
    for length in 0..blob.len() {
        assert!(read(file(&blob[..length]).as_bytes()).is_err(), "{length}");
    }
    for at in 0..blob.len() {
        let mut huge = blob.clone();
        huge[at] = 0xff;
        // A comment or a check number may be anything.
        drop(read(file(&huge).as_bytes()));
    }
    let text = file(&blob);
    for length in 0..text.len() - 1 {
        assert!(read(&text.as_bytes()[..length]).is_err(), "{length}");
    }
}

#[test]
fn keys_that_are_not_taken_say_what_to_do() {
    let made = |change: fn(&mut Made)| {
        let mut made = Made::right();
        change(&mut made);
        made.read().unwrap_err()
    };
    // Options of bcrypt are missing.
    assert!(matches!(
        made(|made| made.derivation = b"bcrypt"),
        KeyError::Damaged { .. }
    ));
    assert_eq!(made(|made| made.cipher = b"aes256-ctr"), KeyError::Encrypted);
    for kind in [
        "ssh-rsa",
        "ssh-dss",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "ssh-ed25519-cert-v01@openssh.com",
    ] {
        for cipher in [&b"none"[..], b"aes256-ctr"] {
            let mut made = Made::right();
            (made.kind, made.cipher) = (kind.as_bytes(), cipher);
            let other = KeyError::OtherKind { kind: kind.into() };
            assert_eq!(made.read(), Err(other), "before its passphrase");
        }
    }
    let nothing = made(|made| made.kind = b"sk-made-up-secret");
    assert!(matches!(nothing, KeyError::Damaged { .. }), "{nothing}");
    assert!(!nothing.to_string().contains("made-up"), "{nothing}");
    let line = public().to_openssh("me");
    assert_eq!(read(line.as_bytes()).unwrap_err(), KeyError::PublicHalf);
    for text in [
        "",
        "\n",
        "hello",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n",
        "\u{0}\u{ff}",
    ] {
        assert_eq!(
            read(text.as_bytes()).unwrap_err(),
            KeyError::NoSecretKey,
            "{text:?}"
        );
    }
    let error = read(format!("{BEGIN}\n!!!!\n{END}").as_bytes()).unwrap_err();
    assert_eq!(
        error,
        KeyError::Damaged {
            what: "it is not base64"
        }
    );
}

/// `ssh-keygen` with these arguments; `None` if it is not installed.
fn ssh_keygen(args: &[&str], path: &Path) -> Option<String> {
    let mut command = Command::new("ssh-keygen");
    command.args(args).arg("-f").arg(path).stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}

/// A key made by `ssh-keygen` now; `None` if it is not installed.
fn made_by_openssh(directory: &Path, kind: &str, passphrase: &str) -> Option<PathBuf> {
    let path = directory.join(format!("{kind}{}", passphrase.len()));
    let args = ["-q", "-t", kind, "-N", passphrase, "-C", "a test, nobody's"];
    ssh_keygen(&args, &path).map(|_| path)
}

#[test]
fn keys_of_openssh_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let make = |kind, passphrase| made_by_openssh(directory.path(), kind, passphrase);
    let Some(plain) = make("ed25519", "") else {
        eprintln!("ssh-keygen is not installed: not run: keys of OpenSSH");
        return;
    };
    let key = read(&std::fs::read(&plain).unwrap()).unwrap();
    let line = std::fs::read_to_string(plain.with_extension("pub")).unwrap();
    assert_eq!(line.parse(), Ok(*key.public_key()));
    assert_eq!(key.public_key().to_openssh("a test, nobody's"), line.trim_end());
    let encrypted = std::fs::read(make("ed25519", "four words and more").unwrap()).unwrap();
    assert_eq!(read(&encrypted).unwrap_err(), KeyError::Encrypted);
    let right = SecretKey::from_encrypted_openssh(&encrypted, "four words and more".into());
    let line = std::fs::read_to_string(directory.path().join("ed2551919.pub")).unwrap();
    assert_eq!(line.parse(), Ok(*right.unwrap().public_key()));
    let wrong = SecretKey::from_encrypted_openssh(&encrypted, "three words and more".into());
    assert_eq!(wrong.unwrap_err(), KeyError::WrongPassphrase);
    for (kind, named) in [("ecdsa", "ecdsa-sha2-nistp256"), ("rsa", "ssh-rsa")] {
        let other = std::fs::read(make(kind, "").unwrap()).unwrap();
        let kind = named.to_owned();
        assert_eq!(read(&other).unwrap_err(), KeyError::OtherKind { kind });
    }
}

/// A key with a passphrase, made up here: that of [`SEED`] under fixed salt, in each cipher that OpenSSH
/// offers.
fn encrypted(cipher: ssh_key::Cipher, passphrase: &str) -> String {
    let key = parse(file(&Made::right().blob()).as_bytes()).unwrap();
    let derivation = Kdf::Bcrypt {
        salt: vec![5; 16],
        rounds: 1,
    };
    let encrypted = key.encrypt_with(cipher, derivation, 99, passphrase).unwrap();
    encrypted.to_openssh(LineEnding::LF).unwrap().to_string()
}

#[test]
fn a_key_with_a_passphrase_is_read_with_that_one_alone() {
    use ssh_key::Cipher::{Aes256Cbc, Aes256Ctr, Aes256Gcm, ChaCha20Poly1305};
    for cipher in [Aes256Cbc, Aes256Ctr, Aes256Gcm, ChaCha20Poly1305] {
        let text = encrypted(cipher, "sesame");
        assert_eq!(
            read(text.as_bytes()).unwrap_err(),
            KeyError::Encrypted,
            "{cipher}"
        );
        let with = |passphrase: &str| {
            let read = SecretKey::from_encrypted_openssh(text.as_bytes(), passphrase.to_owned());
            read.map(|key| *key.public_key())
        };
        assert_eq!(with("sesame"), Ok(public()), "{cipher}");
        for wrong in ["", "Sesame"] {
            assert_eq!(with(wrong), Err(KeyError::WrongPassphrase), "{cipher}");
        }
    }
    let plain = file(&Made::right().blob());
    let read = SecretKey::from_encrypted_openssh(plain.as_bytes(), "needless".into());
    assert_eq!(*read.unwrap().public_key(), public());
}

/// A file itself sets the number of hash rounds for the passphrase: one round takes some milliseconds.
#[test]
fn a_key_that_asks_for_hours_of_hashing_is_refused() {
    let text = encrypted(ssh_key::Cipher::Aes256Ctr, "sesame");
    let letters: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let blob = STANDARD.decode(letters).unwrap();
    // The salt of `encrypted`, and the number of rounds behind it.
    let at = blob.windows(16).position(|bytes| bytes == [5; 16]).unwrap() + 16;
    let with = |rounds: u32| {
        let mut blob = blob.clone();
        blob[at..at + 4].copy_from_slice(&rounds.to_be_bytes());
        let text = file(&blob);
        let given = SecretKey::from_encrypted_openssh(text.as_bytes(), "sesame".to_owned());
        [read(text.as_bytes()).unwrap_err(), given.unwrap_err()]
    };
    for rounds in [1 << 31, u32::MAX, MAX_ROUNDS + 1] {
        for error in with(rounds) {
            let most = MAX_ROUNDS;
            assert_eq!(error, KeyError::TooManyRounds { rounds, most });
            assert!(error.to_string().contains("ssh-keygen -p -a"), "{error}");
        }
    }
    for error in with(0) {
        assert!(matches!(error, KeyError::Damaged { .. }), "{error}");
    }
}

#[test]
fn errors_and_keys_show_neither_the_key_nor_the_passphrase() {
    let text = encrypted(ssh_key::Cipher::Aes256Ctr, "sesame");
    let error = SecretKey::from_encrypted_openssh(text.as_bytes(), "simsim".into()).unwrap_err();
    let key = SecretKey::from_encrypted_openssh(text.as_bytes(), "sesame".into()).unwrap();
    let shown = format!("{error} {error:?} {key:?}");
    assert!(!shown.contains("simsim") && !shown.contains("7, 7"), "{shown}");
}

#[cfg(unix)]
#[test]
fn openssh_reads_what_is_written() {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    let key = SecretKey::from_seed(&SEED).unwrap();
    file.write_all(write(&key, "me@here").unwrap().as_bytes())
        .unwrap();
    drop(file);
    if let Some(line) = ssh_keygen(&["-y"], &path) {
        assert_eq!(line.trim_end(), key.public_key().to_openssh("me@here"));
    }
}
