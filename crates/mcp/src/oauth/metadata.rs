//! The published metadata about a login: the protected resource (RFC 9728) and its authorization server
//! (RFC 8414, OpenID Connect Discovery). Pure: the addresses to ask, and the required content of an answer.

use reqwest::Url;
use serde::Deserialize;

/// The path of the description of a protected resource.
const RESOURCE: &str = "/.well-known/oauth-protected-resource";
/// The path of the description of an authorization server.
const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
/// The path of the description of an OpenID provider, which serves as well.
const OPENID: &str = "/.well-known/openid-configuration";

/// The description of a protected resource.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
}

/// The description of an authorization server.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct IssuerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
    /// Whether the id of a client may be the address of its description.
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
}

/// Returns the addresses at which the description of the resource at `server` may be, the likeliest first.
pub(super) fn resource_addresses(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let mut found = Vec::new();
    if !path.is_empty() {
        found.push(at(server, &format!("{RESOURCE}{path}")));
    }
    found.push(at(server, RESOURCE));
    found
}

/// Returns the addresses at which the description of the authorization server `issuer` may be, the likeliest
/// first.
pub(super) fn issuer_addresses(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    if path.is_empty() {
        return vec![at(issuer, AUTHORIZATION_SERVER), at(issuer, OPENID)];
    }
    vec![
        at(issuer, &format!("{AUTHORIZATION_SERVER}{path}")),
        at(issuer, &format!("{OPENID}{path}")),
        at(issuer, &format!("{path}{OPENID}")),
    ]
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

impl ResourceMetadata {
    /// Checks that the description is about the server that is asked, so that no other server's description
    /// gets its tokens.
    ///
    /// # Errors
    /// Returns what does not fit.
    pub(super) fn check(&self, server: &Url) -> Result<(), String> {
        let wrong = || format!("its description is about another resource: {:?}", self.resource);
        let resource = Url::parse(&self.resource).map_err(|_| wrong())?;
        let (inner, outer) = (server.path(), resource.path().trim_end_matches('/'));
        let is_below = inner.strip_prefix(outer);
        let is_below = is_below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if resource.origin() != server.origin() || !is_below || resource.query().is_some() {
            return Err(wrong());
        }
        Ok(())
    }
}

impl IssuerMetadata {
    /// Checks that the description is that of `issuer`, and that a login there is protected against stolen
    /// codes (PKCE with S256).
    ///
    /// # Errors
    /// Returns what does not fit.
    pub(super) fn check(&self, issuer: &str) -> Result<(), String> {
        if self.issuer != issuer {
            return Err(format!(
                "the description of the authorization server {issuer:?} is that of another one: {:?}",
                self.issuer
            ));
        }
        let methods = &self.code_challenge_methods_supported;
        if !methods.iter().any(|method| method == "S256") {
            return Err(format!(
                "the authorization server {issuer:?} does not support PKCE with S256, which a login requires"
            ));
        }
        Ok(())
    }

    /// Returns whether a client sends its secret in the body of a request for a token, not in a header.
    pub(super) fn wants_secret_in_body(&self) -> bool {
        let methods = &self.token_endpoint_auth_methods_supported;
        let has = |name: &str| methods.iter().any(|method| method == name);
        has("client_secret_post") && !has("client_secret_basic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn texts(urls: Vec<Url>) -> Vec<String> {
        urls.into_iter().map(String::from).collect()
    }

    #[test]
    fn descriptions_are_where_the_standards_put_them() {
        assert_eq!(
            texts(resource_addresses(&url("https://a.example/v1/mcp?x=1"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/v1/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(issuer_addresses(&url("https://a.example"))),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(issuer_addresses(&url("https://a.example/tenant/"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn a_description_is_about_the_server_that_is_asked() {
        let server = url("https://a.example/v1/mcp");
        let about = |resource: &str| ResourceMetadata {
            resource: resource.into(),
            ..ResourceMetadata::default()
        };
        for own in [
            "https://a.example/v1/mcp",
            "https://a.example/v1",
            "https://a.example",
            "https://a.example/v1/mcp/",
        ] {
            assert_eq!(about(own).check(&server), Ok(()), "{own}");
        }
        for other in [
            "https://a.example/v1/mc",
            "https://a.example/v2/mcp",
            "https://b.example/v1/mcp",
            "http://a.example/v1/mcp",
            "https://a.example:444/v1/mcp",
            "https://a.example/v1/mcp?tenant=1",
            "a.example",
            "",
        ] {
            assert!(about(other).check(&server).is_err(), "{other}");
        }
    }

    #[test]
    fn an_issuer_is_exactly_who_it_says_and_supports_s256() {
        let issuer = IssuerMetadata {
            issuer: "https://a.example".into(),
            code_challenge_methods_supported: vec!["plain".into(), "S256".into()],
            ..IssuerMetadata::default()
        };
        assert_eq!(issuer.check("https://a.example"), Ok(()));
        assert!(
            issuer
                .check("https://a.example/")
                .unwrap_err()
                .contains("another one")
        );
        let plain = IssuerMetadata {
            code_challenge_methods_supported: vec!["plain".into()],
            ..issuer
        };
        assert!(plain.check("https://a.example").unwrap_err().contains("S256"));
    }
}
