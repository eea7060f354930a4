//! Reads the doc comments of a function or a parameter as text.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the doc comments among `attributes`, as one text: lines of a paragraph joined, paragraphs kept
/// apart.
pub(crate) fn text(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let mut text = String::new();
    for line in lines.iter().flat_map(|line| line.split('\n')).map(str::trim) {
        match line {
            "" if text.is_empty() || text.ends_with("\n\n") => {}
            "" => text.push_str("\n\n"),
            line => {
                if !text.is_empty() && !text.ends_with('\n') {
                    // A list or a table keeps its lines.
                    text.push(if is_item(line) { '\n' } else { ' ' });
                }
                text.push_str(line);
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn is_item(line: &str) -> bool {
    ["- ", "* ", "| ", "```"]
        .iter()
        .any(|mark| line.starts_with(mark))
}

/// Returns the text of one doc comment; `None` for any other attribute.
fn line(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text), ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use syn::parse_quote;

    #[test]
    fn lines_are_joined_and_paragraphs_and_lists_kept() {
        let attributes: Vec<syn::Attribute> = vec![
            parse_quote!(#[doc = " The weather"]),
            parse_quote!(#[doc = " of a city."]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[inline]),
            parse_quote!(#[doc = " - one"]),
            parse_quote!(#[doc = " - two"]),
        ];
        assert_eq!(text(&attributes), "The weather of a city.\n\n- one\n- two");
        assert_eq!(text(&[]), "");
    }
}
