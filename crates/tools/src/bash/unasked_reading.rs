//! Checks on the disk before a command line runs without a question because it only reads the workspace.
//!
//! The agent judged its text. What it could not see makes the tool refuse the line, with the way to do the
//! same thing: a program of the workspace that `PATH` puts in place of `ls`, and a file that may hold
//! secrets, or that a rule is about, among those whose content a search or a diff would show. Links that the
//! line names are checked for every line ([`super::links`]).

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agentx_runtime::{PlaceRules, ReadingLine, SearchedFolder, ToolContext};
use agentx_sandbox::{CommandPlace, SandboxError, SandboxedCommand, hidden_variables};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use super::options::BashOptions;
use super::process_mark::ProcessMark;

/// Maximum number of files below a folder that are compared with the rules.
const MOST_FILES: usize = 100_000;
/// The time in which Git has to list the files of a diff.
const LISTING_TIME: Duration = Duration::from_secs(20);
/// The way to do the same for files that nobody named.
const INSTEAD: &str =
    "the tool `grep` leaves such files out, and a command that names the file is asked about";

/// Returns why a line that runs without a question may not run. `options` start its command.
pub(super) async fn refusal(
    reading: &ReadingLine,
    options: &BashOptions,
    context: &ToolContext,
) -> Option<String> {
    let (place, whole) = (context.clone(), reading.clone());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let settings = std::env::var_os("RIPGREP_CONFIG_PATH").is_some_and(|file| !file.is_empty());
    let looked = tokio::task::spawn_blocking(move || {
        let rules = |root: &Path| place.place_rules("read", root);
        refused_reading(&whole, &place.workspace, &path, settings, &rules)
    });
    let refused = looked
        .await
        .unwrap_or_else(|error| Some(format!("its files could not be looked at: {error}")));
    if refused.is_some() {
        return refused;
    }
    for words in &reading.listings {
        let refused = listed_refusal(words, options, context).await;
        if refused.is_some() {
            return refused;
        }
    }
    None
}

/// Returns why a line that only reads may not run in the directory `base`. `path` is the `PATH` of its
/// programs; `has_settings` says whether `rg` reads a file of settings; `rules` returns the rules about the
/// files below a folder.
pub fn refused_reading(
    reading: &ReadingLine,
    base: &Path,
    path: &OsStr,
    has_settings: bool,
    rules: &dyn Fn(&Path) -> Option<PlaceRules>,
) -> Option<String> {
    let root = base.canonicalize().unwrap_or_else(|_| base.to_owned());
    let programs = reading.programs.iter();
    let mut found = programs.filter_map(|name| Some((name, program_at(name, base, path)?)));
    let own = found.find(|(_, file)| file.starts_with(base) || file.starts_with(&root));
    if let Some((name, file)) = own {
        return Some(format!(
            "`{name}` would be {}, a program of this folder; its path in place of `{name}` is asked about",
            file.display()
        ));
    }
    let mut searched = reading.searched.iter();
    searched.find_map(|folder| searched_refusal(folder, base, has_settings, rules))
}

/// Returns the file that a shell in `base` would run for a bare name, with links resolved.
fn program_at(name: &str, base: &Path, path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        let found = std::fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    // An empty or relative directory begins at the working directory.
    let mut files = std::env::split_paths(path).map(|directory| base.join(directory).join(name));
    let file = files.find(is_program)?;
    Some(file.canonicalize().unwrap_or(file))
}

