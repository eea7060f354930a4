//! TLS for both ways to a server: rustls with ring, the machine's root certificates, and those that were
//! given.
//!
//! For `https://` addresses only. A server at an `http://` address is dialled with TLS as well, but is known
//! by its key and not by a certificate (`peer.rs`).
//!
//! The verifier is the platform's own, so certificates that a company installed on the machine count as well.

use std::sync::Arc;

use agentx_runtime::RuntimeError;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;

/// Builds the TLS configuration. `more_roots` has additional root certificates as PEM text.
pub(crate) fn client_config(more_roots: Option<&[u8]>) -> Result<Arc<ClientConfig>, RuntimeError> {
    let wrong = |what: String| RuntimeError::Refused(format!("cannot set up TLS: {what}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots: Vec<CertificateDer<'static>> = match more_roots {
        None => Vec::new(),
        Some(pem) => CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(format!("the root certificates that were given: {error}")))?,
    };
    let verifier = Verifier::new_with_extra_roots(roots, provider.clone()).map_err(|error| {
        wrong(format!(
            "{error}; is the package `ca-certificates` installed, or SSL_CERT_FILE set?"
        ))
    })?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}
