//! The numbers of elements. An element keeps its number as long as its document is loaded, and no other one
//! ever gets it, so a number from an earlier reading means the same element or none.

use std::collections::{BTreeSet, HashMap};

/// An element of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageElement {
    /// The tab.
    pub(crate) tab: u32,
    /// The frame.
    pub(crate) frame: String,
    /// The document, as the browser identifies each loading of one.
    pub(crate) document: String,
    /// The node in the browser.
    pub(crate) node: i64,
    /// The role and the name, for people.
    pub(crate) description: String,
}

/// The elements of all tabs of a browser.
#[derive(Debug, Default)]
pub(crate) struct PageElements {
    numbers: HashMap<(String, i64), u32>,
    elements: HashMap<u32, PageElement>,
    last: u32,
}

impl PageElements {
    /// The number of an element: the one that it has, or a new one.
    pub(crate) fn number(&mut self, element: PageElement) -> u32 {
        let key = (element.document.clone(), element.node);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        self.elements.insert(number, element);
        number
    }

    /// Forgets the elements of a tab whose documents are gone.
    pub(crate) fn keep_documents(&mut self, tab: u32, documents: &BTreeSet<&str>) {
        self.elements
            .retain(|_, element| element.tab != tab || documents.contains(element.document.as_str()));
        let elements = &self.elements;
        self.numbers.retain(|_, number| elements.contains_key(number));
    }

    /// The element that a model names as `e12`.
    pub(crate) fn named(&self, name: &str) -> Option<&PageElement> {
        let number = name.trim().trim_matches(['[', ']']);
        let number = number.strip_prefix('e').unwrap_or(number);
        let number: u32 = number.parse().ok()?;
        self.elements.get(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(document: &str, node: i64) -> PageElement {
        PageElement {
            tab: 1,
            frame: "F".to_owned(),
            document: document.to_owned(),
            node,
            description: "button \"Go\"".to_owned(),
        }
    }

    #[test]
    fn a_number_lasts_as_long_as_the_document_and_is_never_given_again() {
        let mut elements = PageElements::default();
        assert_eq!(elements.number(element("D", 7)), 1);
        assert_eq!(elements.number(element("D", 8)), 2);
        assert_eq!(elements.number(element("D", 7)), 1);
        assert_eq!(elements.named("e2").map(|element| element.node), Some(8));
        assert_eq!(elements.named("[e2]"), elements.named("2"));
        assert_eq!(
            elements.number(element("E", 7)),
            3,
            "the same node of another document"
        );
        elements.keep_documents(1, &BTreeSet::from(["E"]));
        assert!(elements.named("e1").is_none() && elements.named("e3").is_some());
        assert_eq!(elements.number(element("D", 7)), 4);
        elements.keep_documents(2, &BTreeSet::new());
        assert!(elements.named("e4").is_some(), "of another tab");
        for odd in ["", "e", "e-1", "x1", "e99999999999"] {
            assert!(elements.named(odd).is_none(), "{odd}");
        }
    }
}