/// Returns why a search may not show what is in a folder.
fn searched_refusal(
    folder: &SearchedFolder,
    base: &Path,
    has_settings: bool,
    rules: &dyn Fn(&Path) -> Option<PlaceRules>,
) -> Option<String> {
    let root = without_dots(&base.join(&folder.place));
    // A file that the line names was judged by its name.
    if !root.is_dir() {
        return None;
    }
    let rules = rules(&root)?;
    let mut builder = WalkBuilder::new(&root);
    if folder.leaves_out_ignored && !has_settings {
        builder.add_custom_ignore_filename(".rgignore");
        let mut globs = OverrideBuilder::new(base);
        for glob in &folder.globs {
            if let Err(error) = globs.add(glob) {
                return Some(format!("{glob:?} is not a pattern of files: {error}"));
            }
        }
        match globs.build() {
            Ok(globs) => builder.overrides(globs),
            Err(error) => return Some(format!("its patterns of files cannot be read: {error}")),
        };
    } else {
        builder.standard_filters(false);
    }
    for (count, entry) in builder.build().flatten().enumerate() {
        let file = entry.path();
        let shown = file.strip_prefix(base).unwrap_or(file).display();
        if count >= MOST_FILES {
            return Some(
                "it searches too many files to look for secrets among them; name a smaller folder".into(),
            );
        }
        let kind = entry.file_type();
        if folder.follows_links && kind.is_some_and(|kind| kind.is_symlink()) {
            return Some(format!("it would follow the link {shown}; name the files"));
        }
        if kind.is_some_and(|kind| kind.is_file()) && rules.cover(&file.to_string_lossy()) {
            return Some(format!(
                "it would search {shown}, which may hold secrets or has a rule of its own; {INSTEAD}"
            ));
        }
    }
    None
}

/// A path without its parts `.`; it has no `..`.
fn without_dots(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .collect()
}

/// Returns the command that lists files, in the sandbox of the line: a repository may have Git run programs.
fn listing(
    words: &[String],
    options: &BashOptions,
    context: &ToolContext,
) -> Result<tokio::process::Command, SandboxError> {
    let workspace = &context.workspace;
    let all: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let mark = ProcessMark::new(&context.session_id, &context.tool_call_id);
    let place = CommandPlace {
        workspace,
        session: mark.session(),
    };
    let (program, rest) = (
        all.first().copied().unwrap_or_default(),
        all.get(1..).unwrap_or_default(),
    );
    let held = match &options.sandbox {
        Some(launcher) => launcher.command(Path::new(program), &all, place)?,
        None => None,
    };
    let held = held.map(SandboxedCommand::without_proxy).transpose()?;
    let started = match &held {
        Some(held) => held.program.as_path(),
        None => Path::new(program),
    };
    let mut command = tokio::process::Command::new(started);
    match &held {
        Some(held) => command.arg0("agentx").args(&held.arguments),
        None => command.args(rest),
    };
    command
        .current_dir(workspace)
        .env_clear()
        .envs(options.environment.variables())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    for name in hidden_variables().iter().filter(|_| held.is_some()) {
        command.env_remove(name);
    }
    Ok(command)
}

