//! `agentx completions`: completion scripts for shells, made from the command line itself. Bash, zsh and fish
//! call `agentx complete` for ids of sessions, agents and models while a person types.

use clap::{Arg, Command, CommandFactory as _, ValueHint};
use clap_complete::Shell;

use crate::args::{Cli, CompletionsArgs};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;

/// Prints what a shell needs to complete commands.
pub(crate) fn run(args: &CompletionsArgs, console: &mut Console) -> Result<Exit, ChatError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), "agentx", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    console.out(&match args.shell {
        Shell::Bash => bash(&script),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script),
        _ => script,
    })?;
    Ok(Exit::Ok)
}

fn shown() -> Command {
    let root = Cli::command();
    let subs = root.get_subcommands().filter(|sub| !sub.is_hide_set());
    Command::new("agentx")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .args(root.get_arguments())
        .subcommands(subs)
}

/// A place on the command line for words that only the program knows.
struct CompletionSite {
    path: Vec<String>,
    flag: Option<String>,
    kind: &'static str,
}

fn places() -> Vec<CompletionSite> {
    let mut root = Cli::command();
    root.build();
    let mut found = Vec::new();
    places_of(&root, &mut Vec::new(), &mut found);
    found
}

fn places_of(command: &Command, path: &mut Vec<String>, found: &mut Vec<CompletionSite>) {
    for arg in command.get_arguments() {
        if let Some(kind) = kind_of(arg, path) {
            found.push(CompletionSite {
                path: path.clone(),
                flag: arg.get_long().map(str::to_owned),
                kind,
            });
        }
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        path.push(sub.get_name().to_owned());
        places_of(sub, path, found);
        path.pop();
    }
}

/// Returns the kind of an argument by its name; a name of an agent counts only below `agents`.
fn kind_of(arg: &Arg, path: &[String]) -> Option<&'static str> {
    if path.first().is_some_and(|first| first == "mirror") {
        // A session of another machine.
        return None;
    }
    match (arg.get_id().as_str(), arg.get_long()) {
        (_, Some("session" | "resume")) | ("id", None) => Some("sessions"),
        (_, Some("agent")) => Some("agents"),
        (_, Some("model")) => Some("models"),
        ("name", None) if *path == ["agents", "show"] => Some("agents"),
        ("name", None) if *path == ["tools", "show"] || *path == ["tools", "run"] => Some("tools"),
        ("key", None) if *path == ["config", "set"] => Some("settings"),
        ("topic" | "command", None) => Some("commands"),
        _ => None,
    }
}

/// The words that may follow a command without subcommands, besides ids and flags.
struct OperandWords {
    path: String,
    files: bool,
    choices: Vec<String>,
}

fn operand_words() -> Vec<OperandWords> {
    fn of(command: &Command, path: &str, found: &mut Vec<OperandWords>) {
        for sub in command.get_subcommands() {
            of(sub, format!("{path} {}", sub.get_name()).trim_start(), found);
        }
        if command.has_subcommands() {
            return;
        }
        let hints = [ValueHint::AnyPath, ValueHint::FilePath, ValueHint::DirPath];
        let values = command.get_positionals().flat_map(Arg::get_possible_values);
        found.push(OperandWords {
            path: path.to_owned(),
            files: command
                .get_positionals()
                .any(|arg| hints.contains(&arg.get_value_hint())),
            choices: values.map(|value| value.get_name().to_owned()).collect(),
        });
    }
    let mut root = shown();
    root.build();
    let mut found = Vec::new();
    of(&root, "", &mut found);
    found
}

/// Commands in front of what is not a flag, as a pattern: ` sessions show`.
fn paths_of<'a>(places: &'a [CompletionSite], kind: &'a str) -> impl Iterator<Item = String> + 'a {
    let here = places
        .iter()
        .filter(move |place| place.flag.is_none() && place.kind == kind);
    here.map(|place| place.path.join(" "))
}

const KINDS: [&str; 6] = ["sessions", "agents", "models", "tools", "settings", "commands"];

/// Flags with values that the parser's own scripts complete best: a format, a file, a number.
fn other_flags(known: &[String]) -> Vec<String> {
    fn of(command: &Command, found: &mut Vec<String>) {
        for arg in command
            .get_arguments()
            .filter(|arg| arg.get_action().takes_values())
        {
            found.extend(arg.get_long().map(|long| format!("--{long}")));
            found.extend(arg.get_short().map(|short| format!("-{short}")));
        }
        command.get_subcommands().for_each(|sub| of(sub, found));
    }
    let mut found = Vec::new();
    of(&shown(), &mut found);
    found.sort();
    found.dedup();
    found.retain(|flag| !known.contains(flag));
    found
}

fn flags_of(places: &[CompletionSite], kind: &str) -> Vec<String> {
    let here = places.iter().filter(|place| place.kind == kind);
    let mut flags: Vec<String> = here.filter_map(|place| place.flag.clone()).collect();
    flags.sort();
    flags.dedup();
    flags
}

fn before_files() -> String {
    let words = operand_words();
    let files = words.iter().filter(|words| words.files);
    let patterns: Vec<String> = files.map(|words| format!("\" {}\"*", words.path)).collect();
    patterns.join("|")
}

