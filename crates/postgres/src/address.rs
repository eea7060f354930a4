//! The address of a database: where it is, who reads it, and whether the connection is encrypted.

use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The usual port of PostgreSQL.
const PORT: u16 = 5432;

/// The place where a database listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabasePlace {
    Tcp {
        host: String,
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

/// An address that was read. It has a password, so it is not shown.
#[derive(Clone)]
pub(crate) struct DatabaseAddress {
    pub(crate) config: Config,
    pub(crate) place: DatabasePlace,
    /// Whether the connection is encrypted, and the certificate of the server checked.
    pub(crate) is_encrypted: bool,
}

impl DatabaseAddress {
    /// Reads an address such as `postgres://me:secret@db.example/shop`; `None` if it is none. A database on
    /// another machine is read with TLS, unless the address says `sslmode=disable`; one on this machine only
    /// if it says `sslmode=require`.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        // Certificates are always checked.
        let address = address
            .replace("sslmode=verify-full", "sslmode=require")
            .replace("sslmode=verify-ca", "sslmode=require");
        let mut config: Config = address.parse().ok()?;
        let port = config.get_ports().first().copied().unwrap_or(PORT);
        let place = match config.get_hosts().first()? {
            Host::Tcp(host) => DatabasePlace::Tcp {
                host: host.clone(),
                port,
            },
            #[cfg(unix)]
            Host::Unix(directory) => DatabasePlace::Unix(directory.join(format!(".s.PGSQL.{port}"))),
        };
        let is_encrypted = match (config.get_ssl_mode(), &place) {
            (_, DatabasePlace::Unix(_)) | (SslMode::Disable, _) => false,
            (SslMode::Require, _) => true,
            (_, DatabasePlace::Tcp { host, .. }) => !is_this_machine(host),
        };
        config.ssl_mode(if is_encrypted {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        config.application_name("agentx");
        Some(Self {
            config,
            place,
            is_encrypted,
        })
    }
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_elsewhere_is_read_with_tls() {
        let is_encrypted =
            |address: &str| DatabaseAddress::parse(address).map(|address| address.is_encrypted);
        for (address, expected) in [
            ("postgres://me:secret@db.example/shop", Some(true)),
            ("postgresql://db.example/shop?sslmode=prefer", Some(true)),
            ("postgres://db.example/shop?sslmode=verify-full", Some(true)),
            ("postgres://db.example/shop?sslmode=disable", Some(false)),
            ("postgres://localhost/shop", Some(false)),
            ("postgres://127.0.0.1:5433/shop", Some(false)),
            ("postgres://127.0.0.1/shop?sslmode=require", Some(true)),
            ("host=db.example user=me", Some(true)),
            ("postgres:///shop", None),
            ("mysql://db.example/shop", None),
            ("db.example", None),
            ("", None),
        ] {
            assert_eq!(is_encrypted(address), expected, "{address}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_a_file_of_its_directory() {
        let address = DatabaseAddress::parse("host=/run/postgresql port=5433 user=me").unwrap();
        let expected = DatabasePlace::Unix("/run/postgresql/.s.PGSQL.5433".into());
        assert_eq!((address.place, address.is_encrypted), (expected, false));
    }
}
