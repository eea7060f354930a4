//! HTTP clients, configured once for every crate that sends requests.
//!
//! A client of [`client_builder`] follows no redirects, so a key or a token goes to no other address than the
//! one it was meant for. A client whose addresses are not the person's own (from a script, an MCP server, a
//! file) also looks names up through a [`GuardedResolver`], which refuses local networks: a name that is
//! public at the first lookup may lead to `127.0.0.1` at the second (DNS rebinding), so addresses are checked
//! where the connection is made. A host that is an address is never looked up; check it with
//! [`literal_address`]. Tools for pages permit the local hosts that a person names ([`LocalHosts`]), and read
//! addresses in one way ([`read_page_address`]).
//!
//! ```
//! use std::sync::Arc;
//! use agentx_http::{Certificates, GuardedResolver, client_builder, only_public};
//!
//! let client = client_builder(Certificates::OfThisMachine)
//!     .dns_resolver(Arc::new(GuardedResolver::new(only_public)))
//!     .build();
//! assert!(client.is_ok());
//! ```

mod local_hosts;
mod page_address;
mod resolver;

pub use local_hosts::LocalHosts;
pub use page_address::{compared_host, read_page_address};
pub use resolver::{
    BoxedError, GuardedResolver, LookupFuture, NameLookup, SystemLookup, literal_address, only_public,
};

use reqwest::{ClientBuilder, redirect};

/// The root certificates that a client trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificates {
    /// Those of this machine. Reading them takes milliseconds and blocks: build the client on a blocking
    /// thread.
    OfThisMachine,
    /// None, for a client that connects without TLS.
    None,
}

impl Certificates {
    /// The certificates for URLs with this scheme: none unless it is `https`.
    pub fn for_scheme(scheme: &str) -> Self {
        if scheme == "https" {
            Self::OfThisMachine
        } else {
            Self::None
        }
    }
}

/// Returns the builder of a client that names itself `agentx/VERSION` and follows no redirects. Time limits
/// are up to the caller.
pub fn client_builder(certificates: Certificates) -> ClientBuilder {
    // Another crate of the process may already have installed the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = ClientBuilder::new()
        .user_agent(concat!("agentx/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none());
    match certificates {
        Certificates::OfThisMachine => builder,
        Certificates::None => builder.tls_certs_only([]),
    }
}
