//! Nodes of an accessibility tree, as the protocol has them.

use std::collections::HashMap;

use agentx_tools::page_line;
use serde_json::Value;

/// The longest name of an element, in characters.
const LONGEST_NAME: usize = 200;
/// The longest text, in characters.
const LONGEST_TEXT: usize = 4_000;

/// A node.
#[derive(Clone, Copy)]
pub(super) struct AxNode<'v>(&'v Value);

/// The nodes of one frame by id.
pub(super) struct AxTree<'v> {
    nodes: HashMap<&'v str, AxNode<'v>>,
    root: Option<AxNode<'v>>,
}

impl<'v> AxTree<'v> {
    /// The tree of these nodes, the first of which is the root.
    pub(super) fn new(nodes: &'v [Value], most: usize) -> Self {
        let by_id = |node: &'v Value| Some((node.get("nodeId")?.as_str()?, AxNode(node)));
        Self {
            nodes: nodes.iter().take(most).filter_map(by_id).collect(),
            root: nodes.first().map(AxNode),
        }
    }

    /// The root.
    pub(super) fn root(&self) -> Option<AxNode<'v>> {
        self.root
    }

    /// The children of a node, in order.
    pub(super) fn children(&self, node: AxNode<'v>) -> Vec<AxNode<'v>> {
        let ids = node.0.get("childIds").and_then(Value::as_array);
        let ids = ids.into_iter().flatten().filter_map(Value::as_str);
        ids.filter_map(|id| self.nodes.get(id).copied()).collect()
    }
}

impl<'v> AxNode<'v> {
    /// The role; empty for a node without one.
    pub(super) fn role(self) -> &'v str {
        self.0["role"]["value"].as_str().unwrap_or_default()
    }

    /// Whether only its children count.
    pub(super) fn is_ignored(self) -> bool {
        self.0["ignored"].as_bool() == Some(true)
    }

    /// The name on one line.
    pub(super) fn name(self) -> String {
        page_line(self.0["name"]["value"].as_str().unwrap_or_default(), LONGEST_NAME)
    }

    /// The text of a node that is text, with the blanks at its borders.
    pub(super) fn text(self) -> &'v str {
        self.0["name"]["value"].as_str().unwrap_or_default()
    }

    /// The value of a field on one line; empty if it has none.
    pub(super) fn value(self) -> String {
        match &self.0["value"]["value"] {
            Value::String(text) => page_line(text, LONGEST_NAME),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        }
    }

    /// The node of the document.
    pub(super) fn node(self) -> Option<i64> {
        self.0.get("backendDOMNodeId")?.as_i64()
    }

    /// A property such as `checked`.
    pub(super) fn property(self, name: &str) -> Option<&'v Value> {
        let all = self.0.get("properties")?.as_array()?;
        let found = all.iter().find(|property| property["name"] == name)?;
        found.get("value")?.get("value")
    }

    /// Whether a person can put the focus on it or write into it.
    pub(super) fn is_operable(self) -> bool {
        let is_true = |name| self.property(name).and_then(Value::as_bool) == Some(true);
        is_true("focusable") || is_true("settable")
    }
}

/// The text of nodes that stand side by side.
pub(super) fn joined_text(nodes: &[AxNode<'_>]) -> String {
    let texts: String = nodes.iter().map(|node| node.text()).collect();
    page_line(&texts, LONGEST_TEXT)
}
