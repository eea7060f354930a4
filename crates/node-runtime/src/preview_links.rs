//! The links in a call that waits for a decision. A person judges by the names in it, so the question says
//! where they lead, and that the tool will refuse the call if they lead to a place which needs its own
//! decision. As with a change, the tool checks again when the call runs.

use std::path::{Path, PathBuf};

use agentx_agent::pattern::normalize;
use agentx_runtime::{FileChangePreview, LineNames, refused_by_the_tool};
use agentx_types::{AgentConfig, ToolSpec};
use serde_json::Value;

/// Maximum number of links in a command line that a question names.
const MOST_LINKS: usize = 8;

/// The reason that a person reads who may not learn where a link leads.
const ELSEWHERE: &str = "a link in it leads to a place that needs its own decision";

/// The files that a preview may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskPreview {
    /// Every file that the program can read, for the person who runs it.
    All,
    /// Files in the workspace that the agent may read without approval: an approver learns nothing about the
    /// machine from the agent's requests.
    ToTheAgent,
}

/// Returns the links in a command line. Links outside of the workspace are left out: they are not those of a
/// folder that may come from a stranger.
pub(crate) fn line_links(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    shown: DiskPreview,
) -> FileChangePreview {
    let argument = tool.command_argument.as_ref();
    let Some(line) = argument.and_then(|name| input.get(name)?.as_str()) else {
        return FileChangePreview::default();
    };
    let names = LineNames::of(line);
    let root = std::fs::canonicalize(&config.workspace).unwrap_or_default();
    let is_inside = |name: &&String| {
        let written = written_place(&root, name);
        written.starts_with(&root) || written.starts_with(&config.workspace)
    };
    let links = names.paths.iter().filter(is_inside).filter_map(|name| {
        let place = leads_to(&config.workspace, name, shown)?;
        Some(format!("{name} leads to {place}"))
    });
    FileChangePreview {
        links: links.take(MOST_LINKS).collect(),
        refused: refused_line(config, tool, input, line).map(|why| reason(why, shown)),
        ..FileChangePreview::default()
    }
}

/// Returns the link in the path of a call.
pub(crate) fn path_links(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    path: &str,
    shown: DiskPreview,
) -> FileChangePreview {
    let refused = || {
        let root = std::fs::canonicalize(&config.workspace).ok()?;
        let real = real_place(&written_place(&root, path))?;
        refused_by_the_tool(config, tool, input, &root, &real)
    };
    FileChangePreview {
        leads_to: leads_to(&config.workspace, path, shown),
        refused: refused().map(|why| reason(why, shown)),
        ..FileChangePreview::default()
    }
}

fn reason(why: String, shown: DiskPreview) -> String {
    match shown {
        DiskPreview::All => why,
        DiskPreview::ToTheAgent => ELSEWHERE.to_owned(),
    }
}

/// Returns why `bash` would refuse a line because of a link in it.
#[cfg(feature = "tools")]
fn refused_line(config: &AgentConfig, tool: &ToolSpec, input: &Value, line: &str) -> Option<String> {
    let judge = |word: &str, real: &Path, may_leave: bool| {
        agentx_runtime::refused_in_line(config, tool, input, word, real, may_leave)
    };
    agentx_tools::refused_link(line, Path::new(&config.workspace), &judge)
}

/// Without the program's own tools, no command runs.
#[cfg(not(feature = "tools"))]
fn refused_line(_: &AgentConfig, _: &ToolSpec, _: &Value, _: &str) -> Option<String> {
    None
}

/// Returns a path as it is written, from the real path of the workspace on.
fn written_place(root: &Path, path: &str) -> PathBuf {
    PathBuf::from(normalize(&root.to_string_lossy(), path))
}

/// Returns the real path of a place; a missing file would be created below the existing part of its path.
/// `None` if a link leads nowhere.
fn real_place(written: &Path) -> Option<PathBuf> {
    let there = existing_part(written)?;
    let real = std::fs::canonicalize(there).ok()?;
    // The rest is empty if the path itself exists. Joining an empty path would add a slash.
    match written.strip_prefix(there).ok()? {
        rest if rest.as_os_str().is_empty() => Some(real),
        rest => Some(real.join(rest)),
    }
}

fn existing_part(written: &Path) -> Option<&Path> {
    written.ancestors().find(|place| place.symlink_metadata().is_ok())
}

