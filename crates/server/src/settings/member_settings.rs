//! Settings for sessions of members: the rules that bind them, and the working directory of each member.

use std::path::{Path, PathBuf};

use agentx_config::Settings;
use agentx_files::make_private_directory;
use agentx_runtime::RuntimeError;
use agentx_types::{OwnerId, ServerRules, ToolSpec};

/// Returns the rules of the server's settings for each call in sessions of this owner.
pub(crate) fn server_rules(
    settings: &Settings,
    operator: &OwnerId,
    owner: &OwnerId,
    tools: &[ToolSpec],
) -> ServerRules {
    let directory = (owner != operator).then(|| directory(settings, owner).to_string_lossy().into_owned());
    ServerRules {
        rules: settings.rules_for(tools),
        member_directory: directory,
    }
}

/// Returns the directory of a member, which may not exist yet.
pub(crate) fn directory(settings: &Settings, member: &OwnerId) -> PathBuf {
    // A directory that does not exist yet contains no links.
    let wanted = &settings.members_dir;
    let known = wanted.ancestors().find_map(|above| {
        let real = std::fs::canonicalize(above).ok()?;
        Some(real.join(wanted.strip_prefix(above).ok()?))
    });
    known.unwrap_or_else(|| wanted.clone()).join(name_of(member))
}

/// Creates the directory of a member, which only the server's user may read.
///
/// # Errors
/// Returns an error if it cannot be created, or is in a place in which no tool may work.
pub(crate) fn make_directory(settings: &Settings, member: &OwnerId) -> Result<String, RuntimeError> {
    let directory = directory(settings, member);
    let helps = "the operator has to set `members_dir`";
    if settings.is_guarded(&directory.join("file")) {
        let what = format!(
            "{} belongs to AgentX itself and is not accessible to tools; {helps}",
            directory.display()
        );
        tracing::error!("{what}");
        return Err(RuntimeError::Refused(
            "this server has no directory for its members; see the operator's log".into(),
        ));
    }
    private(&directory).map_err(|error| {
        tracing::error!(directory = %directory.display(), %error, "cannot create a member's directory; {helps}");
        RuntimeError::Refused("the server cannot create a directory for you; see the operator's log".into())
    })?;
    Ok(directory.to_string_lossy().into_owned())
}

fn private(directory: &Path) -> std::io::Result<()> {
    make_private_directory(directory)?;
    // A symbolic link there would lead elsewhere.
    if std::fs::symlink_metadata(directory)?.is_symlink() {
        return Err(std::io::Error::other("it is a symbolic link"));
    }
    #[cfg(unix)]
    std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// Returns the name of a person as one of a file: ids have letters, digits and `_`.
fn name_of(member: &OwnerId) -> String {
    let plain = |char: char| {
        if char.is_ascii_alphanumeric() || char == '_' || char == '-' {
            char
        } else {
            '_'
        }
    };
    member.as_str().chars().map(plain).collect()
}
