//! `agentx approvals`: lists rules, tests a call against them, and tries a new rule on past calls.

use agentx::config::{
    Loaded, WrittenRule, add_rule, nearest, parse_effect, parse_rule, rule_path, show_rule,
};
use agentx::history::try_rule;
use agentx::runtime::{Delivery, SessionFold, View, names_a_tool};
use agentx::types::{AgentConfig, Rule, RuleEffect, ToolSpec};
use serde_json::{Value, json};

use crate::args::{AddRuleArgs, ApprovalsCommand, Global, TrialArgs};
use crate::cmd::{only_here, with_runtime};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::rules::{
    TestedCall, check_matches, no_rule, origin_in_words, overrule, print_sandbox_trial, print_score,
    remove_from_file, render, sessions_to_read, trial_table,
};
use crate::session_opening::{self, CommandLineOverrides};
use crate::start::SettingsRead::All;

/// Does what was asked for.
pub(crate) fn run(
    command: ApprovalsCommand,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    match command {
        ApprovalsCommand::Add(_) => only_here("approvals add", global)?,
        ApprovalsCommand::Remove { .. } => only_here("approvals remove", global)?,
        _ => {}
    }
    let json = global.json;
    with_runtime(All, global, console, async |place, loaded, console| {
        match &command {
            ApprovalsCommand::List { session } => {
                let config = config_of(place, loaded, session.as_deref()).await?;
                list(&config, loaded, json, console)?;
            }
            ApprovalsCommand::Test {
                call,
                command,
                session,
            } => {
                let call = match command {
                    Some(command) => format!("{call}: {command}"),
                    None => call.clone(),
                };
                let config = config_of(place, loaded, session.as_deref()).await?;
                let is_here = place.remote().is_none();
                let tested = TestedCall::new(&config, &call, is_here)?;
                tested.print(|rule| from(loaded, rule), json, console)?;
            }
            ApprovalsCommand::Add(args) => add(&place.runtime().tools(), loaded, args, console)?,
            ApprovalsCommand::Remove { number } => remove(loaded, *number, console)?,
            ApprovalsCommand::Replay(args) if args.sandbox => {
                if place.remote().is_some() {
                    let message = "`--sandbox` needs the folders of the sessions, which are at the server";
                    return Err(ChatError::usage(
                        message,
                        "run it there, or with `--connect local`",
                    ));
                }
                print_sandbox_trial(place.runtime(), &loaded.settings, args, json, console).await?;
            }
            ApprovalsCommand::Replay(args) => trial(place, args, json, console).await?,
            ApprovalsCommand::Score(args) => print_score(place.runtime(), args, json, console).await?,
            ApprovalsCommand::Overrule(args) => overrule(place.runtime(), args, json, console).await?,
        }
        Ok(Exit::Ok)
    })
}

async fn config_of(
    place: &CommandTarget,
    loaded: &Loaded,
    session: Option<&str>,
) -> Result<AgentConfig, ChatError> {
    let Some(session) = session else {
        let agent =
            session_opening::new_agent(place, &loaded.settings, &CommandLineOverrides::default()).await?;
        return Ok(*agent.config);
    };
    let runtime = place.runtime();
    let id = runtime.resolve(session).await?;
    let mut events = runtime.watch(&id, 0, View::Environment, false).await?;
    let mut fold = SessionFold::new(id.clone());
    while let Some(Delivery::Environment(fact)) = events.next().await {
        fold.advance(&fact);
    }
    match fold.root_agent() {
        Some(agent) => Ok(AgentConfig::clone(agent.config())),
        None => Err(ChatError::usage(
            format!("the session {id} has no agent"),
            "`agentx sessions list` shows other sessions",
        )),
    }
}

fn from(loaded: &Loaded, rule: &Rule) -> String {
    let configured = configured_rule(loaded, rule).map(|(_, written)| origin_in_words(&written.origin));
    configured.unwrap_or_else(|| "the session".to_owned())
}

/// Finds the rule of the configuration that equals this rule of an agent, with its index. A rule for a folder
/// that is gone does not count.
fn configured_rule<'a>(loaded: &'a Loaded, rule: &Rule) -> Option<(usize, &'a WrittenRule)> {
    let is_it =
        |written: &&WrittenRule| written.value == *rule && !written.is_of_another_folder(&loaded.trust_dir);
    let mut rules = loaded.merged.rules().iter().enumerate();
    rules.find(|(_, written)| is_it(written))
}

/// Returns notes about rules for a folder that is no longer at its path: they apply nowhere.
pub(crate) fn holding_nowhere(loaded: &Loaded) -> String {
    let rules = loaded.merged.rules().iter().enumerate();
    rules
        .filter(|(_, rule)| rule.is_of_another_folder(&loaded.trust_dir))
        .map(|(index, rule)| {
            format!(
                "note: {} belongs to another folder and no longer applies anywhere ({}); `agentx approvals remove {}` removes it\n",
                visible(&show_rule(&rule.value)),
                rule.origin,
                index + 1
            )
        })
        .collect()
}

/// Returns the number of a rule for `remove`: its place in the configuration. A rule of a session has none.
fn number_of(loaded: &Loaded, rule: &Rule) -> Option<usize> {
    configured_rule(loaded, rule).map(|(index, _)| index + 1)
}

