//! The hosts that a tool may reach.

use std::fmt;
use std::net::IpAddr;

use agentx_luau_tools::EffectError;
use agentx_types::is_public_address;
use reqwest::Url;

use crate::grants::denied;

/// Hosts as a file names them: `api.weather.com`, `*.weather.com`, `localhost:8080`, `127.0.0.1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowedHosts {
    granted: Vec<Granted>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Granted {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// A host name.
    Exact(String),
    /// Hosts whose names end like this, with the dot.
    Under(String),
    /// An IP address.
    Address(IpAddr),
}

/// A forbidden address to which a name resolves.
#[derive(Clone, Debug)]
pub(super) struct Denied {
    host: String,
    address: IpAddr,
}

impl AllowedHosts {
    /// Parses the hosts with these names. Invalid names are never reached.
    pub(crate) fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let granted = names.into_iter().filter_map(|name| Granted::parse(name.as_ref()));
        Self {
            granted: granted.collect(),
        }
    }

    /// Checks whether a URL may be requested. Names are checked again when they are resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), EffectError> {
        let refused = |problem: String| Err(EffectError::new("denied", format!("http: {problem}")));
        if !matches!(url.scheme(), "http" | "https") {
            return refused(format!("only http and https are allowed, not {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("an address may hold no user and no password; send a header".to_owned());
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return refused("the address has no host".to_owned());
        };
        let host = normal(host);
        let address = host.parse::<IpAddr>().ok();
        let fits = |granted: &&Granted| {
            granted.port.is_none_or(|only| only == port) && granted.name.fits(&host, address)
        };
        if !self.granted.iter().any(|granted| fits(&granted)) {
            return Err(denied("host", "http", &host));
        }
        Ok(())
    }

    /// Returns whether `host`, which leads to `address`, may be connected to there.
    pub(super) fn check_address(&self, host: &str, address: IpAddr) -> Result<(), Denied> {
        let named = |granted: &Granted| match &granted.name {
            Name::Address(named) => *named == address,
            Name::Exact(named) => {
                named == "localhost" && normal(host) == "localhost" && address.is_loopback()
            }
            Name::Under(_) => false,
        };
        if is_public_address(address) || self.granted.iter().any(named) {
            return Ok(());
        }
        Err(Denied {
            host: host.to_owned(),
            address,
        })
    }
}

impl Granted {
    fn parse(text: &str) -> Option<Self> {
        let (under, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if let Ok(address) = rest.trim_matches(['[', ']']).parse::<IpAddr>() {
            return (!under).then_some(Self {
                name: Name::Address(address),
                port: None,
            });
        }
        // The URL parser reads addresses as the client does: 127.1 and 0x7f000001 are 127.0.0.1.
        let url = Url::parse(&format!("ws://{rest}/")).ok()?;
        let host = normal(url.host_str()?);
        let name = match (host.parse::<IpAddr>(), under) {
            (Ok(address), false) => Name::Address(address),
            (Ok(_), true) => return None,
            (Err(_), false) => Name::Exact(host),
            (Err(_), true) => Name::Under(format!(".{host}")),
        };
        // A URL has no port if it is the scheme's standard one, so a granted port 80 means http.
        let port = url.port().or_else(|| rest.ends_with(":80").then_some(80));
        Some(Self { name, port })
    }
}

impl Name {
    fn fits(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::Exact(name) => name == host,
            Self::Under(end) => address.is_none() && host.ends_with(end) && host.len() > end.len(),
            Self::Address(named) => address == Some(*named),
        }
    }
}

/// Lower case, without the brackets of IPv6 and without the dot of a whole name.
fn normal(host: &str) -> String {
    host.trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

impl Denied {
    pub(super) fn to_error(&self) -> EffectError {
        EffectError::new("denied", self.to_string())
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "http: {} leads to {}, which is not on the public internet; the tool's file has to name that address under \
             `capabilities: http`",
            self.host, self.address
        )
    }
}

impl std::error::Error for Denied {}
