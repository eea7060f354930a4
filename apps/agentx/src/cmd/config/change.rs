//! `agentx config set` and `edit`: changes that are kept only if they leave the configuration right.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use agentx::config::{self, ConfigError, LoadRequest, Loaded, SettingOrigin};
use agentx::tools::ProgramEnvironment;
use serde_json::json;

use crate::args::Global;
use crate::chat::external_editor::{create_private_copy, wanted_editor};
use crate::console::Console;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::start::{self, lookup};

const BEGINNING: &str = "# agentx: `agentx help settings` lists every key\n";

/// Sets a key in a file.
pub(crate) fn set(
    global: &Global,
    key: &str,
    value: &str,
    workspace: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let (request, file) = request(global, workspace)?;
    let done = config::set(request, &file, key, value)?;
    let path = done.key.0.join(".");
    let row = done.loaded.merged.rows().into_iter().find(|row| row.key == path);
    let place = match row.as_ref().map(|row| &row.origin) {
        Some(SettingOrigin::User(place) | SettingOrigin::Workspace(place)) if *place.file == *file => {
            place.to_string()
        }
        _ => file.display().to_string(),
    };
    if global.json {
        return console.out_pretty(&json!({ "key": path, "file": file, "changed": done.changed }));
    }
    let words = if done.changed {
        "is set"
    } else {
        "was already set to that"
    };
    console.out(&format!("{} {words}: {place}\n", visible(&path)))?;
    console.say(&overruled(&done.loaded, &path, &file));
    console.say(&start::notes_after_change(&done.loaded, &path));
    Ok(())
}

/// Removes a key from a file.
pub(crate) fn unset(
    global: &Global,
    key: &str,
    workspace: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let (request, file) = request(global, workspace)?;
    let done = config::unset(request, &file, key)?;
    let path = done.key.0.join(".");
    if global.json {
        return console.out_pretty(&json!({ "key": path, "file": file, "changed": done.changed }));
    }
    let words = if done.changed {
        "is removed from"
    } else {
        "is not in"
    };
    console.out(&format!("{} {words} {}\n", visible(&path), file.display()))?;
    console.say(&overruled(&done.loaded, &path, &file));
    console.say(&start::notes_after_change(&done.loaded, &path));
    Ok(())
}

fn overruled(loaded: &Loaded, path: &str, file: &Path) -> String {
    let rows = loaded.merged.rows();
    let Some(row) = rows.iter().find(|row| row.key == path && row.value.is_some()) else {
        return String::new();
    };
    match &row.origin {
        SettingOrigin::User(place) | SettingOrigin::Workspace(place) if *place.file == *file => String::new(),
        // The notes report ignored settings of a workspace.
        SettingOrigin::Default => String::new(),
        origin => format!(
            "note: the value is still {}, because it is also set elsewhere: {origin}\n",
            visible(row.value.as_deref().unwrap_or_default())
        ),
    }
}

/// Opens a copy of a file in the person's editor, and keeps the changes if the copy is valid.
pub(crate) fn edit(global: &Global, workspace: bool, console: &mut Console) -> Result<(), ChatError> {
    let (_, file) = request(global, workspace)?;
    let editor = wanted_editor(lookup);
    // Without a terminal only an editor that the person named can do something.
    let is_named = ["VISUAL", "EDITOR"]
        .iter()
        .any(|name| lookup(name).is_some_and(|words| !words.trim().is_empty()));
    let has_terminal = console.terminal.input && console.terminal.output;
    if !is_named && !has_terminal {
        let message = format!("no editor is set to change {}", file.display());
        let hint = "set EDITOR, or change one key: agentx config set KEY VALUE";
        return Err(ChatError::usage(message, hint));
    }
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| ChatError::File {
            path,
            what: error.to_string(),
        }
    };
    let said = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(&file)(error)),
    };
    let before = said.as_deref().unwrap_or(BEGINNING);
    // Beside the file, so that relative paths in it also work from the copy.
    let copy = file.with_extension(format!("{}.edit.yaml", std::process::id()));
    if let Some(folder) = copy.parent() {
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    // An existing file was left behind or planted: a link would lead elsewhere.
    let _ = std::fs::remove_file(&copy);
    create_private_copy(&copy, before).map_err(failed(&copy))?;
    let kept = keep(global, workspace, &editor, &copy, said.as_deref(), console);
    match kept {
        Ok(words) => {
            let _ = std::fs::remove_file(&copy);
            console.out(&format!("{} {words}\n", file.display()))
        }
        Err(error) => {
            // If the person typed nothing, as when there is no such editor, the copy is removed.
            match std::fs::read_to_string(&copy) {
                Ok(text) if text == before => {
                    let _ = std::fs::remove_file(&copy);
                }
                _ => console.say(&format!("note: your text is saved in {}\n", copy.display())),
            }
            Err(error)
        }
    }
}

/// Edits the copy until it is valid or the person gives up; `said` is the earlier text of the file.
fn keep(
    global: &Global,
    workspace: bool,
    editor: &str,
    copy: &Path,
    said: Option<&str>,
    console: &mut Console,
) -> Result<&'static str, ChatError> {
    loop {
        run(editor, copy)?;
        let text = std::fs::read_to_string(copy).map_err(|error| ChatError::File {
            path: copy.display().to_string(),
            what: error.to_string(),
        })?;
        if text == said.unwrap_or(BEGINNING) {
            return Ok("stays as it is");
        }
        let (request, file) = request(global, workspace)?;
        match config::replace(request, &file, said, &text) {
            Ok(loaded) => {
                console.say(&start::notes_after_change(&loaded, ""));
                return Ok("is changed");
            }
            Err(error @ ConfigError::Mistakes(_)) if console.terminal.input => {
                console.complain(&ChatError::from(error));
                console.say("keep editing? y/n › ");
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line)?;
                if !matches!(line.trim(), "y" | "yes" | "") {
                    return Err(ChatError::usage("the file is unchanged", ""));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs the editor, which may have flags: `code --wait`. Its environment has no API keys, because commands of
/// an agent elsewhere could read them there.
fn run(editor: &str, file: &Path) -> Result<(), ChatError> {
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program)
        .args(words)
        .arg(file)
        .env_clear()
        .envs(ProgramEnvironment::default().variables())
        .status();
    let failed = |what: String| ChatError::File {
        path: program.to_owned(),
        what,
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("the editor ended with {status}"))),
        Err(error) => Err(ChatError::usage(
            format!("cannot run the editor {program}: {error}"),
            "set VISUAL or EDITOR to an installed editor, or change one key: agentx config set KEY VALUE",
        )),
    }
}

fn request(global: &Global, workspace: bool) -> Result<(LoadRequest<'static>, PathBuf), ChatError> {
    let mut places = start::places(global)?;
    let file = if workspace {
        places.workspace_file.clone()
    } else {
        places.user_file.clone()
    };
    if workspace {
        config::refuse_links(&places.workspace_root, &file)?;
    }
    // A file that this command will create need not exist, even if an option names it.
    places.user_file_named = places.user_file_named && file != places.user_file;
    let request = LoadRequest {
        places,
        lookup: &lookup,
        flags: Vec::new(),
    };
    Ok((request, file))
}
