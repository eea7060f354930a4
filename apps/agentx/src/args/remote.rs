//! Arguments of the commands about servers: serving, mirroring, sharing.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use agentx::types::SessionRole;
use clap::{Args, ValueEnum};

use super::{OutputFormat, numbers};
use crate::session_opening::Target;

/// The default port of `agentx serve`.
pub(crate) const PORT: u16 = 5200;

/// `agentx serve`
#[derive(Args, Debug)]
#[command(
    after_help = "Ctrl-C stops the server and everything it runs; clients are notified and reconnect by \
                  themselves. If the server is killed, runs continue at the next start."
)]
pub(crate) struct ServeArgs {
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5200", value_parser = listen)]
    pub(crate) listen: SocketAddr,
    /// Public URL of the server, if it differs
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    /// Let web pages from this origin connect; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Let people without an identity see what is shared
    #[arg(long)]
    pub(crate) allow_visitors: bool,
    /// Serve the protocol of NEXUS, too, below /api/v1
    #[arg(long)]
    pub(crate) nexus: bool,
    /// Serve TLS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept plain connections on a public address because a proxy in front terminates TLS
    #[arg(long)]
    pub(crate) insecure_listen: bool,
    /// Trust the forwarding headers of the proxy at this address or network; may be repeated
    #[arg(long, value_name = "ADDR|CIDR", hide_short_help = true)]
    pub(crate) trusted_proxy: Vec<String>,
    /// Open the web page in a browser, signed in
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The limits of a server.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LimitArgs {
    /// Connections at once
    #[arg(long, value_name = "N", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_connections: Option<NonZeroUsize>,
    /// Unauthenticated connections of one address at once
    #[arg(long, value_name = "N", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_connections_per_address: Option<NonZeroUsize>,
    /// WebSockets and event streams of one person at once
    #[arg(long, value_name = "N", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_connections_per_person: Option<NonZeroUsize>,
    /// Sessions that one WebSocket follows at once
    #[arg(long, value_name = "N", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_subscriptions: Option<NonZeroUsize>,
    /// Bytes in one frame from a client
    #[arg(long, value_name = "BYTES", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_frame: Option<NonZeroUsize>,
    /// Bytes in the body of one request
    #[arg(long, value_name = "BYTES", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_body: Option<NonZeroUsize>,
    /// Bytes buffered for one reader; a slower reader is disconnected and can reconnect
    #[arg(long, value_name = "BYTES", help_heading = "Limits", hide_short_help = true, value_parser = numbers::at_least_one, allow_negative_numbers = true)]
    pub(crate) max_waiting: Option<NonZeroUsize>,
    /// Frames or requests per second for one connection or person
    #[arg(long, value_name = "N", help_heading = "Limits", hide_short_help = true, value_parser = numbers::rate, allow_negative_numbers = true)]
    pub(crate) max_rate: Option<NonZeroU32>,
    /// Burst size of that rate; twice the rate by default
    #[arg(long, value_name = "N", help_heading = "Limits", hide_short_help = true, value_parser = numbers::rate, allow_negative_numbers = true)]
    pub(crate) max_burst: Option<NonZeroU32>,
}

/// `agentx mirror`
#[derive(Args, Debug)]
#[command(
    after_help = "A mirror is read-only. If the connection is lost, it reconnects and continues with the \
                        next event. Ctrl-C stops it."
)]
pub(crate) struct MirrorArgs {
    /// The server's address, such as http://127.0.0.1:5200
    pub(crate) url: String,
    /// Session id, or a prefix of it
    pub(crate) session: String,
    /// Begin after this event, at the `start`, or with new events only (`live`)
    #[arg(long, value_name = "SEQ|start|live", default_value = "start")]
    pub(crate) from: MirrorStart,
    /// Also keep an exact copy of the session in the local database
    #[arg(long)]
    pub(crate) keep: bool,
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = mirror_format())]
    pub(crate) output_format: OutputFormat,
}

/// `agentx watch`
#[derive(Args, Debug)]
#[command(
    after_help = "Watching is read-only and ends when the driver leaves the session. Ctrl-C, Esc or q ends \
                  it earlier. With --connect, it watches a session of the server until Ctrl-C."
)]
pub(crate) struct WatchArgs {
    /// Session id, or a prefix of it; without it, the latest session that somebody drives
    pub(crate) id: Option<String>,
    /// The latest session of this directory, whether somebody drives it or not
    #[arg(long, conflicts_with = "id")]
    pub(crate) last: bool,
    /// Begin after this event, at the `start`, or with new events only (`live`); the last turns by default
    #[arg(long, value_name = "SEQ|start|live")]
    pub(crate) from: Option<MirrorStart>,
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = mirror_format())]
    pub(crate) output_format: OutputFormat,
}

