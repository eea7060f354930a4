//! Loads settings from all layers, in order of precedence: defaults < user < workspace < environment < flags.

use std::path::{Path, PathBuf};

use agentx_agent::closed_files::guarded;
use agentx_llm::Catalog;
use agentx_types::RuleEffect;

use crate::folders::folder::{Folder, FolderTrust};
use crate::folders::ignored_setting::IgnoredSetting;
use crate::folders::secret_guard;
use crate::layers::read::{self, CommandLineSetting, SettingsLayer};
use crate::layers::read_file::ReadFile;
use crate::layers::written_rule::WrittenRule;
use crate::layers::{MergedSettings, trust_variable};
use crate::loading::settings_layers::SettingsLayers;
use crate::loading::{assemble, servers_here};
use crate::mcp::project::ProjectContext;
use crate::mistake::{ConfigError, ConfigMistake};
use crate::models::{self, refreshed_models};
use crate::origin::{FileLayer, SettingOrigin};
use crate::paths::{ConfigPaths, root_of};
use crate::settings::Settings;
use crate::symlinks::leads_out;
use crate::workspace::personal_settings::PersonalSettings;
use crate::workspace::{self, claude_files};
use crate::yaml::MAX_BYTES;

/// The input of [`load`].
pub struct LoadRequest<'a> {
    /// The paths of the files.
    pub places: ConfigPaths,
    /// Returns the value of an environment variable; `None` if it is not set.
    pub lookup: &'a dyn Fn(&str) -> Option<String>,
    /// The settings of the command line.
    pub flags: Vec<CommandLineSetting>,
}

impl<'a> LoadRequest<'a> {
    /// Returns the same input, for loading once more.
    pub(crate) fn same_request(&self) -> LoadRequest<'a> {
        LoadRequest {
            places: self.places.clone(),
            lookup: self.lookup,
            flags: self.flags.clone(),
        }
    }
}

/// The effect of a mistake in the workspace's file. If the person did not accept the file as it is, it is
/// always a note: no folder keeps a person from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkspaceErrors {
    /// It is an error, because accepted settings must not be left out.
    Stop,
    /// It is a note, and no setting of the file counts.
    Note,
}

/// The loaded settings, with their origins, mistakes and effects.
#[derive(Debug)]
pub struct Loaded {
    /// The settings, merged from all layers.
    pub settings: Settings,
    /// Each value with its origin.
    pub merged: MergedSettings,
    /// Accepted settings that should be corrected.
    pub warnings: Vec<ConfigMistake>,
    /// The mistakes in the file of a workspace that the person did not accept as it is. They are not errors,
    /// so that no folder can keep a person from working.
    pub workspace_mistakes: Vec<ConfigMistake>,
    /// The settings of the workspace that do not count: most of them without trust, few with it.
    pub ignored: Vec<IgnoredSetting>,
    /// The effects of the workspace's settings once it is trusted, in sentences: where prompts and keys go,
    /// and which programs run.
    pub effects: Vec<String>,
    /// The settings of the workspace that no trust lets count, each with the reason: `data_dir: only …`.
    pub never_counts: Vec<String>,
    /// The effects of the servers in the workspace's `.mcp.json` once it is trusted, in sentences, and the
    /// mistakes in the file.
    pub server_effects: Vec<String>,
    /// Every setting of the workspace's file, one per line, including those that do not count.
    pub workspace_settings: Vec<String>,
    /// The files that count, whether they exist or not.
    pub files: Vec<FileStatus>,
    /// The paths of the files.
    pub places: ConfigPaths,
    /// The directory with records of trust: the person's data directory. A workspace cannot change it.
    pub trust_dir: PathBuf,
}

/// A file of configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The path of the file.
    pub path: PathBuf,
    /// The name of the layer that the file belongs to.
    pub layer: &'static str,
    /// Whether it exists and is read as this layer.
    pub exists: bool,
}

