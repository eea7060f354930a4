//! The addresses that may be asked for: those whose host everybody reads in the same way.

use agentx_types::host_name;
use reqwest::Url;

/// The longest address, in bytes.
const LONGEST: usize = 4_000;

/// Reads the address of a page.
///
/// Rules and questions have read its host already ([`host_name`]). An address in which the client would find
/// another host is refused, so that no spelling leads elsewhere than a person saw.
///
/// # Errors
/// Returns why the address is refused.
pub fn read_page_address(address: &str) -> Result<Url, String> {
    if address.len() > LONGEST {
        return Err(format!("the address is longer than {LONGEST} bytes"));
    }
    let url = Url::parse(address).map_err(|error| {
        format!("the address is invalid ({error}); it has to be whole: https://HOST/path")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https are fetched, not {}", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address may hold no user and no password".to_owned());
    }
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    let seen = host_name(address).filter(|_| !address.contains(is_odd));
    if seen.is_none() || seen != compared_host(&url) {
        return Err("its host can be read in several ways; write it as https://HOST/path".to_owned());
    }
    Ok(url)
}

/// The host of an address in the form in which hosts are compared.
pub fn compared_host(url: &Url) -> Option<String> {
    host_name(url.host_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_refused_unless_its_host_is_certain() {
        for right in [
            "https://example.org",
            "HTTP://Example.ORG.:8080/a?b=c@d#e",
            "http://127.1/",
            "http://[::1]:8/a",
            "https://xn--bcher-kva.example/",
        ] {
            assert!(
                read_page_address(right).is_ok(),
                "{right}: {:?}",
                read_page_address(right)
            );
        }
        for wrong in [
            "",
            "example.org",
            "file:///etc/passwd",
            "ftp://example.org/",
            "data:text/html,hello",
            "https://me:pw@example.org/",
            "https:example.org",
            "https:/example.org",
            "https:\\\\example.org/",
            "https://allowed.example\\@example.org/",
            "https://exa\tmple.org/",
            "https://ex%61mple.org/",
            "https://bücher.example/",
        ] {
            assert!(read_page_address(wrong).is_err(), "{wrong}");
        }
        assert!(read_page_address(&format!("https://example.org/{}", "a".repeat(4_000))).is_err());
    }
}
