//! A library of files in memory, in the places of a workspace and of a person: more than one test has to have
//! one.

use agentx_agent_files::{FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout};

pub(crate) fn roots() -> [Root; 2] {
    [
        Root {
            path: "w".into(),
            origin: FileOrigin::Workspace,
            layout: RootLayout::AgentX,
        },
        Root {
            path: "u".into(),
            origin: FileOrigin::User,
            layout: RootLayout::AgentX,
        },
    ]
}

pub(crate) fn load(files: &[(&str, &str)]) -> Library {
    let files: MemoryFiles = files.iter().map(|(path, text)| (*path, *text)).collect();
    Library::load(&roots(), &files, LibraryOptions::default())
}

pub(crate) fn mistakes(library: &Library) -> String {
    library
        .check()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
