//! The frames of a page, each with its accessibility tree.

use serde_json::{Value, json};

use crate::cdp::{CdpClient, CdpCommand, CdpFailure};

/// The maximum number of frames that are read.
const MOST_FRAMES: usize = 30;

/// A frame with its tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FrameTree {
    /// The id.
    pub(crate) id: String,
    /// The frame that it is in; `None` for the main frame.
    pub(crate) parent: Option<String>,
    /// The document, as the browser identifies each loading of one.
    pub(crate) document: String,
    /// The address of the document.
    pub(crate) url: String,
    /// The element of the parent that holds it.
    pub(crate) owner: Option<i64>,
    /// The nodes of its accessibility tree.
    pub(crate) nodes: Vec<Value>,
}

/// Reads the frames of a tab, the main one first.
///
/// # Errors
/// Returns an error if the main frame cannot be read. Other frames may go while they are read.
pub(crate) async fn read_frames(client: &CdpClient, session: &str) -> Result<Vec<FrameTree>, CdpFailure> {
    let call = |method, params| client.call(CdpCommand::to_tab(session, method, params));
    let found = call("Page.getFrameTree", json!({})).await?;
    let mut frames = Vec::new();
    flatten(&found["frameTree"], &mut frames);
    let mut read = Vec::new();
    for mut frame in frames {
        let of_frame = json!({"frameId": frame.id});
        let is_main = frame.parent.is_none();
        let tree = call("Accessibility.getFullAXTree", of_frame.clone()).await;
        let mut tree = match tree {
            Err(failure) if is_main || failure == CdpFailure::Ended => return Err(failure),
            Err(_) => continue,
            Ok(tree) => tree,
        };
        if let Some(Value::Array(nodes)) = tree.get_mut("nodes").map(Value::take) {
            frame.nodes = nodes;
        }
        if !is_main {
            let owner = call("DOM.getFrameOwner", of_frame).await;
            frame.owner = owner.ok().and_then(|owner| owner["backendNodeId"].as_i64());
        }
        read.push(frame);
    }
    Ok(read)
}

/// Makes a list of a tree of frames, without their nodes.
fn flatten(tree: &Value, frames: &mut Vec<FrameTree>) {
    let mut open = vec![tree];
    while let Some(tree) = open.pop().filter(|_| frames.len() < MOST_FRAMES) {
        let text = |key: &str| tree["frame"][key].as_str().map(str::to_owned);
        if let Some(id) = text("id") {
            frames.push(FrameTree {
                id,
                parent: text("parentId"),
                document: text("loaderId").unwrap_or_default(),
                url: text("url").unwrap_or_default(),
                owner: None,
                nodes: Vec::new(),
            });
        }
        let children = tree["childFrames"].as_array();
        open.extend(children.into_iter().flatten().rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_listed_in_their_order_and_in_bound() {
        let frame = |id: &str, parent: Option<&str>| json!({"id": id, "parentId": parent, "loaderId": "L", "url": "u"});
        let tree = json!({
            "frame": frame("A", None),
            "childFrames": [
                {"frame": frame("B", Some("A")), "childFrames": [{"frame": frame("C", Some("B"))}]},
                {"frame": frame("D", Some("A"))},
            ],
        });
        let mut frames = Vec::new();
        flatten(&tree, &mut frames);
        let ids: Vec<&str> = frames.iter().map(|frame| frame.id.as_str()).collect();
        assert_eq!(ids, ["A", "B", "C", "D"]);
        let many: Vec<Value> = (0..100)
            .map(|number| json!({"frame": frame(&format!("{number}"), Some("A"))}))
            .collect();
        let mut frames = Vec::new();
        flatten(
            &json!({"frame": frame("A", None), "childFrames": many}),
            &mut frames,
        );
        assert_eq!(frames.len(), MOST_FRAMES);
        flatten(&Value::Null, &mut frames);
    }
}
