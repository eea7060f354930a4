//! Credentials that a command never sees: its variable holds a placeholder, and the proxy puts the value in
//! where a request goes to a host that may have it.
//!
//! The proxy ends TLS for these hosts alone ([`TlsMasker`](tls_masker::TlsMasker)), with certificates of an
//! authority that exists only in this process. It replaces the placeholder in the headers of requests
//! ([`OpenedTunnel`](opened_tunnel::OpenedTunnel)). A placeholder in a request to any other host stays one.

mod certificate_authority;
mod masked_credential;
mod opened_tunnel;
mod tls_masker;

pub use masked_credential::MaskedCredential;
