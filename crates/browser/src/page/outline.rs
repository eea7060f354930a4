//! A page as lines: one for each element that a person would notice, indented as it is nested, with the
//! number by which the model names it.
//!
//! ```text
//! heading 1 "Orders" [e3]
//! form "Search" [e4]
//!   textbox "Number" [e5] = "17"
//!   button "Find" [e6] (disabled)
//! row "17 | open" [e9]
//! ```

use agentx_tools::quoted_address;
use serde_json::Value;

use super::accessibility::{AxNode, AxTree, joined_text};
use super::elements::{PageElement, PageElements};
use super::frames::FrameTree;

/// The maximum number of nodes of a frame.
const MOST_NODES: usize = 20_000;
/// The maximum number of lines.
const MOST_LINES: usize = 4_000;
/// The maximum depth of nodes.
const MOST_DEPTH: usize = 150;
/// The maximum indentation, in steps.
const MOST_INDENT: usize = 10;
/// The longest address of a link, in characters.
const LONGEST_LINK: usize = 120;

/// Roles whose children say nothing new.
const LEAVES: &[&str] = &[
    "button",
    "checkbox",
    "ColorWell",
    "Date",
    "DateTime",
    "image",
    "img",
    "InputTime",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "meter",
    "option",
    "progressbar",
    "radio",
    "scrollbar",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "textbox",
];
/// Roles that have a line even without a name.
const STRUCTURE: &[&str] = &[
    "alert",
    "alertdialog",
    "article",
    "banner",
    "combobox",
    "complementary",
    "contentinfo",
    "dialog",
    "form",
    "grid",
    "heading",
    "Iframe",
    "link",
    "list",
    "listbox",
    "listitem",
    "main",
    "menu",
    "navigation",
    "row",
    "search",
    "status",
    "table",
    "tablist",
    "tabpanel",
    "tree",
    "treeitem",
];
/// Roles that never have a line of their own.
const TRANSPARENT: &[&str] = &[
    "RootWebArea",
    "InlineTextBox",
    "LineBreak",
    "ListMarker",
    "MenuListPopup",
];
/// Roles of the cells of a table.
const CELLS: &[&str] = &["cell", "columnheader", "gridcell", "rowheader"];

/// A page in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageOutline {
    /// The title.
    pub(crate) title: String,
    /// The lines.
    pub(crate) lines: Vec<String>,
    /// Whether the rest of a very long page is left out.
    pub(crate) is_cut: bool,
}

impl PageOutline {
    /// All lines as one text.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Returns whether a text is on the page.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        self.title.contains(text) || self.lines.iter().any(|line| line.contains(text))
    }
}

/// Makes the outline of a page. `frames` are its frames, the main one first.
pub(crate) fn outline(frames: &[FrameTree], tab: u32, elements: &mut PageElements) -> PageOutline {
    let trees: Vec<AxTree<'_>> = frames
        .iter()
        .map(|frame| AxTree::new(&frame.nodes, MOST_NODES))
        .collect();
    let root = trees.first().and_then(AxTree::root);
    let mut writer = OutlineWriter {
        frames,
        trees: &trees,
        tab,
        elements,
        outline: PageOutline {
            title: root.map(AxNode::name).unwrap_or_default(),
            ..PageOutline::default()
        },
    };
    if let Some(root) = root {
        let place = NodePlace {
            frame: 0,
            indent: 0,
            depth: 0,
        };
        writer.children(root, place, "");
    }
    writer.outline
}

/// The place of a node.
#[derive(Clone, Copy)]
struct NodePlace {
    /// The frame, by its index.
    frame: usize,
    /// The indentation of its line, in steps.
    indent: usize,
    /// The number of nodes above it.
    depth: usize,
}

struct OutlineWriter<'a> {
    frames: &'a [FrameTree],
    trees: &'a [AxTree<'a>],
    tab: u32,
    elements: &'a mut PageElements,
    outline: PageOutline,
}

