//! Encryption of a message for a page (RFC 8291, in one record of RFC 8188). The agreement, the derivation
//! and the cipher are those of `ring`; this file puts them together in the order of the standard. Each
//! message has a key pair of its own.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};

/// The length of a public key of P-256, uncompressed, and its first byte.
const PUBLIC_BYTES: usize = 65;
const UNCOMPRESSED: u8 = 4;
/// The length of the secret that a page and the server share.
const AUTH_BYTES: usize = 16;
const SALT_BYTES: usize = 16;
/// The size of a record that the header names; the message is shorter, so it is the only one.
const RECORD_BYTES: u32 = 4_096;
/// The sign behind the text of the last record.
const LAST_RECORD: u8 = 2;

/// The keys of a page: its public key, and the secret that it shares with the server.
pub(crate) struct PushReceiver {
    public: Vec<u8>,
    auth: Vec<u8>,
}

impl PushReceiver {
    /// Reads the keys as a browser gives them: in base64url.
    ///
    /// # Errors
    /// Returns an error that names the key that has another form.
    pub(crate) fn read(p256dh: &str, auth: &str) -> Result<Self, String> {
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let is_point = |key: &Vec<u8>| key.len() == PUBLIC_BYTES && key.first() == Some(&UNCOMPRESSED);
        let public = decode(p256dh).filter(is_point);
        let public = public.ok_or("keys.p256dh is not a public key of P-256: 65 bytes in base64url")?;
        let auth = decode(auth).filter(|secret| secret.len() == AUTH_BYTES);
        let auth = auth.ok_or("keys.auth is not a secret of 16 bytes in base64url")?;
        Ok(Self { public, auth })
    }
}

/// A length of derived bytes.
struct DerivedBytes(usize);

impl KeyType for DerivedBytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// Returns the body of a push request.
///
/// # Errors
/// Returns an error if the page's key is not a point on the curve, or the system cannot give random bytes.
pub(super) fn encrypt(receiver: &PushReceiver, text: &[u8]) -> Result<Vec<u8>, String> {
    let random = SystemRandom::new();
    let no_randomness = |_: Unspecified| "the system has no randomness".to_owned();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(no_randomness)?;
    let own_public = own.compute_public_key().map_err(no_randomness)?;
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).map_err(no_randomness)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &receiver.public);
    let sealed = agree_ephemeral(own, &theirs, |secret| {
        seal(secret, receiver, own_public.as_ref(), salt, text)
    });
    let wrong = |_: Unspecified| "keys.p256dh is not a point of P-256".to_owned();
    sealed.map_err(wrong)?.map_err(wrong)
}

/// Encrypts a text with what follows from the agreed secret; the header before it has the salt and the public
/// key of this message.
fn seal(
    agreed: &[u8],
    receiver: &PushReceiver,
    own_public: &[u8],
    salt: [u8; SALT_BYTES],
    text: &[u8],
) -> Result<Vec<u8>, Unspecified> {
    let mut input = [0; 32];
    let about = [
        b"WebPush: info\0".as_slice(),
        receiver.public.as_slice(),
        own_public,
    ];
    derive(&receiver.auth, agreed, &about, &mut input)?;
    let mut key = [0; 16];
    derive(&salt, &input, &[b"Content-Encoding: aes128gcm\0"], &mut key)?;
    let mut nonce = [0; 12];
    derive(&salt, &input, &[b"Content-Encoding: nonce\0"], &mut nonce)?;

    let mut record = text.to_vec();
    record.push(LAST_RECORD);
    let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;

    let id_length = u8::try_from(own_public.len()).map_err(|_| Unspecified)?;
    let mut body = salt.to_vec();
    body.extend(RECORD_BYTES.to_be_bytes());
    body.push(id_length);
    body.extend(own_public);
    body.extend(record);
    Ok(body)
}

/// Fills `derived` with what follows from a secret (HKDF with SHA-256).
fn derive(salt: &[u8], secret: &[u8], about: &[&[u8]], derived: &mut [u8]) -> Result<(), Unspecified> {
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let expanded = extracted.expand(about, DerivedBytes(derived.len()))?;
    expanded.fill(derived)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    /// The example of RFC 8291, section 5 and appendix A.
    const TEXT: &[u8] = b"When I grow up, I want to be a watermelon";
    const AGREED: &str = "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";
    const PAGE: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const SERVER: &str =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
    const SALT: &str = "DGv6ra1nlYgDCS1FRnbzlw";
    const BODY: &str = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc\
        InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxs\
        j_Qulcy4a-fN";

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn the_example_of_the_standard_is_encrypted_to_its_bytes() {
        let receiver = PushReceiver::read(PAGE, AUTH).unwrap();
        let salt = bytes(SALT).try_into().unwrap();
        let body = seal(&bytes(AGREED), &receiver, &bytes(SERVER), salt, TEXT).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(body), BODY);
    }

    #[test]
    fn each_message_has_a_salt_and_a_key_of_its_own() {
        let receiver = PushReceiver::read(PAGE, AUTH).unwrap();
        let (one, other) = (
            encrypt(&receiver, TEXT).unwrap(),
            encrypt(&receiver, TEXT).unwrap(),
        );
        let head = SALT_BYTES + 5;
        assert_ne!(one[..SALT_BYTES], other[..SALT_BYTES]);
        assert_ne!(one[head..head + PUBLIC_BYTES], other[head..head + PUBLIC_BYTES]);
        assert_eq!(one.len(), head + PUBLIC_BYTES + TEXT.len() + 1 + 16);
    }

    #[test]
    fn keys_of_another_form_are_refused_by_name() {
        let mut no_point = bytes(PAGE);
        no_point[40] ^= 1;
        let no_point = URL_SAFE_NO_PAD.encode(no_point);
        let compressed = URL_SAFE_NO_PAD.encode(&bytes(PAGE)[..33]);
        for (p256dh, auth, named) in [
            ("", AUTH, "p256dh"),
            ("no base64!", AUTH, "p256dh"),
            (compressed.as_str(), AUTH, "p256dh"),
            (PAGE, "", "auth"),
            (PAGE, PAGE, "auth"),
            (no_point.as_str(), AUTH, "p256dh"),
        ] {
            let encrypted = PushReceiver::read(p256dh, auth).and_then(|keys| encrypt(&keys, TEXT));
            assert!(encrypted.unwrap_err().contains(named), "{p256dh} {auth}");
        }
        assert!(PushReceiver::read(&format!("{PAGE}="), &format!("{AUTH}==")).is_ok());
    }
}
