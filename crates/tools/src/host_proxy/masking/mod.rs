//! Credentials that a command never sees: its variable holds a placeholder, and the proxy puts the value in
//! where a request goes to a host that may have it.
//!
//! The proxy ends TLS for these hosts alone ([`OpenedTunnel`](super::opened_tunnel::OpenedTunnel)), with
//! certificates of an authority that exists only in this process ([`CertificateAuthority`]). It replaces the
//! placeholder in the headers of requests ([`MaskedCredentials`]). A placeholder in a request to any other
//! host stays one.

mod certificate_authority;
mod masked_credentials;

pub(super) use certificate_authority::CertificateAuthority;
pub(crate) use masked_credentials::BUNDLE;
pub use masked_credentials::{MaskedCredential, MaskedCredentials};