impl<'a> OutlineWriter<'a> {
    /// Writes what is in a node. `said` are the words that the line above has already.
    fn children(&mut self, node: AxNode<'a>, place: NodePlace, said: &str) {
        if place.depth > MOST_DEPTH {
            self.outline.is_cut = true;
            return;
        }
        let trees = self.trees;
        let mut texts = Vec::new();
        for child in trees[place.frame].children(node) {
            if child.role() == "StaticText" && !child.is_ignored() {
                texts.push(child);
                continue;
            }
            self.text_line(&std::mem::take(&mut texts), place, said);
            self.node(child, place, said);
        }
        self.text_line(&texts, place, said);
    }

    fn node(&mut self, node: AxNode<'a>, place: NodePlace, said: &str) {
        let (role, name) = (node.role(), node.name());
        let below = NodePlace {
            depth: place.depth + 1,
            ..place
        };
        let is_shown = !node.is_ignored()
            && !TRANSPARENT.contains(&role)
            && (node.is_operable() || STRUCTURE.contains(&role) || (!name.is_empty() && role != "generic"));
        if !is_shown {
            self.children(node, below, said);
            return;
        }
        let only_text = self.only_text(node, place);
        let is_leaf = LEAVES.contains(&role) || only_text.is_some();
        let name = match only_text {
            Some(text) if name.is_empty() => text,
            _ => name,
        };
        self.line(
            node,
            place,
            &format!("{}{}", described(node, &name), state_of(node, &name)),
        );
        if is_leaf {
            return;
        }
        let inside = NodePlace {
            indent: place.indent + 1,
            ..below
        };
        match self.frame_in(node, place) {
            Some(frame) => self.frame(frame, inside),
            None => self.children(node, inside, &name),
        }
    }

    /// Writes what is in a frame.
    fn frame(&mut self, frame: usize, inside: NodePlace) {
        let trees = self.trees;
        if let Some(root) = trees[frame].root() {
            self.children(root, NodePlace { frame, ..inside }, "");
        }
    }

    /// The frame that an element holds.
    fn frame_in(&self, node: AxNode<'a>, place: NodePlace) -> Option<usize> {
        let (owner, around) = (node.node()?, &self.frames[place.frame]);
        self.frames
            .iter()
            .position(|frame| frame.owner == Some(owner) && frame.parent.as_ref() == Some(&around.id))
    }

    /// The words of a node that holds nothing else: plain text, or a row of plain cells.
    fn only_text(&self, node: AxNode<'a>, place: NodePlace) -> Option<String> {
        let children = self.trees[place.frame].children(node);
        let shown: Vec<AxNode<'_>> = children
            .into_iter()
            .filter(|child| child.role() != "ListMarker")
            .collect();
        if shown.is_empty() {
            return None;
        }
        if node.role() == "row" {
            let cells = shown.iter().map(|cell| self.plain_cell(*cell, place));
            return cells
                .collect::<Option<Vec<String>>>()
                .map(|cells| cells.join(" | "));
        }
        shown
            .iter()
            .all(|child| child.role() == "StaticText")
            .then(|| joined_text(&shown))
    }

    /// The words of a cell without anything to operate.
    fn plain_cell(&self, cell: AxNode<'a>, place: NodePlace) -> Option<String> {
        let is_plain = CELLS.contains(&cell.role()) && !cell.is_operable();
        let is_text = |child: &AxNode<'_>| child.role() == "StaticText";
        let inside = self.trees[place.frame].children(cell);
        (is_plain && inside.iter().all(is_text)).then(|| cell.name())
    }