fn bash(script: &str) -> String {
    let places = places();
    let (mut flags, mut paths) = (String::new(), String::new());
    let mut known = Vec::new();
    for kind in KINDS {
        let flags_of_kind = flags_of(&places, kind);
        let mut long = Vec::from_iter(flags_of_kind.iter().map(|flag| format!("--{flag}")));
        if kind == "models" {
            long.push("-m".into());
        }
        if !long.is_empty() {
            flags.push_str(&format!("        {}) kind={kind} ;;\n", long.join("|")));
            known.append(&mut long);
        }
        let commands = Vec::from_iter(paths_of(&places, kind).map(|path| format!("\" {path}\"")));
        if !commands.is_empty() {
            paths.push_str(&format!("            {}) kind={kind} ;;\n", commands.join("|")));
        }
    }
    flags.push_str(&format!(
        "        {}) kind=value ;;\n",
        other_flags(&known).join("|")
    ));
    let files = before_files();
    format!(
        r#"{script}
# Ids of sessions, agents and models come from the program.
_agentx_known() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" kind="" path="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ "$word" == -* ]] || path="$path $word"
    done
    case "$prev" in
{flags}        *) case "$path" in
{paths}        esac ;;
    esac
    if [[ "$kind" == value ]]; then
        _agentx "$@"
        return
    fi
    if [[ -n "$kind" && "$cur" != -* ]]; then
        compopt +o default +o bashdefault 2>/dev/null
        # Take words literally: `compgen -W` would expand them.
        COMPREPLY=()
        while IFS=$'\t' read -r word _; do
            [[ "$word" == "$cur"* ]] || continue
            printf -v word %q "$word"
            COMPREPLY+=("$word")
        done < <(agentx complete "$kind" 2>/dev/null)
        return 0
    fi
    _agentx "$@"
    [[ "$cur" == -* ]] && return
    # Offer flags after a dash, files where a file is expected.
    local found=()
    for word in "${{COMPREPLY[@]}}"; do
        [[ "$word" == -* ]] || found+=("$word")
    done
    COMPREPLY=("${{found[@]}}")
    case "$path" in
        {files}) ;;
        *) compopt +o default +o bashdefault 2>/dev/null ;;
    esac
    return 0
}}
complete -F _agentx_known -o bashdefault -o default agentx
"#
    )
}

fn zsh(script: &str) -> String {
    let mut out = String::with_capacity(script.len() + 1_000);
    for line in script.lines() {
        let is_about = |names: &[&str]| names.iter().any(|name| line.trim_start().starts_with(name));
        let line = if is_about(&["'--session=", "'--resume=", "':id ", "'::id "]) {
            line.replace(":_default'", ":_agentx_sessions'")
        } else if is_about(&["'--agent="]) {
            line.replace(":_default'", ":_agentx_agents'")
        } else if is_about(&["'-m+", "'--model="]) {
            line.replace(":_default'", ":_agentx_models'")
        } else if is_about(&["':key "]) {
            line.replace(":_default'", ":_agentx_settings'")
        } else if is_about(&["'*::command ", "'*::topic "]) {
            line.replace(":_default'", ":_agentx_commands'")
        } else {
            // Free text: there is nothing to offer, and zsh would offer system commands by default.
            line.replace(":_default'", ": '")
        };
        out.push_str(&line);
        out.push('\n');
    }
    // Put the functions before the line with which the script runs itself.
    let mut asking = String::new();
    for kind in KINDS {
        asking.push_str(&format!(
            "_agentx_{kind}() {{\n    local -a found\n    \
             found=(\"${{(@f)$(agentx complete {kind} 2>/dev/null | sed 's/:/\\\\:/g; s/\\t/:/')}}\")\n    \
             _describe -V '{kind}' found\n}}\n\n"
        ));
    }
    match out.find("if [ \"$funcstack[1]\" = \"_agentx\" ]") {
        Some(at) => format!("{}{asking}{}", &out[..at], &out[at..]),
        None => out + &asking,
    }
}

fn fish(script: &str) -> String {
    let places = places();
    let mut out = format!("{script}\n# Complete files only where a file is expected.\n");
    for words in operand_words().iter().filter(|words| !words.files) {
        let what = if words.choices.is_empty() {
            "-f".to_owned()
        } else {
            format!("-f -a '{}'", words.choices.join(" "))
        };
        out.push_str(&format!(
            "complete -c agentx -n '{}' {what}\n",
            fish_condition(&words.path)
        ));
    }
    out.push_str("# Ids of sessions, agents and models come from the program.\n");
    for kind in KINDS {
        for flag in flags_of(&places, kind) {
            let short = if flag == "model" { " -s m" } else { "" };
            out.push_str(&format!(
                "complete -c agentx{short} -l {flag} -x -a '(agentx complete {kind} 2>/dev/null)'\n"
            ));
        }
        for path in paths_of(&places, kind) {
            out.push_str(&format!(
                "complete -c agentx -n '{}' -f -a '(agentx complete {kind} 2>/dev/null)'\n",
                fish_condition(&path)
            ));
        }
    }
    out
}

/// Returns fish's condition for a position behind these commands.
fn fish_condition(path: &str) -> String {
    let mut words = path.split(' ');
    let mut when = format!(
        "__fish_agentx_using_subcommand {}",
        words.next().unwrap_or_default()
    );
    for word in words {
        when.push_str(&format!("; and __fish_seen_subcommand_from {word}"));
    }
    when
}
