//! The severity of a command line: for the text of a question, and for the stars of a rule (`severity`).
//!
//! Rules read `DESTROYS` and `NETWORK`, so a change of these needs a new version of the rules. The other
//! lists are only for the text of a question.
//!
//! Grades are only shown; they decide nothing. They come from lists of the beginnings of commands, which are
//! compared with every command that the line may run, so `sudo rm` and `cd x && rm` are found like `rm`. A
//! command on no list has the lowest grade.

use crate::commands::command_analysis::read;

/// The worst effect of a command line, according to its words.
///
/// Grades are ordered: a later one is worse, so `max` gives the worst of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// A program without an entry in any list.
    Runs,
    /// A reversible change of files or of a repository.
    Changes,
    /// Network access: it may send or fetch data.
    Network,
    /// An irreversible deletion or overwrite.
    Destroys,
}

/// Beginnings of commands that permanently delete or overwrite something.
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

/// Further beginnings of commands that delete or overwrite, for the words of a question.
#[rustfmt::skip]
const ALSO_DESTROYS: &[&str] = &[
    "wipefs", "fdisk", "parted", "srm", "git stash drop", "git stash clear", "git reflog expire",
    "git reflog delete", "git push --delete", "git push -d", "git push --mirror", "git push --prune",
    "git update-ref -d", "git branch --delete", "git tag -d", "git tag --delete", "git filter-branch", "git gc",
    "git prune", "git rm", "git checkout -f", "git checkout --force", "git checkout .", "git switch --discard-changes",
    "dropdb", "helm uninstall", "helm delete", "docker rmi", "docker volume rm", "docker volume prune",
    "docker container prune", "docker image prune", "podman rm", "podman rmi", "pulumi destroy", "skill", "halt",
    "poweroff", "crontab -r", "userdel", "mkswap",
];

/// Further beginnings of commands that reach other machines, for the words of a question.
#[rustfmt::skip]
const ALSO_NETWORK: &[&str] = &[
    "telnet", "ncat", "netcat", "socat", "nmap", "dig", "nslookup", "host", "traceroute", "mosh", "ssh-copy-id",
    "rclone", "aria2c", "http", "https", "xh", "lftp", "mail", "sendmail", "git remote update", "git remote show",
    "git submodule update", "git submodule add", "git send-email", "git archive --remote", "git svn", "git lfs",
    "npm i", "npm add", "npm update", "npm exec", "npm audit", "yarn dlx", "pnpm add", "pnpm dlx", "pnpm i", "bun add",
    "bun install", "bunx", "deno install", "uvx", "uv add", "uv sync", "uv pip install", "uv tool", "pipx", "pip download",
    "pip3 download", "python -m pip", "python3 -m pip", "poetry add", "poetry install", "conda", "mamba",
    "cargo update", "cargo fetch", "cargo search", "cargo login", "rustup", "go get", "go install", "go mod download",
    "go mod tidy", "gem install", "gem push", "bundle install", "composer install", "composer require", "apk", "dnf",
    "yum", "pacman", "zypper", "snap", "flatpak", "docker run", "docker build", "docker login", "docker compose",
    "docker-compose", "podman pull", "podman push", "podman run", "helm", "terraform init", "terraform plan", "glab",
    "flyctl", "heroku", "vercel", "netlify", "psql -h", "mysql -h", "redis-cli -h", "ollama pull",
];

/// Beginnings of commands that change files or a repository, for the words of a question.
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    "touch", "mkdir", "mv", "cp", "ln", "install", "chmod", "chown", "chgrp", "tee", "patch", "tar -x", "tar x", "tar xf",
    "tar xzf", "unzip", "gunzip", "gzip", "git add", "git commit", "git merge", "git rebase", "git cherry-pick",
    "git revert", "git reset", "git stash", "git checkout", "git switch", "git branch", "git tag", "git mv", "git apply",
    "git am", "git init", "git config", "git worktree", "git update-index", "cargo fmt", "cargo fix", "gofmt -w",
    "rustfmt", "prettier --write", "black", "sponge",
];

/// Words of SQL that delete, behind the programs of databases.
const SQL: &[&str] = &["drop ", "truncate ", "delete from "];
const DATABASES: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "duckdb",
    "clickhouse-client",
    "mongosh",
];

