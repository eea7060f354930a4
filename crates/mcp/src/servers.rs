//! All configured MCP servers. Tool names are made unique across servers.

use std::time::Duration;

use agentx_config::Settings;
use agentx_tools::ProgramEnvironment;
use agentx_types::ToolSpec;

use crate::environment::McpEnvironment;
use crate::host::McpLaunchContext;
use crate::known_servers::KnownServers;
use crate::limits::McpLimits;

/// The folder in the data directory with the cached descriptions of servers.
const FOLDER: &str = "mcp";

/// The cached descriptions in the data directory.
fn known_servers(settings: &Settings) -> KnownServers {
    KnownServers::in_directory(settings.data_dir.join(FOLDER))
}

/// All servers of the settings, none of them started.
#[derive(Clone, Default)]
pub struct McpServers(Vec<McpEnvironment>);

impl McpServers {
    /// Creates the servers of the settings. `environment` has the variables that programs get, `taken` the
    /// names of other tools.
    pub fn of(
        settings: &Settings,
        environment: &ProgramEnvironment,
        taken: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut taken: Vec<String> = taken.into_iter().collect();
        let usual = McpLimits::default();
        let surroundings = McpLaunchContext {
            known: known_servers(settings),
            environment: environment.clone(),
            limits: McpLimits {
                call: settings
                    .tools
                    .timeout_ms
                    .map_or(usual.call, Duration::from_millis),
                result_bytes: settings
                    .tools
                    .max_output_bytes
                    .map_or(usual.result_bytes, |bytes| {
                        usize::try_from(bytes).unwrap_or(usize::MAX)
                    }),
                ..usual
            },
        };
        let environments = settings.mcp.iter().map(|server| {
            let (tools, asking) = (settings.tools.clone(), settings.tools.clone());
            let environment =
                McpEnvironment::new(server.clone(), surroundings.clone(), taken.iter().cloned())
                    .filtered(move |name| tools.offers(name))
                    .asking_about_unknown(move |name| asking.asks_unknown(name));
            taken.extend(environment.names());
            environment
        });
        Self(environments.collect())
    }

    /// Returns the names of the servers in the settings whose tools are not known yet.
    pub fn unknown(settings: &Settings) -> Vec<&str> {
        let known = known_servers(settings);
        let unknown = settings.mcp.iter().filter(|server| !known.knows(server));
        unknown.map(|server| &*server.name).collect()
    }

    /// The same servers beside these tools, whose names none of theirs takes. Both share what is known of
    /// each server, which is read only once.
    #[must_use]
    pub fn renamed_against(&self, tools: &[ToolSpec]) -> Self {
        let mut taken: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        let environments = self.0.iter().map(|known| {
            let environment = known.with_taken_names(taken.iter().cloned());
            taken.extend(environment.names());
            environment
        });
        Self(environments.collect())
    }

    /// Returns the tools of all servers, as far as they are known.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().flat_map(McpEnvironment::specs).collect()
    }

    /// Iterates over the servers.
    pub fn iter(&self) -> impl Iterator<Item = &McpEnvironment> {
        self.0.iter()
    }
}