impl Loaded {
    /// Returns the rules of the person's file that allow something in this folder alone, the last one first,
    /// so that each can be removed without moving the next one. Rules of a project within the folder belong
    /// to that project.
    pub fn allowed_here(&self) -> Vec<&WrittenRule> {
        let root = &self.places.workspace_root;
        let is_here = |rule: &&WrittenRule| {
            let place = rule.value.workspace.as_deref().map(Path::new);
            rule.value.effect == RuleEffect::Allow
                && matches!(rule.origin, SettingOrigin::User(_))
                && place.is_some_and(|place| place.starts_with(root) && root_of(place) == root)
        };
        let mut rules: Vec<&WrittenRule> = self.merged.rules().iter().filter(is_here).collect();
        rules.sort_by_key(|rule| match &rule.origin {
            SettingOrigin::User(place) => std::cmp::Reverse((place.line, place.column)),
            _ => std::cmp::Reverse((0, 0)),
        });
        rules
    }
}

/// Reads all layers.
///
/// # Errors
/// Returns all mistakes of all layers, or an error for the first unreadable file. Mistakes in the file of a
/// workspace are not errors if the person did not accept the file as it is: see
/// [`Loaded::workspace_mistakes`].
pub fn load(request: LoadRequest<'_>) -> Result<Loaded, ConfigError> {
    load_with(request, LayerFiles::default(), WorkspaceErrors::Stop)
}

/// Reads all layers as [`load`] does, and leaves the file of the workspace out if it has mistakes, accepted
/// or not: for commands that inspect the folder or stored data, and for the one that withdraws the trust.
///
/// # Errors
/// Returns the mistakes of the person's own layers.
pub fn load_whatever_workspace(request: LoadRequest<'_>) -> Result<Loaded, ConfigError> {
    load_with(request, LayerFiles::default(), WorkspaceErrors::Note)
}

/// Reads all layers as if a file had this text. The mistakes of that file are errors.
pub(crate) fn load_as_if(request: LoadRequest<'_>, file: &Path, text: &str) -> Result<Loaded, ConfigError> {
    let found = LayerFiles {
        instead: Some((file.to_owned(), text.as_bytes().to_vec())),
        ..LayerFiles::default()
    };
    let is_of_workspace = file == request.places.workspace_file;
    let loaded = load_with(request, found, WorkspaceErrors::Note)?;
    if is_of_workspace
        && loaded.settings.folder.trust == FolderTrust::Trusted
        && !loaded.workspace_mistakes.is_empty()
    {
        return Err(ConfigError::Mistakes(loaded.workspace_mistakes));
    }
    Ok(loaded)
}

