//! The endpoints of the providers of a configuration.

use std::collections::BTreeMap;

use agentx_config::{ProviderSettings, Settings};

use super::endpoint::Endpoint;

/// Every provider's endpoint, by its name. A provider that is in no catalog has none. Headers with an unset
/// variable are left out, as the configuration promises.
pub(crate) fn endpoints(settings: &Settings) -> BTreeMap<String, Endpoint> {
    let endpoint = |provider: &ProviderSettings| {
        let entry = settings.catalog.provider(&provider.name)?;
        let endpoint = Endpoint::new(entry, Some(&provider.base_url), provider.key().cloned());
        let endpoint = with_cloud(endpoint, provider);
        let headers = provider
            .headers
            .iter()
            .filter_map(|header| Some((&header.name, header.value.value()?.clone())));
        let endpoint = headers.fold(endpoint, |endpoint, (name, value)| {
            endpoint.with_header(name, value)
        });
        Some((provider.name.clone(), endpoint))
    };
    settings.providers.iter().filter_map(endpoint).collect()
}

/// The endpoint with the credentials of a cloud that a person has in place of a key, or the reason why there
/// are none.
fn with_cloud(endpoint: Endpoint, provider: &ProviderSettings) -> Endpoint {
    match &provider.cloud {
        Some(cloud) => match &cloud.credentials {
            Ok(credentials) => endpoint.with_cloud(credentials.clone(), cloud.region.as_deref()),
            Err(why) => endpoint.with_unusable_cloud(why),
        },
        None => endpoint,
    }
}
