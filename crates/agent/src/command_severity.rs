//! The gravity of a command line: for the words of a question, and for what the stars of a rule stand for
//! (`severity`).
//!
//! A grade forbids nothing. It is worked out from lists of the beginnings of commands, held against all that
//! the line may run, so `sudo rm` and `cd x && rm` are found like `rm`. A command that is on no list is the
//! least grave.

use crate::command_analysis::read;

/// The worst effect of a command line, as far as its words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// It runs a program, and is on no list.
    Runs,
    /// It reaches other machines: it may send something, or bring something here.
    Network,
    /// It deletes or overwrites what cannot be had back.
    Destroys,
}

/// Beginnings of commands that delete or overwrite what cannot be had back.
pub(crate) const DESTROYS: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "truncate",
    "dd",
    "mkfs",
    "git reset --hard",
    "git clean",
    "git push --force",
    "git push -f",
    "git branch -D",
    "git checkout --",
    "git restore",
    "kubectl delete",
    "terraform apply",
    "terraform destroy",
    "docker rm",
    "docker system prune",
    "kill",
    "killall",
    "pkill",
    "shutdown",
    "reboot",
];

/// Beginnings of commands that reach other machines.
pub(crate) const NETWORK: &[&str] = &[
    "curl",
    "wget",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "ftp",
    "nc",
    "ping",
    "git push",
    "git pull",
    "git fetch",
    "git clone",
    "git ls-remote",
    "npm install",
    "npm ci",
    "npm publish",
    "npx",
    "yarn add",
    "yarn install",
    "pnpm install",
    "pip install",
    "pip3 install",
    "cargo install",
    "cargo publish",
    "cargo add",
    "apt",
    "apt-get",
    "brew",
    "docker pull",
    "docker push",
    "gh",
    "aws",
    "gcloud",
    "az",
    "kubectl",
];

/// The worst of all that may run in the line.
///
/// ```
/// use agentx_agent::command_severity::{Grade, of_command};
/// assert_eq!(of_command("cargo test"), Grade::Runs);
/// assert_eq!(of_command("cd x && sudo rm -r y"), Grade::Destroys);
/// assert_eq!(of_command("git -C x push origin"), Grade::Network);
/// ```
pub fn of_command(line: &str) -> Grade {
    let commands = read(line).commands;
    let begins = |starts: &[&str]| {
        commands.iter().any(|command| {
            starts.iter().any(|start| {
                let rest = command.strip_prefix(start);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
        })
    };
    if begins(DESTROYS) {
        Grade::Destroys
    } else if begins(NETWORK) {
        Grade::Network
    } else {
        Grade::Runs
    }
}
