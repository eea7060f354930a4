//! `agentx::replay_test!`: a test function that replays a fixture, named like the file.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::LitStr;

/// Writes the test. The file is part of the test program, so that a test run reads nothing from the disk.
///
/// # Errors
/// Returns an error if there is anything but one string, or its file name has no letter or digit.
pub(crate) fn expand(path: TokenStream) -> syn::Result<TokenStream> {
    let path: LitStr = syn::parse2(path)?;
    let value = path.value();
    let file = value.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let name: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    if !name.contains(|c: char| c.is_ascii_alphanumeric()) {
        return Err(syn::Error::new(
            path.span(),
            "the path of a fixture, as \"tests/fixtures/bug.session\"",
        ));
    }
    let name = format_ident!("replay_of_{}", name);
    Ok(quote! {
        #[test]
        fn #name() {
            ::agentx::support::replay_fixture(
                #path,
                ::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #path)),
            );
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_the_name_of_its_file() {
        let test = expand(quote!("tests/fixtures/Bug-12.session"))
            .unwrap()
            .to_string();
        assert!(test.contains("fn replay_of_bug_12 ()"), "{test}");
        for wrong in [quote!(), quote!("tests/.session"), quote!("a", "b"), quote!(12)] {
            assert!(expand(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
