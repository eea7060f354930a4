//! `agentx sandbox doctor`: says for each step whether it works on this machine, and what to do if it does
//! not.

use agentx::config::Settings;
use agentx::sandbox::{SandboxLauncher, diagnose};
use serde_json::json;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::terminal::console::Console;

/// Reports the findings. The exit code is that of the configuration if commands do not run because of them.
pub(super) fn report(
    launcher: &SandboxLauncher,
    settings: &Settings,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let findings = diagnose(&launcher.support(), &launcher.limits_support());
    let step = launcher.step_in(&settings.workspace);
    let exit = if step.is_ok() { Exit::Ok } else { Exit::Config };
    if as_json {
        let list = findings.iter().map(|finding| {
            json!({
                "name": finding.name,
                "works": finding.works,
                "found": finding.found,
                "advice": finding.advice,
            })
        });
        let list: Vec<_> = list.collect();
        let error = step.as_ref().err().map(ToString::to_string);
        console.out_pretty(&json!({ "findings": list, "step": step.ok(), "error": error }))?;
        return Ok(exit);
    }
    let mut text = String::new();
    for finding in &findings {
        let sign = if finding.works { "ok " } else { "no " };
        text.push_str(&format!(
            "{sign} {:<10} {}\n",
            finding.name,
            visible(&finding.found)
        ));
        for advice in &finding.advice {
            text.push_str(&format!("{:14}\u{2192} {}\n", "", visible(advice)));
        }
    }
    match &step {
        Ok(step) => text.push_str(&format!("\ncommands here would run in the step `{step}`\n")),
        Err(error) => text.push_str(&format!("\n{error}\n")),
    }
    console.out(&text)?;
    Ok(exit)
}