/// Returns why a command of Git may not show the files that `words` list.
async fn listed_refusal(words: &[String], options: &BashOptions, context: &ToolContext) -> Option<String> {
    let program = words.first()?;
    let mut command = match listing(words, options, context) {
        Ok(command) => command,
        Err(error) => return Some(format!("the files that it would show cannot be listed: {error}")),
    };
    let listed = tokio::select! {
        listed = tokio::time::timeout(LISTING_TIME, command.output()) => listed,
        () = context.cancel.cancelled() => return Some("it was stopped".to_owned()),
    };
    let output = match listed {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Some(format!("{program} could not be started: {error}")),
        Err(_) => return Some("the files that it would show could not be listed in time".to_owned()),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or("it gave no reason").to_owned();
        return Some(format!(
            "the files that it would show cannot be listed: {first} (revisions stand in front of `--`, paths behind it)"
        ));
    }
    let base = without_dots(&context.workspace);
    let Some(top) = base.ancestors().find(|folder| folder.join(".git").exists()) else {
        return Some("the repository is not around this folder".to_owned());
    };
    let rules = context.place_rules("read", top);
    let names = output.stdout.split(|byte| *byte == 0);
    let names = names.map(|name| String::from_utf8_lossy(name).trim_start_matches('\n').to_owned());
    names.filter(|name| !name.is_empty()).find_map(|name| {
        let file = top.join(&name);
        if !file.starts_with(&base) {
            return Some(format!(
                "it would show {name} of the repository, outside the workspace; limit it with `-- .`"
            ));
        }
        let is_covered = rules
            .as_ref()
            .is_some_and(|rules| rules.cover(&file.to_string_lossy()));
        is_covered.then(|| {
            format!(
                "it would show {name}, which may hold secrets or has a rule of its own; name the other files behind `--`"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use agentx_types::{AgentConfig, Api, Guard, ModelSpec, Prices};

    use super::*;

    /// The rules about files below a folder, of an agent in `base` that guards some names.
    fn rules_in(base: &Path) -> impl Fn(&Path) -> Option<PlaceRules> {
        let mut config = AgentConfig::react(ModelSpec {
            id: "m".into(),
            provider: "scripted".into(),
            api: Api::Scripted,
            context_window: 1000,
            max_output_tokens: 1000,
            prices: Prices::default(),
            input: None,
            server: None,
            assumes_output: false,
            name: None,
        });
        config.workspace = base.to_string_lossy().into_owned();
        config.guard = Some(Arc::new(Guard {
            secrets: vec!["/**/.env".into(), "/**/*.pem".into()],
            ..Guard::default()
        }));
        move |root: &Path| PlaceRules::of(&config, "read", &root.to_string_lossy())
    }

    fn search(place: &str, leaves_out_ignored: bool, globs: &[&str]) -> ReadingLine {
        ReadingLine {
            searched: vec![SearchedFolder {
                place: place.to_owned(),
                leaves_out_ignored,
                globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
                follows_links: false,
            }],
            ..ReadingLine::default()
        }
    }

    #[test]
    fn a_program_of_the_folder_does_not_run_in_place_of_another_one() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path();
        let bin = base.join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("ls"), "").unwrap();
        let reading = ReadingLine {
            programs: vec!["ls".into()],
            ..ReadingLine::default()
        };
        let refused = |path: &str| refused_reading(&reading, base, OsStr::new(path), false, &|_| None);
        let first = format!("{}:/bin:/usr/bin", bin.display());
        assert_eq!(refused(&first), None, "the file cannot be run");
        fs::set_permissions(bin.join("ls"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(refused(&first).is_some_and(|why| why.contains("a program of this folder")));
        assert!(refused("bin:/bin:/usr/bin").is_some(), "a relative directory");
        let last = format!("/bin:/usr/bin:{}", bin.display());
        assert_eq!(refused(&last), None, "the shell finds another one first");
    }

    #[test]
    fn a_search_does_not_show_a_file_with_secrets_that_nobody_named() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path();
        fs::create_dir_all(base.join("keys")).unwrap();
        fs::create_dir_all(base.join("src")).unwrap();
        for file in ["src/a.rs", ".env", "keys/made-up.pem"] {
            fs::write(base.join(file), "a word\n").unwrap();
        }
        let rules = rules_in(base);
        let refused = |reading: &ReadingLine, has_settings: bool| {
            refused_reading(reading, base, OsStr::new("/bin"), has_settings, &rules)
        };
        assert_eq!(refused(&search("src", false, &[]), false), None);
        let all = refused(&search(".", false, &[]), false).unwrap();
        assert!(
            all.contains("may hold secrets") && all.contains("the tool `grep`"),
            "{all}"
        );
        let key = refused(&search(".", true, &[]), false).unwrap();
        assert!(
            key.contains("keys/made-up.pem"),
            "hidden files are left out: {key}"
        );
        assert_eq!(refused(&search(".", true, &["*.rs"]), false), None);
        assert!(
            refused(&search(".", true, &["*env"]), false).is_some(),
            "a pattern shows hidden files"
        );
        fs::remove_dir_all(base.join("keys")).unwrap();
        assert_eq!(refused(&search(".", true, &[]), false), None);
        assert!(
            refused(&search(".", true, &[]), true).is_some(),
            "settings of rg may show hidden files"
        );
        assert!(refused(&search(".", true, &["["]), false).is_some());
    }

    #[test]
    fn a_comparison_follows_no_link() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path();
        fs::create_dir(base.join("a")).unwrap();
        std::os::unix::fs::symlink("/etc/hosts", base.join("a/link")).unwrap();
        let mut reading = search("a", false, &[]);
        let refused = |reading: &ReadingLine| {
            refused_reading(reading, base, OsStr::new("/bin"), false, &rules_in(base))
        };
        assert_eq!(refused(&reading), None);
        reading.searched[0].follows_links = true;
        assert!(refused(&reading).is_some_and(|why| why.contains("a/link")));
    }
}
