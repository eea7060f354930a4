//! The directories with definitions of agents and tools: the workspace's and the person's, AgentX's own and
//! those of other programs.

use std::path::{Path, PathBuf};

use agentx_agent_files::{FileOrigin, Root, RootLayout};
use agentx_config::{Settings, WORKSPACE_FOLDER, leads_out};

use crate::accepted_files::FolderRoots;

/// The agents of Claude Code, in a project and in a home.
const CLAUDE_AGENTS: &str = ".claude/agents";
/// The agents of opencode in a project; newer versions write the second.
const OPENCODE_AGENTS: [&str; 2] = [".opencode/agent", ".opencode/agents"];

/// Returns the folder of this workspace that holds files of agents and tools.
pub fn workspace_folder(settings: &Settings) -> PathBuf {
    settings.workspace_root.join(WORKSPACE_FOLDER)
}

/// Returns the folder of the person that holds them.
pub fn user_folder(settings: &Settings) -> PathBuf {
    let file = &settings.user_file;
    file.parent().map_or_else(|| file.clone(), ToOwned::to_owned)
}

/// Returns the roots in the order in which a name is looked for: AgentX's own files come before those of
/// other programs. (Files of the person win over those of the workspace, whatever their order.)
pub(crate) fn definition_roots(settings: &Settings) -> Vec<Root> {
    let of_person = person_roots(settings);
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    // A directory of the person that is also the workspace's counts as theirs.
    let is_persons = |path: &Path| {
        let found = real(path);
        found.is_some() && of_person.iter().any(|root| real(&root.path) == found)
    };
    let of_workspace = workspace_places(settings).into_iter().filter(|(path, _)| {
        // Behind a link out of the folder are files that are not the folder's.
        !is_persons(path) && !leads_out(&settings.workspace_root, path)
    });
    let root = |(path, layout)| Root {
        path,
        origin: FileOrigin::Workspace,
        layout,
    };
    let mut roots: Vec<Root> = of_workspace.map(root).collect();
    roots.extend(of_person);
    roots
}

/// Returns the roots of the workspace, as far as their files are the workspace's.
pub(crate) fn folder_roots(settings: &Settings) -> FolderRoots {
    let roots = definition_roots(settings).into_iter();
    let of_folder = roots.filter(|root| root.origin == FileOrigin::Workspace);
    FolderRoots {
        folder: settings.workspace_root.clone(),
        roots: of_folder.map(|root| root.path).collect(),
    }
}

fn workspace_places(settings: &Settings) -> Vec<(PathBuf, RootLayout)> {
    let below = |path: &str| settings.workspace_root.join(path);
    let mut places = vec![
        (workspace_folder(settings), RootLayout::AgentX),
        (below(CLAUDE_AGENTS), RootLayout::ClaudeCode),
    ];
    places.extend(OPENCODE_AGENTS.map(|path| (below(path), RootLayout::OpenCode)));
    places
}

/// Returns the roots of the person. A directory of another program that is a link into the workspace holds
/// the workspace's files.
fn person_roots(settings: &Settings) -> Vec<Root> {
    let root = |path, layout| Root {
        path,
        origin: FileOrigin::User,
        layout,
    };
    let mut roots = vec![root(user_folder(settings), RootLayout::AgentX)];
    if let Some(path) = settings.home().map(|home| home.join(CLAUDE_AGENTS)) {
        let workspace = &settings.workspace_root;
        let leads_in = std::fs::canonicalize(&path).is_ok_and(|real| real.starts_with(workspace));
        if path.starts_with(workspace) || !leads_in {
            roots.push(root(path, RootLayout::ClaudeCode));
        }
    }
    roots
}