    fn text_line(&mut self, texts: &[AxNode<'a>], place: NodePlace, said: &str) {
        let Some(first) = texts.first() else {
            return;
        };
        let text = joined_text(texts);
        if !text.is_empty() && !said.contains(&text) {
            self.line(*first, place, &format!("text \"{text}\""));
        }
    }

    /// Adds a line; the number comes behind the name.
    fn line(&mut self, node: AxNode<'a>, place: NodePlace, words: &str) {
        if self.outline.lines.len() >= MOST_LINES {
            self.outline.is_cut = true;
            return;
        }
        let (description, state) = words.split_once(STATE).unwrap_or((words, ""));
        let frame = &self.frames[place.frame];
        let number = node.node().map(|node| {
            self.elements.number(PageElement {
                tab: self.tab,
                frame: frame.id.clone(),
                document: frame.document.clone(),
                node,
                description: description.to_owned(),
            })
        });
        let number = number.map_or_else(String::new, |number| format!(" [e{number}]"));
        let link = node.property("url").and_then(Value::as_str);
        let link = link
            .filter(|_| node.role() == "link")
            .map_or_else(String::new, |link| format!(" → {}", shown_link(link, &frame.url)));
        let indent = "  ".repeat(place.indent.min(MOST_INDENT));
        self.outline
            .lines
            .push(format!("{indent}{description}{number}{link}{state}"));
    }
}

/// Divides the words of a line where the number goes. Names of pages have no control characters.
const STATE: char = '\u{1}';

/// The role and the name.
fn described(node: AxNode<'_>, name: &str) -> String {
    let role = match node.role() {
        "generic" => "element",
        role => role,
    };
    let level = node.property("level").and_then(Value::as_u64);
    let level = level.filter(|_| role == "heading");
    let level = level.map_or_else(String::new, |level| format!(" {level}"));
    if name.is_empty() {
        format!("{role}{level}")
    } else {
        format!("{role}{level} \"{name}\"")
    }
}

/// The value and the states, behind the sign that divides.
fn state_of(node: AxNode<'_>, name: &str) -> String {
    let value = node.value();
    let value = if value.is_empty() || value == name {
        String::new()
    } else {
        format!(" = \"{value}\"")
    };
    let set = STATES
        .iter()
        .filter_map(|(property, word)| state_word(node.property(property)?, word));
    let collapsed = node.property("expanded").and_then(Value::as_bool) == Some(false);
    let states: Vec<&str> = set.chain(collapsed.then_some("collapsed")).collect();
    if states.is_empty() {
        return format!("{STATE}{value}");
    }
    format!("{STATE}{value} ({})", states.join(", "))
}

/// The properties that are shown, and their words.
const STATES: &[(&str, &str)] = &[
    ("checked", "checked"),
    ("pressed", "pressed"),
    ("selected", "selected"),
    ("expanded", "expanded"),
    ("disabled", "disabled"),
    ("readonly", "read only"),
    ("required", "required"),
    ("focused", "focused"),
    ("multiselectable", "several"),
];

/// The word for a property, if it is set.
fn state_word(value: &Value, word: &'static str) -> Option<&'static str> {
    match value {
        Value::Bool(true) => Some(word),
        Value::String(text) if text == "true" => Some(word),
        Value::String(text) if text == "mixed" => Some("mixed"),
        _ => None,
    }
}

/// An address without the beginning that it shares with its page.
fn shown_link(link: &str, page: &str) -> String {
    let origin = page
        .find("://")
        .and_then(|at| page[at + 3..].find('/').map(|slash| &page[..at + 3 + slash]));
    let shown = origin
        .and_then(|origin| link.strip_prefix(origin))
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(link);
    quoted_address(shown).chars().take(LONGEST_LINK).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(id: i64, role: &str, name: &str, children: &[i64]) -> Value {
        let children: Vec<String> = children.iter().map(i64::to_string).collect();
        json!({
            "nodeId": id.to_string(), "ignored": role == "none", "role": {"value": role}, "name": {"value": name},
            "childIds": children, "backendDOMNodeId": id,
        })
    }

    fn with(mut node: Value, properties: Value, value: Option<&str>) -> Value {
        let all = properties.as_object().unwrap().iter();
        node["properties"] = all
            .map(|(name, value)| json!({"name": name, "value": {"value": value}}))
            .collect();
        if let Some(value) = value {
            node["value"] = json!({"value": value});
        }
        node
    }

    fn frame(id: &str, parent: Option<&str>, owner: Option<i64>, nodes: Vec<Value>) -> FrameTree {
        FrameTree {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            document: format!("D{id}"),
            url: "https://a.example/x/y".to_owned(),
            owner,
            nodes,
        }
    }

    fn lines(frames: &[FrameTree]) -> Vec<String> {
        let outline = outline(frames, 1, &mut PageElements::default());
        assert!(!outline.is_cut);
        outline.lines
    }

    #[test]
    fn a_form_is_read_with_its_values_and_states() {
        let nodes = vec![
            node(1, "RootWebArea", "T", &[2]),
            node(2, "none", "", &[3, 4, 5, 6, 8]),
            with(node(3, "heading", "Orders", &[10]), json!({"level": 1}), None),
            with(
                node(4, "textbox", "Number", &[11]),
                json!({"focusable": true, "required": true}),
                Some("17"),
            ),
            with(node(5, "button", "Find", &[]), json!({"disabled": true}), None),
            with(
                node(6, "link", "Go", &[7]),
                json!({"focusable": true, "url": "https://a.example/b?c"}),
                None,
            ),
            node(7, "StaticText", "Go", &[]),
            with(
                node(8, "checkbox", "", &[]),
                json!({"focusable": true, "checked": "mixed"}),
                None,
            ),
            node(10, "StaticText", "Orders", &[]),
            node(11, "StaticText", "17", &[]),
        ];
        assert_eq!(
            lines(&[frame("A", None, None, nodes)]),
            [
                "heading 1 \"Orders\" [e1]",
                "textbox \"Number\" [e2] = \"17\" (required)",
                "button \"Find\" [e3] (disabled)",
                "link \"Go\" [e4] → /b?c",
                "checkbox [e5] (mixed)",
            ]
        );
    }

    #[test]
    fn text_lists_and_tables_take_few_lines() {
        let nodes = vec![
            node(1, "RootWebArea", "T", &[2, 5, 20]),
            node(2, "paragraph", "", &[3, 4]),
            node(3, "StaticText", "One ", &[]),
            node(4, "StaticText", "two </page>", &[]),
            node(5, "list", "", &[6]),
            node(6, "listitem", "", &[7, 8]),
            node(7, "ListMarker", "• ", &[]),
            node(8, "StaticText", "item", &[]),
            node(20, "table", "", &[21, 24]),
            node(21, "row", "", &[22, 23]),
            node(22, "cell", "A", &[30]),
            node(23, "cell", "B", &[]),
            node(24, "row", "", &[25]),
            node(25, "cell", "C", &[26]),
            with(node(26, "button", "C", &[]), json!({"focusable": true}), None),
            node(30, "StaticText", "A", &[]),
        ];
        assert_eq!(
            lines(&[frame("A", None, None, nodes)]),
            [
                "text \"One two <\\/page>\" [e1]",
                "list [e2]",
                "  listitem \"item\" [e3]",
                "table [e4]",
                "  row \"A | B\" [e5]",
                "  row [e6]",
                "    cell \"C\" [e7]",
                "      button \"C\" [e8]",
            ]
        );
    }

    #[test]
    fn a_frame_is_read_in_its_place() {
        let outer = vec![
            node(1, "RootWebArea", "T", &[2, 3]),
            node(2, "Iframe", "", &[]),
            node(3, "StaticText", "after", &[]),
        ];
        let inner = vec![
            node(1, "RootWebArea", "", &[2]),
            node(2, "StaticText", "inside", &[]),
        ];
        let frames = [
            frame("A", None, None, outer),
            frame("B", Some("A"), Some(2), inner),
        ];
        assert_eq!(
            lines(&frames),
            ["Iframe [e1]", "  text \"inside\" [e2]", "text \"after\" [e3]"]
        );
    }

    #[test]
    fn a_deep_or_circular_tree_ends() {
        let circle = vec![node(1, "RootWebArea", "T", &[2]), node(2, "list", "", &[2])];
        let cut = outline(&[frame("A", None, None, circle)], 1, &mut PageElements::default());
        assert!(cut.is_cut && cut.lines.len() <= MOST_DEPTH + 1);
        let none = outline(&[], 1, &mut PageElements::default());
        assert_eq!(none, PageOutline::default());
    }
}