fn load_with(
    request: LoadRequest<'_>,
    mut found: LayerFiles,
    errors: WorkspaceErrors,
) -> Result<Loaded, ConfigError> {
    let (places, lookup, flags) = (request.places, request.lookup, request.flags);
    let catalog = Catalog::builtin();
    let user = found.read(FileLayer::User(places.user_file.clone()), places.user_file_named)?;
    let environment = read::environment(&catalog, lookup, &mut found.mistakes);
    let flags = read::flags(&flags, &mut found.mistakes);
    let user_layer = user.as_ref().map(|file| file.layer.clone()).unwrap_or_default();
    let defaults = read::defaults(&catalog);
    let mut keys = models::personal_keys(&catalog, [&defaults, &user_layer], lookup);
    let merged = MergedSettings::of([defaults, user_layer]).with_profile_defaults();
    let own = MergedSettings::of([merged.clone().into_layer(), environment.clone(), flags.clone()]);
    let trust_dir = assemble::data_dir(&own, &places);
    let folder = folder(&trust_dir, &places, lookup);
    let (workspace, mut workspace_mistakes) = found.workspace(&places, &folder, errors)?;
    let files = files(&places, user.is_some(), workspace.is_some());
    let catalog = refreshed_models::catalog(catalog, &trust_dir, &mut found.warnings);
    let of_person = PersonalSettings {
        merged: &own,
        catalog: &catalog,
        keys: &keys,
        places: &places,
        lookup,
    };
    let accepted = |file: &ReadFile| workspace::is_accepted(&file.bytes, &folder, &places);
    let is_strict = errors == WorkspaceErrors::Stop && workspace.as_ref().is_some_and(accepted);
    let mut admitted = workspace
        .map(|file| workspace::admitted(file, &folder, &merged, &of_person))
        .unwrap_or_default();
    let below = claude_files::with_rules(merged, &folder, &places.workspace_root);
    let layers = SettingsLayers {
        below: &below,
        above: [environment, flags],
        catalog: catalog.clone(),
        places: &places,
        trust_dir: &trust_dir,
        lookup,
    };
    let mut assembly = layers.with_sound(&mut admitted.layer, is_strict, &mut workspace_mistakes);
    let (merged, mut settings) = (assembly.merged, assembly.settings);
    found.fail_on(&mut assembly.mistakes)?;
    keys.extend(models::keys(&admitted.layer, lookup));
    let project = ProjectContext {
        places: &places,
        folder: &folder,
        keys: &keys,
        lookup,
    }
    .servers();
    (settings.folder, settings.trust_dir) = (folder, trust_dir.clone());
    (settings.keys, settings.named_files) = (keys, admitted.files);
    found.warnings.extend(files_for_agents(&settings));
    Ok(Loaded {
        server_effects: servers_here::settle(&mut settings, &merged, &places, project, &mut found.warnings),
        settings,
        merged,
        warnings: found.warnings,
        workspace_mistakes,
        ignored: admitted.ignored,
        effects: admitted.effects,
        never_counts: admitted.never_counts,
        workspace_settings: admitted.settings,
        files,
        places,
        trust_dir,
    })
}

/// Returns the mistakes in files of instructions, commands and skills.
fn files_for_agents(settings: &Settings) -> Vec<ConfigMistake> {
    let mut mistakes = settings.too_large_instructions();
    mistakes.extend(settings.prompt_files().mistakes);
    mistakes
}

/// The person's decision about this folder. The environment may trust the whole folder for this start.
fn folder(trust_dir: &Path, places: &ConfigPaths, lookup: &dyn Fn(&str) -> Option<String>) -> Folder {
    match lookup(trust_variable::VARIABLE).as_deref().map(str::trim) {
        Some("1" | "true" | "yes") => Folder::trusted_whole(),
        _ => Folder::of(trust_dir, &places.workspace_root),
    }
}

fn files(places: &ConfigPaths, user: bool, workspace: bool) -> Vec<FileStatus> {
    let user = FileStatus {
        path: places.user_file.clone(),
        layer: "user",
        exists: user,
    };
    let workspace = FileStatus {
        path: places.workspace_file.clone(),
        layer: "workspace",
        exists: workspace,
    };
    vec![user, workspace]
}

