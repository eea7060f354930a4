//! `agentx doctor`: looks for problems, and says how to fix them.

use serde_json::json;

use crate::args::{AgentArgs, DoctorArgs, Global};
use crate::cmd::block_on;
use crate::console::Console;
use crate::doctor::{Level, of_configuration, of_data, of_machine, of_settings, render};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::start;

/// Runs all checks.
pub(crate) fn run(args: &DoctorArgs, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    let loaded = start::settings(global, &AgentArgs::default());
    let mut checks = vec![of_configuration(loaded.as_ref())];
    match &loaded.or_else(|_| start::settings_to_look(global)) {
        Ok(loaded) => checks.extend(block_on(async { Ok(of_settings(loaded, args.offline).await) })?),
        // Without settings, check the data directory of the command line, or the default one.
        Err(_) => {
            let default = || start::places(global).ok().map(|places| places.data_dir);
            if let Some(data_dir) = global.data.clone().or_else(default) {
                checks.extend(of_data(&data_dir));
            }
        }
    }
    checks.extend(of_machine(&console.terminal));
    let worst = checks.iter().map(|check| check.level).max().unwrap_or(Level::Ok);
    if global.json {
        console.out_pretty(&json!({ "worst": worst, "checks": checks }))?;
    } else {
        console.out(&render(&checks, console))?;
    }
    let first_bad = checks.iter().find(|check| check.level == Level::Bad);
    Ok(first_bad.map_or(Exit::Ok, |check| check.exit))
}