fn list(
    config: &AgentConfig,
    loaded: &Loaded,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    if !as_json {
        let number = |_, rule: &Rule| number_of(loaded, rule);
        let width = console.terminal.width;
        let width = if console.terminal.output {
            width
        } else {
            usize::MAX
        };
        console.out(&render(config, number, |rule| from(loaded, rule), width))?;
        console.say(&holding_nowhere(loaded));
        return Ok(());
    }
    let rules: Vec<Value> = config
        .rules
        .iter()
        .map(|rule| json!({"number": number_of(loaded, rule), "rule": rule, "from": from(loaded, rule)}))
        .collect();
    console.out_pretty(&json!({"rules": rules, "approval": config.approval}))
}

fn add(
    tools: &[ToolSpec],
    loaded: &Loaded,
    args: &AddRuleArgs,
    console: &mut Console,
) -> Result<(), ChatError> {
    let effect = parse_effect(&args.effect)
        .map_err(|what| ChatError::usage(what, "`agentx approvals add deny bash --argument 'git push *'`"))?;
    if !names_a_tool(&args.tool, tools) {
        let hint = near_tools(&args.tool, tools);
        return Err(ChatError::usage(
            format!("there is no tool {:?}", args.tool),
            hint,
        ));
    }
    if let Some(pattern) = args
        .command
        .as_ref()
        .filter(|_| !matches!(&*args.tool, "bash" | "mcp"))
    {
        let message = format!("{pattern:?} matches neither a path nor an argument yet");
        let hint =
            format!("say which one: --path '{pattern}', or --argument '{pattern}' for the arguments as JSON");
        return Err(ChatError::usage(message, hint));
    }
    let base = Some(loaded.settings.workspace.as_path());
    let path = args.path.as_deref().map(|path| rule_path(path, base)).transpose();
    let rule = Rule {
        workspace: args
            .here
            .then(|| loaded.settings.workspace.to_string_lossy().into_owned()),
        effect,
        tool: args.tool.clone(),
        argument: args.argument.clone().or_else(|| args.command.clone()),
        path: path.map_err(|what| ChatError::usage(what, "see docs/CONFIG.md, Rules"))?,
        origin: None,
    };
    check_matches(&rule, tools)?;
    let file = &loaded.settings.user_file;
    // A rule of one folder says so itself.
    let place = if args.here { "" } else { ", in every folder" };
    let words = format!("{}{place}", visible(&show_rule(&rule)));
    if add_rule(file, &rule)? {
        console.out(&format!("added to {}: {words}\n", file.display()))?
    } else {
        console.out(&format!("{} already has it: {words}\n", file.display()))?
    }
    if rule.effect == RuleEffect::Allow && rule.argument.is_none() && rule.path.is_none() {
        console.say(&note_of_everything(&rule.tool, args.here));
    }
    Ok(())
}

/// Returns the warning about a rule that allows all arguments of a tool: the pattern may have been forgotten.
fn note_of_everything(tool: &str, here: bool) -> String {
    let place = if here { "in this folder" } else { "in every folder" };
    let (calls, pattern) = match tool {
        "bash" => ("every command".to_owned(), "bash 'git status'".to_owned()),
        "*" => (
            "every call of every tool".to_owned(),
            "read --path 'docs/**'".to_owned(),
        ),
        tool => (
            format!("every call of {}", visible(tool)),
            format!("{} --path 'docs/**'", visible(tool)),
        ),
    };
    format!(
        "note: this allows {calls}, {place}. `agentx approvals list` shows its number, and `agentx approvals \
         remove N` removes it; add a pattern to narrow the rule, as in `agentx approvals add allow \
         {pattern}`\n"
    )
}

fn near_tools(name: &str, tools: &[ToolSpec]) -> String {
    let near = nearest(name, tools.iter().map(|tool| tool.name.as_str()), 3);
    if near.is_empty() {
        "`agentx tools` lists them".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    }
}

fn remove(loaded: &Loaded, number: usize, console: &mut Console) -> Result<(), ChatError> {
    let rules = loaded.merged.rules();
    match number.checked_sub(1).and_then(|index| rules.get(index)) {
        Some(rule) => console.out(&remove_from_file(&rule.value, &rule.origin)?),
        None => Err(no_rule(number, rules.len())),
    }
}

async fn trial(
    place: &CommandTarget,
    args: &TrialArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let rule = parse_rule(args.rule.as_deref().unwrap_or_default())
        .map_err(|what| ChatError::usage(what, "--rule 'deny bash: git push*' or 'allow edit in src/**'"))?;
    let runtime = place.runtime();
    let tools = runtime.tools();
    if !names_a_tool(rule.tool_name(), &tools) {
        let note = format!(
            "note: there is no tool {:?} here; {}\n",
            visible(&rule.tool),
            near_tools(&rule.tool, &tools)
        );
        console.say(&note);
    }
    let sessions = sessions_to_read(runtime, args.session.as_deref(), args.sessions, console).await?;
    let mut reports = Vec::new();
    for session in &sessions {
        reports.push(try_rule(runtime, session, &rule).await?);
    }
    if as_json {
        for report in &mut reports {
            report.changes.truncate(args.limit);
        }
        return console.out_pretty(&json!({"rule": rule, "sessions": reports}));
    }
    console.out(&trial_table(&rule, &reports, args.limit, console.out_width()))
}
