//! The numbers of elements. An element keeps its number as long as its document is loaded, and no other one
//! ever gets it, so a number from an earlier reading means the same element or none. A document that replaces
//! its elements again and again keeps only those of its latest reading.

use std::collections::{BTreeSet, HashMap};

/// The maximum number of elements of a tab that are kept beside those of its latest reading.
const MOST_OF_TAB: usize = 20_000;

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
    elements: HashMap<u32, NumberedElement>,
    last: u32,
    /// The number of the latest reading.
    reading: u64,
}

/// An element that has a number.
#[derive(Debug)]
struct NumberedElement {
    element: PageElement,
    /// The latest reading that had it.
    reading: u64,
}

impl PageElements {
    /// The number of an element: the one that it has, or a new one.
    pub(crate) fn number(&mut self, element: PageElement) -> u32 {
        let key = (element.document.clone(), element.node);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        let reading = self.reading;
        self.elements.insert(number, NumberedElement { element, reading });
        number
    }

    /// Begins a reading of a tab: forgets its elements whose documents are gone, and those of tabs that are
    /// not `open` any more.
    pub(crate) fn begin_reading(&mut self, tab: u32, documents: &BTreeSet<&str>, open: &BTreeSet<u32>) {
        self.reading += 1;
        self.keep(|NumberedElement { element, .. }| {
            let is_of_document = element.tab != tab || documents.contains(element.document.as_str());
            is_of_document && open.contains(&element.tab)
        });
    }

    /// Ends a reading of a tab: if it has too many elements, forgets those that the reading did not have.
    pub(crate) fn end_reading(&mut self, tab: u32) {
        let all = self.elements.values();
        if all.filter(|known| known.element.tab == tab).count() > MOST_OF_TAB {
            let reading = self.reading;
            self.keep(|known| known.element.tab != tab || known.reading == reading);
        }
    }

    fn keep(&mut self, is_kept: impl Fn(&NumberedElement) -> bool) {
        self.elements.retain(|_, known| is_kept(known));
        let elements = &self.elements;
        self.numbers.retain(|_, number| elements.contains_key(number));
    }

    /// The element that a model names as `e12`.
    pub(crate) fn named(&self, name: &str) -> Option<&PageElement> {
        let number = name.trim().trim_matches(['[', ']']);
        let number = number.strip_prefix('e').unwrap_or(number);
        let number: u32 = number.parse().ok()?;
        self.elements.get(&number).map(|known| &known.element)
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
        let open = BTreeSet::from([1, 2]);
        elements.begin_reading(1, &BTreeSet::from(["E"]), &open);
        assert!(elements.named("e1").is_none() && elements.named("e3").is_some());
        assert_eq!(elements.number(element("D", 7)), 4);
        elements.begin_reading(2, &BTreeSet::new(), &open);
        assert!(elements.named("e4").is_some(), "of another tab");
        for odd in ["", "e", "e-1", "x1", "e99999999999"] {
            assert!(elements.named(odd).is_none(), "{odd}");
        }
        elements.begin_reading(2, &BTreeSet::new(), &BTreeSet::from([2]));
        assert!(elements.named("e4").is_none(), "its tab was closed");
    }

    #[test]
    fn a_document_that_replaces_its_elements_keeps_those_of_its_latest_reading() {
        let mut elements = PageElements::default();
        let (documents, open) = (BTreeSet::from(["D"]), BTreeSet::from([1]));
        let mut read = |nodes: std::ops::Range<i64>| {
            elements.begin_reading(1, &documents, &open);
            let numbers: Vec<u32> = nodes.map(|node| elements.number(element("D", node))).collect();
            elements.end_reading(1);
            (numbers, elements.elements.len(), elements.numbers.len())
        };
        let most = MOST_OF_TAB as i64;
        let (all, kept, _) = read(0..most);
        assert_eq!(kept, MOST_OF_TAB, "there is room");
        let (some, kept, numbers) = read(most - 2..most + 2);
        assert_eq!((kept, numbers), (4, 4));
        assert_eq!(some[..2], all[all.len() - 2..], "they keep their numbers");
        assert_eq!(some[2..], [all[all.len() - 1] + 1, all[all.len() - 1] + 2]);
    }
}