/// The start of a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MirrorStart {
    /// After this event; 0 is the start.
    After(u64),
    /// With new events only.
    Live,
}

impl std::str::FromStr for MirrorStart {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        match words {
            "start" => Ok(Self::After(0)),
            "live" => Ok(Self::Live),
            number => number
                .parse()
                .map(Self::After)
                .map_err(|_| "expected the number of an event, `start` or `live`".to_owned()),
        }
    }
}

/// `agentx sessions share`
#[derive(Args, Debug)]
pub(crate) struct ShareArgs {
    /// Session id, or a prefix of it
    #[arg(required_unless_present = "last")]
    id: Option<String>,
    /// A key (ed25519:…), an id (own_…), the name of a person you trust, or `anyone`; without it, list all
    /// roles
    #[arg(requires = "role", conflicts_with = "last")]
    person: Option<String>,
    /// The latest session of this directory; the word beside it names the person
    #[arg(long)]
    last: bool,
    /// The role they get
    #[arg(long = "as", value_name = "ROLE", requires = "id")]
    pub(crate) role: Option<RoleArg>,
}

impl ShareArgs {
    /// Returns the session and the person.
    pub(crate) fn parts(&self) -> (Target, Option<&str>) {
        match (&self.id, self.last) {
            (Some(id), false) => (Target::Id(id.clone()), self.person.as_deref()),
            (person, _) => (Target::Last, person.as_deref()),
        }
    }
}

/// The role of a person in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleArg {
    /// Watch the session
    Watch,
    /// Watch, and decide about tool calls
    Approve,
    /// Watch, decide, send messages, stop and change the session
    Drive,
    /// The owner's role; it is known so that the error can say why it is refused
    #[value(hide = true)]
    Own,
    /// No access: the session does not exist for them
    None,
}

impl RoleArg {
    /// Returns the role as it is recorded.
    pub(crate) fn role(self) -> Option<SessionRole> {
        match self {
            Self::Watch => Some(SessionRole::Watch),
            Self::Approve => Some(SessionRole::Approve),
            Self::Drive => Some(SessionRole::Drive),
            Self::Own => Some(SessionRole::Own),
            Self::None => None,
        }
    }
}

/// Reads the formats that an endless stream can have.
fn mirror_format() -> impl clap::builder::TypedValueParser<Value = OutputFormat> {
    use clap::builder::TypedValueParser as _;
    clap::builder::PossibleValuesParser::new(["text", "stream-json"]).map(|word| match word.as_str() {
        "stream-json" => OutputFormat::StreamJson,
        _ => OutputFormat::Text,
    })
}

/// Reads `HOST:PORT`, `HOST`, `:PORT` or `PORT`.
fn listen(words: &str) -> Result<SocketAddr, String> {
    let wrong = || format!("expected an address such as 127.0.0.1:{PORT} or 0.0.0.0:{PORT}");
    let port = words.strip_prefix(':').unwrap_or(words);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    if let Ok(host) = words.parse::<std::net::IpAddr>() {
        return Ok(SocketAddr::from((host, PORT)));
    }
    if let Ok(address) = words.parse::<SocketAddr>() {
        return Ok(address);
    }
    // Resolvers take numbers and nothing at all for hosts.
    let host = words.split(':').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if !host.chars().all(is_name) || !host.contains(|c: char| c.is_ascii_alphabetic()) {
        return Err(wrong());
    }
    let with_port = if words.contains(':') {
        words.to_owned()
    } else {
        format!("{words}:{PORT}")
    };
    let mut found = with_port.to_socket_addrs().map_err(|_| wrong())?;
    found.next().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_at_may_be_short() {
        for (words, meant) in [
            ("5300", "127.0.0.1:5300"),
            (":5300", "127.0.0.1:5300"),
            ("0.0.0.0", "0.0.0.0:5200"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:80", "[::1]:80"),
            ("::1", "[::1]:5200"),
        ] {
            assert_eq!(
                listen(words).map(|address| address.to_string()).as_deref(),
                Ok(meant)
            );
        }
        for words in ["", "70000", "a b:1", "127.0.0.1:x"] {
            assert!(listen(words).is_err(), "{words}");
        }
    }

    #[test]
    fn a_mirror_begins_somewhere() {
        assert_eq!("start".parse(), Ok(MirrorStart::After(0)));
        assert_eq!("17".parse(), Ok(MirrorStart::After(17)));
        assert_eq!("live".parse(), Ok(MirrorStart::Live));
        assert!("now".parse::<MirrorStart>().is_err());
    }
}
