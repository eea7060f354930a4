//! The network of a command: none, single hosts through a proxy of the program, or that of this machine.

use std::net::IpAddr;

/// The setting `sandbox.network`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxNetwork {
    /// No other machine.
    #[default]
    Off,
    /// The hosts of a list, through the proxy.
    Hosts,
    /// The hosts of a list, and those that a person allows when a command asks for them.
    Ask,
    /// The network of this machine.
    On,
}

impl SandboxNetwork {
    /// The words of the setting, loosest first.
    pub const WORDS: &'static [&'static str] = &["on", "ask", "hosts", "off"];

    /// Reads a word of the setting.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "hosts" => Some(Self::Hosts),
            "ask" => Some(Self::Ask),
            "on" => Some(Self::On),
            _ => None,
        }
    }

    /// The word in settings and texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Hosts => "hosts",
            Self::Ask => "ask",
            Self::On => "on",
        }
    }

    /// Returns whether a proxy decides host by host.
    pub fn is_by_proxy(self) -> bool {
        matches!(self, Self::Hosts | Self::Ask)
    }
}

/// Hosts as the setting `sandbox.hosts` names them: `crates.io`, `*.crates.io`, `localhost:8080`,
/// `127.0.0.1`, `[::1]:8080`. Without a port it stands for all ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    name: PatternName,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternName {
    /// One name.
    Exact(String),
    /// Names that end like this, with the dot.
    Under(String),
    /// An address.
    Address(IpAddr),
}

impl HostPattern {
    /// Reads a pattern. `None` if it names no host: it is empty, a URL, or has a `*` elsewhere than before
    /// the first dot.
    pub fn parse(text: &str) -> Option<Self> {
        let (under, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if let Ok(address) = rest.parse::<IpAddr>() {
            return Self::of_address(address, None, under);
        }
        let (host, port) = split_port(rest)?;
        let host = normal_host(host);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Self::of_address(address, port, under);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
        if host.is_empty() || host.starts_with('.') || !host.chars().all(is_plain) {
            return None;
        }
        let name = if under {
            PatternName::Under(format!(".{host}"))
        } else {
            PatternName::Exact(host)
        };
        Some(Self { name, port })
    }

    fn of_address(address: IpAddr, port: Option<u16>, under: bool) -> Option<Self> {
        let name = PatternName::Address(address);
        (!under).then_some(Self { name, port })
    }

    /// Returns whether the pattern stands for a host, in the form of [`normal_host`], at a port.
    pub fn fits(&self, host: &str, port: u16) -> bool {
        let is_address = host.parse::<IpAddr>();
        let fits = match &self.name {
            PatternName::Exact(name) => name == host,
            PatternName::Under(end) => {
                is_address.is_err() && host.len() > end.len() && host.ends_with(end.as_str())
            }
            PatternName::Address(address) => is_address.is_ok_and(|named| named == *address),
        };
        fits && self.port.is_none_or(|only| only == port)
    }

    /// Returns whether the pattern names an address itself, so that a host may lead there although the
    /// address is not of the public internet.
    pub fn names_address(&self, host: &str, address: IpAddr) -> bool {
        match &self.name {
            PatternName::Address(named) => *named == address,
            PatternName::Exact(name) => name == "localhost" && host == "localhost" && address.is_loopback(),
            PatternName::Under(_) => false,
        }
    }
}

/// The pattern as settings name it.
impl std::fmt::Display for HostPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.name, self.port) {
            (PatternName::Exact(name), _) => f.write_str(name)?,
            (PatternName::Under(end), _) => write!(f, "*{end}")?,
            (PatternName::Address(IpAddr::V6(address)), Some(_)) => write!(f, "[{address}]")?,
            (PatternName::Address(address), _) => write!(f, "{address}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Splits `host:port`; without a port, the whole is the host. `None` if the port is none.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let behind_bracket = text.rfind(']').map_or(0, |at| at + 1);
    match text[behind_bracket..].find(':') {
        None => Some((text, None)),
        Some(at) => {
            let at = behind_bracket + at;
            let port = text[at + 1..].parse::<u16>().ok().filter(|port| *port > 0)?;
            Some((&text[..at], Some(port)))
        }
    }
}

/// Splits a host from its port, as the details of a call name it: `crates.io:443`, `[::1]:80`. The host has
/// the form of [`normal_host`].
pub fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = split_port(text)?;
    Some((normal_host(host), port?))
}

/// Returns a host in lower case, without the brackets of IPv6 and without the dot of a whole name.
pub fn normal_host(host: &str) -> String {
    host.trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_the_hosts_that_it_names() {
        for (pattern, host, port, expected) in [
            ("crates.io", "crates.io", 443, true),
            ("Crates.IO.", "crates.io", 443, true),
            ("crates.io", "static.crates.io", 443, false),
            ("*.crates.io", "static.crates.io", 443, true),
            ("*.crates.io", "crates.io", 443, false),
            ("*.crates.io", "evilcrates.io", 443, false),
            ("localhost:8080", "localhost", 8080, true),
            ("localhost:8080", "localhost", 80, false),
            ("127.0.0.1", "127.0.0.1", 80, true),
            ("127.0.0.1:81", "127.0.0.1", 80, false),
            ("[::1]:8080", "::1", 8080, true),
            ("::1", "::1", 80, true),
            ("*.1", "127.0.0.1", 80, false),
        ] {
            let found = HostPattern::parse(pattern).is_some_and(|pattern| pattern.fits(host, port));
            assert_eq!(found, expected, "{pattern} {host}:{port}");
        }
    }

    #[test]
    fn what_names_no_host_is_no_pattern() {
        for text in [
            "",
            "*",
            "*.",
            "*.127.0.0.1",
            "https://crates.io",
            "a b",
            "crates.*",
            "a:0",
            "a:x",
        ] {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_pattern_is_shown_as_settings_name_it() {
        for text in [
            "crates.io",
            "*.crates.io",
            "localhost:8080",
            "::1",
            "[::1]:8080",
            "127.0.0.1:81",
        ] {
            let shown = HostPattern::parse(text).map(|pattern| pattern.to_string());
            assert_eq!(shown.as_deref(), Some(text));
        }
    }

    #[test]
    fn only_a_named_address_may_be_local() {
        let names = |pattern: &str, host: &str, address: &str| {
            HostPattern::parse(pattern).is_some_and(|pattern| {
                pattern.names_address(host, address.parse().unwrap_or(IpAddr::from([0, 0, 0, 0])))
            })
        };
        assert!(names("localhost", "localhost", "127.0.0.1") && names("10.0.0.1", "10.0.0.1", "10.0.0.1"));
        assert!(!names("intern.example", "intern.example", "10.0.0.1"));
        assert!(!names("*.example", "a.example", "127.0.0.1"));
    }

    #[test]
    fn a_host_is_split_from_its_port() {
        for (text, expected) in [
            ("crates.io:443", Some(("crates.io", 443))),
            ("[::1]:80", Some(("::1", 80))),
            ("crates.io", None),
            ("crates.io:made-up", None),
        ] {
            let expected = expected.map(|(host, port): (&str, u16)| (host.to_owned(), port));
            assert_eq!(host_and_port(text), expected, "{text}");
        }
    }

    #[test]
    fn words_and_values_agree() {
        for word in SandboxNetwork::WORDS {
            assert_eq!(
                SandboxNetwork::parse(word).map(SandboxNetwork::as_str),
                Some(*word)
            );
        }
        assert_eq!(SandboxNetwork::parse("made up"), None);
    }
}
