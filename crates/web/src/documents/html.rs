//! HTML as Markdown: the main text of a page, or all of it if no main text is found.

use dom_smoothie::{Config, ParsePolicy, Readability, ReadabilityError};
use reqwest::Url;

use super::DocumentText;

/// The maximum number of elements of a page.
const MAX_ELEMENTS: usize = 200_000;
/// The maximum depth of a page, as browsers have one (512): the time of a search grows with its square.
const MAX_DEPTH: usize = 1_000;
/// Elements without text for a reader.
const NO_TEXT: &[&str] = &["head", "script", "style", "noscript", "template", "svg", "iframe"];

/// Reads a page that was fetched from `address`.
pub(super) fn read(html: &str, address: Option<&str>) -> Result<DocumentText, String> {
    let config = Config {
        max_elements_to_parse: MAX_ELEMENTS,
        ..Config::default()
    };
    let mut page = Readability::new(html, address, Some(config))
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if is_too_deep(&page) {
        return Err(format!("its elements nest deeper than {MAX_DEPTH}"));
    }
    match page.parse_with_policy(ParsePolicy::Strict) {
        Ok(article) => {
            let main = Readability::new(article.content, None, None);
            let main = main.map_err(|error| format!("it cannot be read: {error}"))?;
            Ok(document(&article.title, &main))
        }
        Err(ReadabilityError::TooManyElements(..)) => {
            Err(format!("it has more than {MAX_ELEMENTS} elements"))
        }
        Err(_) => Ok(whole(html, address)),
    }
}

/// Returns whether the elements of a page nest too deeply. No recursion, because that is what it guards.
fn is_too_deep(page: &Readability) -> bool {
    let root = page.doc.root();
    let (mut node, mut depth) = (root, 0);
    loop {
        if depth > MAX_DEPTH {
            return true;
        }
        if let Some(child) = node.first_child() {
            (node, depth) = (child, depth + 1);
            continue;
        }
        while node.next_sibling().is_none() {
            match node.parent() {
                Some(parent) => (node, depth) = (parent, depth - 1),
                None => return false,
            }
        }
        if let Some(next) = node.next_sibling() {
            node = next;
        }
    }
}

/// All text of a page without a main text: a list of links, a form.
fn whole(html: &str, address: Option<&str>) -> DocumentText {
    // A page that was searched for its main text has changed, so it is parsed again.
    let Ok(page) = Readability::new(html, None, None) else {
        return DocumentText::default();
    };
    let base = address.and_then(|address| Url::parse(address).ok());
    for element in page.doc.select("a[href]").nodes() {
        let link = base.as_ref().zip(element.attr("href"));
        if let Some(whole) = link.and_then(|(base, link)| base.join(&link).ok()) {
            element.set_attr("href", whole.as_str());
        }
    }
    let title = page.doc.select("title").text();
    document(&title, &page)
}

/// A page as Markdown. Pictures are reduced to their words, because a model cannot follow their addresses.
fn document(title: &str, page: &Readability) -> DocumentText {
    for picture in page.doc.select("img").nodes() {
        let words = picture.attr("alt").filter(|words| !words.trim().is_empty());
        match words {
            Some(words) => {
                picture.replace_with(&page.doc.tree.new_text(format!("(picture: {})", words.trim())))
            }
            None => picture.remove_from_parent(),
        }
    }
    for link in page.doc.select("a").nodes() {
        if link.text().trim().is_empty() {
            link.remove_from_parent();
        }
    }
    let text = page.doc.md(Some(NO_TEXT));
    let title: Vec<&str> = title.split_whitespace().collect();
    DocumentText {
        title: Some(title.join(" ")).filter(|title| !title.is_empty()),
        text: text.trim().to_owned(),
        is_cut: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_text_is_markdown_with_whole_addresses() {
        let words = "Some words about nothing that are long enough to be a text of their own, with a comma. "
            .repeat(5);
        let html = format!(
            "<title>On nothing</title><nav><a href=/>Home</a></nav><article><h2>First</h2><p>{words}\
             <a href=\"/b?c=1\">a link</a></p><ul><li>one<li>two</ul><pre><code>let x = 1;</code></pre>\
             <img src=a.png alt=\"A tree\"><a href=/c><img src=b.png></a><p>{words}</p></article><footer>imprint</footer>"
        );
        let page = read(&html, Some("https://example.org/a")).unwrap();
        assert_eq!(page.title.as_deref(), Some("On nothing"));
        for part in [
            "## First",
            "[a link](https://example.org/b?c=1)",
            "- one",
            "let x = 1;",
            "(picture: A tree)",
        ] {
            assert!(page.text.contains(part), "{part}: {}", page.text);
        }
        assert!(
            !page.text.contains("Home") && !page.text.contains("imprint"),
            "{}",
            page.text
        );
    }

    #[test]
    fn a_page_without_a_main_text_is_read_as_a_whole() {
        let page = read("<title>List</title><script>x()</script><a href=a>one</a>", None).unwrap();
        assert_eq!(page.title.as_deref(), Some("List"));
        assert!(
            page.text.contains("one") && !page.text.contains("x()"),
            "{}",
            page.text
        );
        assert_eq!(read("", None).unwrap(), DocumentText::default());
    }

    #[test]
    fn a_page_that_nests_too_deeply_is_refused() {
        let deep = |depth: usize| read(&("<div>".repeat(depth) + "words"), None);
        assert_eq!(deep(500).unwrap().text, "words");
        assert_eq!(deep(3_000).unwrap_err(), "its elements nest deeper than 1000");
    }
}
