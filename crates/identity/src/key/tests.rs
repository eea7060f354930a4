//! Keys against the vectors of RFC 8032 (section 7.1), and the texts that they accept and refuse.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use super::*;

/// Seed, public key, message, signature.
const RFC_8032: [[&str; 4]; 4] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
    [
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ],
];

fn unhex<const N: usize>(hex: &str) -> [u8; N] {
    unhex_vec(hex).try_into().unwrap()
}

fn unhex_vec(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn signatures_are_those_of_the_rfc() {
    for [seed, public, message, signature] in RFC_8032 {
        let key = SecretKey::from_seed(&unhex(seed)).unwrap();
        assert_eq!(*key.public_key(), PublicKey::from_bytes(unhex(public)));
        let message = unhex_vec(message);
        let signed = key.sign(&message);
        assert_eq!(signed, Signature::from_bytes(unhex(signature)));
        assert!(key.public_key().verify(&message, &signed));
        let mut other = message;
        other.push(0);
        assert!(!key.public_key().verify(&other, &signed));
        let mut forged = *signed.as_bytes();
        forged[40] ^= 1;
        assert!(
            !key.public_key()
                .verify(&other[..other.len() - 1], &Signature::from_bytes(forged))
        );
    }
}

#[test]
fn bytes_that_are_no_key_verify_nothing() {
    let key = SecretKey::from_seed(&[3; 32]).unwrap();
    let signed = key.sign(b"x");
    assert!(!PublicKey::from_bytes([0xff; 32]).verify(b"x", &signed));
}

#[test]
fn texts_go_out_and_come_back() {
    let key = SecretKey::from_seed(&[9; 32]).unwrap();
    let public = *key.public_key();
    let text = public.to_string();
    assert_eq!(text.len(), "ed25519:".len() + 43);
    assert_eq!(text.parse(), Ok(public));
    assert_eq!(format!(" {text}\n").parse(), Ok(public));
    assert_eq!(public.to_openssh("me@here\nagain").parse(), Ok(public));
    assert_eq!(public.to_openssh("").parse(), Ok(public));
    let json = serde_json::to_string(&public).unwrap();
    assert_eq!(json, format!("\"{text}\""));
    assert_eq!(serde_json::from_str::<PublicKey>(&json).unwrap(), public);
    let signed = key.sign(b"x");
    assert_eq!(signed.to_string().len(), 86);
    assert_eq!(signed.to_string().parse(), Ok(signed));
}

#[test]
fn a_public_key_has_one_text() {
    let text = SecretKey::from_seed(&[9; 32]).unwrap().public_key().to_string();
    let letters = text.strip_prefix("ed25519:").unwrap();
    let last = if letters.ends_with('9') { "+" } else { "9" };
    for wrong in [
        letters.to_owned(),
        format!("{text}="),
        format!("{text}A"),
        format!("ED25519:{letters}"),
        format!("ed25519: {letters}"),
        format!("{}{last}", &text[..text.len() - 1]),
        "ed25519:".to_owned(),
        "ed25519:ä".to_owned(),
        String::new(),
        "ssh-ed25519".to_owned(),
        "ssh-ed25519 !!!!".to_owned(),
        "ssh-ed25519 AAAA".to_owned(),
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== short".to_owned(),
    ] {
        assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
    }
    for wrong in ["", "AA", "ä"] {
        assert_eq!(wrong.parse::<Signature>(), Err(KeyError::SignatureText));
    }
}

#[test]
fn other_kinds_of_keys_are_named() {
    for kind in ["ssh-rsa", "ecdsa-sha2-nistp256", "sk-ssh-ed25519@openssh.com"] {
        let error = format!("{kind} AAAA me@here").parse::<PublicKey>().unwrap_err();
        assert_eq!(
            error,
            KeyError::OtherKind {
                kind: kind.to_owned()
            }
        );
        assert!(error.to_string().contains("ssh-keygen -t ed25519"), "{error}");
    }
    for word in [
        "hello",
        "me@here",
        "ssh-",
        "ssh-made-up",
        "sk-made-up-secret",
        "ecdsa-",
    ] {
        let read = format!("{word} AAAA").parse::<PublicKey>();
        assert_eq!(read, Err(KeyError::NoPublicKey), "{word}");
    }
    // The word before it is ed25519, but the key itself has another kind.
    let mut blob = Vec::new();
    for part in [&b"ssh-rsa"[..], &[1; 32]] {
        blob.extend_from_slice(&u32::try_from(part.len()).unwrap().to_be_bytes());
        blob.extend_from_slice(part);
    }
    use base64::Engine as _;
    let letters = base64::engine::general_purpose::STANDARD.encode(&blob);
    assert_eq!(
        format!("ssh-ed25519 {letters}").parse::<PublicKey>(),
        Err(KeyError::OtherKind {
            kind: "ssh-rsa".to_owned()
        })
    );
}

#[test]
fn a_secret_is_not_shown() {
    let key = SecretKey::from_seed(&[5; 32]).unwrap();
    let shown = format!("{key:?} {key:#?}");
    assert!(shown.contains(&key.public_key().to_string()));
    assert!(
        !shown.contains(&base64url::write(&[5; 32])) && !shown.contains("5, 5"),
        "{shown}"
    );
}

#[test]
fn two_new_keys_are_two() {
    let (one, two) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    assert_ne!(one.public_key(), two.public_key());
    assert!(one.public_key().verify(b"x", &one.sign(b"x")));
}

/// For the neutral element, `R` the neutral element and `S` zero satisfy the equation for every text: `ring`
/// accepts it.
#[test]
fn nobody_signs_with_a_key_of_small_order() {
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let mut forged = [0; 64];
    forged[0] = 1;
    let anything = UnparsedPublicKey::new(&ED25519, &neutral).verify(b"anything", &forged);
    assert!(
        anything.is_ok(),
        "where the library refuses it, this check is not needed any more"
    );
    let key = PublicKey::from_bytes(neutral);
    assert!(!key.verify(b"anything", &Signature::from_bytes(forged)));
    for hex in SMALL_ORDER {
        for sign in [0, 0x80] {
            let mut bytes: [u8; 32] = unhex(hex);
            bytes[31] |= sign;
            let key = PublicKey::from_bytes(bytes);
            assert!(key.has_small_order());
            assert_eq!(key.to_string().parse::<PublicKey>(), Err(KeyError::SmallOrder));
            assert_eq!(
                key.to_openssh("x").parse::<PublicKey>(),
                Err(KeyError::SmallOrder)
            );
            assert_eq!(PublicKey::from_spki(&key.to_spki()), Err(KeyError::SmallOrder));
            let in_json = serde_json::from_value::<PublicKey>(key.to_string().into());
            let told = in_json.unwrap_err().to_string();
            assert!(told.contains("anybody could sign for it"), "{told}");
            assert!(told.contains("`agentx identity show`"), "{told}");
        }
    }
    let real = *SecretKey::from_seed(&[1; 32]).unwrap().public_key();
    assert!(!real.has_small_order());
    assert_eq!(PublicKey::from_spki(&real.to_spki()), Ok(real));
    assert_eq!(PublicKey::from_spki(b"else"), Err(KeyError::Rejected));
}