/// The bytes of the workspace's file, checked, for a person who is about to trust them.
///
/// # Errors
/// Returns an error if the file does not exist, or it has mistakes.
pub fn workspace_bytes(places: &ConfigPaths) -> Result<Vec<u8>, ConfigError> {
    let mut found = LayerFiles::default();
    let file = found.read(FileLayer::Workspace(places.workspace_file.clone()), true)?;
    match file {
        Some(file) if found.mistakes.is_empty() => Ok(file.bytes),
        _ => Err(ConfigError::Mistakes(found.mistakes)),
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

#[derive(Default)]
struct LayerFiles {
    mistakes: Vec<ConfigMistake>,
    warnings: Vec<ConfigMistake>,
    /// A file, and the bytes to read instead of its contents.
    instead: Option<(PathBuf, Vec<u8>)>,
}

impl LayerFiles {
    /// Adds these mistakes, takes all of them, and returns them as an error if there are any.
    fn fail_on(&mut self, further: &mut Vec<ConfigMistake>) -> Result<(), ConfigError> {
        self.mistakes.append(further);
        self.fail_on_mistakes()
    }

    /// Takes all mistakes so far, and returns them as an error if there are any.
    fn fail_on_mistakes(&mut self) -> Result<(), ConfigError> {
        let mistakes = std::mem::take(&mut self.mistakes);
        if mistakes.is_empty() {
            Ok(())
        } else {
            Err(ConfigError::Mistakes(mistakes))
        }
    }

    /// Returns the file of the workspace, and its mistakes if they are not errors.
    fn workspace(
        &mut self,
        places: &ConfigPaths,
        folder: &Folder,
        errors: WorkspaceErrors,
    ) -> Result<(Option<ReadFile>, Vec<ConfigMistake>), ConfigError> {
        // If the home directory is the workspace, both may be the same file: then it is the user's.
        if same_file(&places.user_file, &places.workspace_file) {
            return Ok((None, Vec::new()));
        }
        let before = self.mistakes.len();
        let file = self.read(FileLayer::Workspace(places.workspace_file.clone()), false);
        let is_accepted = match &file {
            Ok(Some(file)) => workspace::is_accepted(&file.bytes, folder, places),
            Ok(None) => false,
            // Nobody has seen an unreadable file; only the environment variable accepts it.
            Err(_) => folder.trusted_by_env,
        };
        if is_accepted && errors == WorkspaceErrors::Stop {
            return Ok((file?, Vec::new()));
        }
        let mut broken = self.mistakes.split_off(before);
        let file = file.unwrap_or_else(|error| {
            broken.push(ConfigMistake::of_file(&places.workspace_file, error.to_string()));
            None
        });
        // An accepted file counts as a whole or not at all.
        let file = file.filter(|_| broken.is_empty() || !is_accepted);
        Ok((file, broken))
    }

    /// `None` if the file does not exist and does not have to.
    fn read(&mut self, layer: FileLayer, required: bool) -> Result<Option<ReadFile>, ConfigError> {
        let path = layer.path().to_owned();
        let bytes = match &self.instead {
            Some((file, bytes)) if *file == path => Ok(bytes.clone()),
            _ if layer.is_of_workspace() => of_folder(&path).and_then(|()| read_bounded(&path)),
            _ => read_bounded(&path),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => return Ok(None),
            // A directory, or a file where a directory should be, counts as a missing file.
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory && !required => return Ok(None),
            Err(error) => return Err(ConfigError::file(path, error)),
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            self.mistakes
                .push(ConfigMistake::of_file(&path, "the file is not UTF-8".to_owned()));
            return Ok(Some(ReadFile {
                layer: SettingsLayer::default(),
                bytes,
            }));
        };
        let (layer, mistakes, warnings) = read::file(&layer, text);
        self.mistakes.extend(mistakes);
        self.warnings.extend(warnings);
        Ok(Some(ReadFile { layer, bytes }))
    }
}

/// Checks a file that comes along with a workspace: a pipe would be waited for without an end, and a link out
/// of the folder would have something else read, shown and kept. (One's own may be a pipe: `<(…)`.)
fn of_folder(path: &Path) -> std::io::Result<()> {
    let kind = std::fs::metadata(path)?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let root = path.parent().and_then(Path::parent);
    if root.is_some_and(|root| leads_out(root, path)) {
        return Err(std::io::Error::other("a link leads out of this folder"));
    }
    let real = std::fs::canonicalize(path)?.to_string_lossy().into_owned();
    let root = root.map(|root| root.to_string_lossy()).unwrap_or_default();
    if guarded(&secret_guard::secrets(), &real, &root).is_some() {
        return Err(std::io::Error::other(
            "it is a link to a file that may hold secrets",
        ));
    }
    Ok(())
}

/// Reads at most a little more than is accepted, so that a device or a huge file cannot fill the memory.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
