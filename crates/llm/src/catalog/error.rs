//! Errors of the catalog, with the nearest names.

/// A name that the catalog does not know, or a configuration that it cannot use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The catalog has no model of this name, and the name has no provider.
    #[error("unknown model `{name}`")]
    UnknownModel {
        /// The requested name.
        name: String,
        /// The nearest names, nearest first; may be empty.
        nearest: Vec<String>,
    },
    /// The catalog has no provider of this name.
    #[error("unknown provider `{name}`")]
    UnknownProvider {
        /// The requested name.
        name: String,
        /// The nearest names, nearest first; may be empty.
        nearest: Vec<String>,
    },
    /// A new provider in the configuration lacks a field that every provider needs.
    #[error("provider `{name}` needs `{field}`")]
    Incomplete {
        /// The name of the provider.
        name: String,
        /// The missing field.
        field: &'static str,
    },
}

impl CatalogError {
    /// Returns similar names that the catalog knows, nearest first; may be empty.
    pub fn nearest(&self) -> &[String] {
        match self {
            Self::UnknownModel { nearest, .. } | Self::UnknownProvider { nearest, .. } => nearest,
            Self::Incomplete { .. } => &[],
        }
    }
}