fn begins(commands: &[String], starts: &[&str]) -> bool {
    commands.iter().any(|command| {
        starts.iter().any(|start| {
            let rest = command.strip_prefix(start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    })
}

/// Returns whether the words of a command mean that it deletes or overwrites, regardless of its program.
fn destroys_by_words(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let short = |letter: char| {
        rest.iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    match *program {
        "find" | "fd" => rest.contains(&"-delete"),
        "sed" | "gsed" => short('i') || rest.iter().any(|word| word.starts_with("--in-place")),
        "perl" | "ruby" => rest
            .iter()
            .any(|word| word.starts_with("-i") || word.starts_with("-pi")),
        "cp" => rest.first() == Some(&"/dev/null"),
        "rsync" => rest
            .iter()
            .any(|word| word.starts_with("--delete") || *word == "--remove-source-files"),
        "git" if rest.first() == Some(&"push") => {
            rest.iter().any(|word| {
                let is_option = ["--force", "--delete", "--mirror", "--prune"]
                    .iter()
                    .any(|option| word.starts_with(option));
                is_option || word.starts_with(['+', ':'])
            }) || short('f')
                || short('d')
        }
        database if DATABASES.contains(&database) => {
            let lower = command.to_lowercase();
            SQL.iter().any(|word| lower.contains(word))
        }
        _ => false,
    }
}

/// Returns whether a line empties a file: `: > a.txt`, `> a.txt`, `true > a.txt`.
fn empties_a_file(line: &str) -> bool {
    line.split(['\n', ';', '&', '|']).any(|part| {
        let part = part.trim_start();
        let rest = [":", "true", ""].into_iter().find_map(|start| {
            let rest = part.strip_prefix(start)?.trim_start().strip_prefix('>')?;
            (!rest.starts_with(['>', '&'])).then_some(rest)
        });
        rest.is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with("/dev/null"))
    })
}

/// The worst grade of all commands that may run in the line.
///
/// ```
/// use agentx_agent::command_severity::{Grade, of_command};
/// assert_eq!(of_command("cargo test"), Grade::Runs);
/// assert_eq!(of_command("touch a.txt"), Grade::Changes);
/// assert_eq!(of_command("cd x && sudo rm -r y"), Grade::Destroys);
/// assert_eq!(of_command("git -C x push origin"), Grade::Network);
/// ```
///
/// | line | grade |
/// | --- | --- |
/// | `ls`, `git log`, `find . -name a`, `sed -n p a` | `Runs` |
/// | `mv a b`, `git add a`, `chmod +x a` | `Changes` |
/// | `curl x`, `git push origin main`, `npm i x`, `docker run x` | `Network` |
/// | `rm a`, `find . -delete`, `sed -i s/a/b/ a.txt`, `> a.txt`, `git push origin +main` | `Destroys` |
/// | `psql -c "drop table x"` | `Destroys` |
pub fn of_command(line: &str) -> Grade {
    let commands = read(line).commands;
    let listed = of_commands(&commands);
    let destroys =
        begins(&commands, ALSO_DESTROYS) || commands.iter().any(|command| destroys_by_words(command));
    if listed == Grade::Destroys || destroys || empties_a_file(line) {
        Grade::Destroys
    } else if listed == Grade::Network || begins(&commands, ALSO_NETWORK) {
        Grade::Network
    } else if begins(&commands, CHANGES) {
        Grade::Changes
    } else {
        Grade::Runs
    }
}

/// The worst grade of the commands that may run in the line, by the lists that rules read. The records of a
/// session about a rule depend on this, so it ignores the other lists.
pub(crate) fn of_listed(line: &str) -> Grade {
    of_commands(&read(line).commands)
}

fn of_commands(commands: &[String]) -> Grade {
    if begins(commands, DESTROYS) {
        Grade::Destroys
    } else if begins(commands, NETWORK) {
        Grade::Network
    } else {
        Grade::Runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the grade of each of these lines.
    fn are(grade: Grade, lines: &[&str]) {
        for line in lines {
            assert_eq!(of_command(line), grade, "{line}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn commands_have_the_grade_of_their_worst_effect() {
        are(Grade::Destroys, &[
            "rm a", "sudo rm -r a", "find . -delete", ": > a.txt", "> a.txt", "cd x && true > a.txt",
            "sed -i s/a/b/ a.txt", "sed -n -i.bak p a.txt", "cp /dev/null a.txt", "git stash drop",
            "psql -c \"drop table x\"", "sqlite3 a.db \"DELETE FROM x\"", "git push --force-with-lease",
            "git push origin +main", "git push --delete origin a", "git push origin :a", "git push origin -f",
            "git reset --hard", "git branch -D a", "rsync -a --delete a b", "docker volume rm a", "dropdb a",
        ]);
        are(Grade::Network, &[
            "curl x", "docker run x", "telnet x", "go get x", "git remote update", "python3 -m pip install x", "uvx x",
            "git push origin main", "npm i x", "uv add x", "pipx run x", "cargo update", "gem install x",
        ]);
        are(Grade::Changes, &["touch a", "mv a b", "mkdir a", "cp a b", "chmod +x a", "git add a", "git commit -m a"]);
        are(Grade::Runs, &["cargo test", "ls", "sed -n p a", "find . -name a", "git log", "cargo test > /dev/null 2>&1"]);
    }
}
