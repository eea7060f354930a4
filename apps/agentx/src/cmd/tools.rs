//! `agentx tools`: what an agent can do here, and what each tool touches.

use agentx::runtime::Runtime;
use agentx::types::Access;

use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::table::table;

/// Lists the tools.
pub(crate) fn run(runtime: &dyn Runtime, json: bool, console: &mut Console) -> Result<Exit, CliError> {
    let tools = runtime.tools();
    if json {
        console.out_pretty(&tools)?;
        return Ok(Exit::Ok);
    }
    let mut rows = vec![["TOOL", "TOUCHES", "DOES"].map(str::to_owned).to_vec()];
    for tool in &tools {
        let touches = match tool.access {
            Access::Internal => "nothing",
            Access::Read => "reads files",
            Access::Change => "changes files",
            Access::Run => "runs programs",
        };
        let first = tool.description.lines().next().unwrap_or_default();
        rows.push(vec![tool.name.clone(), touches.into(), first.to_owned()]);
    }
    console.out(&table(&rows, console.terminal.width))?;
    Ok(Exit::Ok)
}