/// Returns the real path of a file if it differs from its name because of a link. A remote person does not
/// learn paths outside the workspace.
fn leads_to(workspace: &str, path: &str, shown: DiskPreview) -> Option<String> {
    let root = std::fs::canonicalize(workspace).ok()?;
    let written = written_place(&root, path);
    let Some(real) = real_place(&written) else {
        let target = std::fs::read_link(existing_part(&written)?).ok()?;
        return (shown == DiskPreview::All).then(|| target.to_string_lossy().into_owned());
    };
    let below = |place: &Path| place.strip_prefix(workspace).map(Path::to_owned);
    if real == written || real.strip_prefix(&root).ok() == below(&written).ok().as_deref() {
        return None;
    }
    match real.strip_prefix(&root) {
        Ok(below) => Some(below.to_string_lossy().into_owned()),
        Err(_) if shown == DiskPreview::All => Some(real.to_string_lossy().into_owned()),
        Err(_) => Some("outside the workspace".to_owned()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_link_on_the_way_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = std::fs::canonicalize(folder.path())
            .expect("it is there")
            .join("ws");
        std::fs::create_dir_all(root.join("src")).expect("it is made");
        std::fs::write(root.join("src/a"), "x").expect("it is written");
        symlink("..", root.join("src/up")).expect("a link");
        symlink("../..", root.join("src/out")).expect("a link");
        symlink("nowhere", root.join("gone")).expect("a link");
        let outside = root.with_file_name("x").to_string_lossy().into_owned();
        let workspace = root.to_string_lossy();
        for (path, all, to_the_agent) in [
            ("src/a", None, None),
            ("src/new/b", None, None),
            ("src/up/evil.sh", Some("evil.sh"), Some("evil.sh")),
            ("src/up/src/a", Some("src/a"), Some("src/a")),
            ("src/out/x", Some(outside.as_str()), Some("outside the workspace")),
            ("gone", Some("nowhere"), None),
        ] {
            assert_eq!(
                leads_to(&workspace, path, DiskPreview::All).as_deref(),
                all,
                "{path}"
            );
            assert_eq!(
                leads_to(&workspace, path, DiskPreview::ToTheAgent).as_deref(),
                to_the_agent,
                "{path}"
            );
        }
        let absolute = root.join("src/a");
        assert_eq!(
            leads_to(&workspace, &absolute.to_string_lossy(), DiskPreview::All),
            None
        );
    }

    /// Made up: a folder from elsewhere with links that lead out of it.
    #[test]
    fn a_call_that_a_link_leads_out_of_the_workspace_is_said_to_be_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = std::fs::canonicalize(folder.path()).expect("it is there");
        let root = base.join("ws");
        std::fs::create_dir_all(&root).expect("it is made");
        std::fs::create_dir_all(base.join("other")).expect("it is made");
        std::fs::write(base.join("other/notes"), "x").expect("it is written");
        std::fs::write(root.join("a"), "x").expect("it is written");
        symlink("../other", root.join("conf")).expect("a link");
        let mut config = agentx_agent::fixtures::config();
        config.workspace = root.to_string_lossy().into_owned();
        config.approval = agentx_types::ApprovalMode::Ask;
        let place = base.join("other/notes").to_string_lossy().into_owned();

        let look = config.tools[0].clone();
        let of_path = |path: &str, shown| {
            let input = json!({ "path": path });
            path_links(&config, &look, &input, path, shown)
        };
        assert_eq!(of_path("a", DiskPreview::All), FileChangePreview::default());
        let seen = of_path("conf/notes", DiskPreview::All);
        assert_eq!(seen.leads_to.as_deref(), Some(place.as_str()));
        assert!(
            seen.refused
                .is_some_and(|why| why.contains("outside the workspace"))
        );
        let far = of_path("conf/notes", DiskPreview::ToTheAgent);
        assert_eq!(
            (far.leads_to.as_deref(), far.refused.as_deref()),
            (Some("outside the workspace"), Some(ELSEWHERE))
        );
        let seen = of_line(&config, "cp a conf/notes");
        assert_eq!(seen.links, [format!("conf/notes leads to {place}")]);
        #[cfg(feature = "tools")]
        assert!(
            seen.refused
                .is_some_and(|why| why.contains("outside of the workspace"))
        );
        assert_eq!(of_line(&config, "cp a b"), FileChangePreview::default());
    }

    fn of_line(config: &AgentConfig, line: &str) -> FileChangePreview {
        let mut tool = config.tools[0].clone();
        (tool.name, tool.path_argument) = ("bash".to_owned(), None);
        tool.command_argument = Some("command".to_owned());
        tool.access = agentx_types::Access::Run;
        line_links(config, &tool, &json!({ "command": line }), DiskPreview::All)
    }
}
