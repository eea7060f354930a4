//! Bounds on the nesting of configurations.
//!
//! The log reads JSON back up to a depth of 128, and must not write anything that it cannot read back. A
//! configuration is inside an event, and configurations of agents are inside that of the agent that may
//! create them; so both the levels of agents and the JSON are bounded, well below 128. This is checked before
//! a session is opened or an agent is created.

use std::io::{self, Write};

use agentx_types::AgentConfig;
use serde::Serialize;

/// The most levels of agents in a configuration: the agent itself, those that it may make, those that they
/// may make.
pub const MOST_LEVELS: usize = 8;
/// The deepest nesting of a configuration as JSON, including its parts such as the schemas of tools.
pub const MOST_DEPTH: usize = 64;

/// Checks the nesting depth of a configuration.
///
/// # Errors
/// Returns an error that names the part that is too deep, and the maximum depth.
///
/// # Examples
/// ```
/// use agentx_agent::{MOST_LEVELS, check_depth, fixtures};
///
/// let mut config = fixtures::config();
/// assert_eq!(check_depth(&config), Ok(()));
/// for _ in 0..MOST_LEVELS {
///     let mut above = fixtures::config();
///     above.agents = vec![config];
///     config = above;
/// }
/// assert!(check_depth(&config).unwrap_err().contains("8 levels"));
/// ```
pub fn check_depth(config: &AgentConfig) -> Result<(), String> {
    let mut waiting = vec![(config, 1)];
    while let Some((agent, level)) = waiting.pop() {
        if level > MOST_LEVELS {
            return Err(format!(
                "the configuration nests agents in more than {MOST_LEVELS} levels (`agents` in `agents`, and in `routing`): let one agent make the others"
            ));
        }
        waiting.extend(child_configs(agent).map(|agent| (agent, level + 1)));
    }
    if is_deeper(config, MOST_DEPTH) {
        Err(format!(
            "the configuration nests deeper than {MOST_DEPTH} levels of JSON: make schemas of tools, or agents in agents, flatter"
        ))
    } else {
        Ok(())
    }
}

/// The agents that an agent may create, or that its routes give inputs to.
fn child_configs(agent: &AgentConfig) -> impl Iterator<Item = &AgentConfig> {
    let routed = agent.routing.iter().flat_map(|routing| {
        let routes = routing.routes.iter().map(|route| &route.agent);
        routes.chain(routing.default.as_deref())
    });
    agent.agents.iter().chain(routed)
}

/// Returns whether `value` nests deeper than `most` as JSON. The JSON is not kept.
fn is_deeper(value: &impl Serialize, most: usize) -> bool {
    let measure = Measure {
        most,
        depth: 0,
        in_text: false,
        is_escaped: false,
    };
    serde_json::to_writer(measure, value).is_err()
}

/// Measures how deep the JSON nests that is written to it; JSON that is too deep is an error, so that writing
/// ends there.
struct Measure {
    /// The depth that is allowed.
    most: usize,
    /// The number of open brackets.
    depth: usize,
    /// Whether the next byte is inside a string, where brackets do not count.
    in_text: bool,
    /// Whether the byte before was a backslash in a text.
    is_escaped: bool,
}

impl Measure {
    /// Reads the next byte of JSON.
    fn take(&mut self, byte: u8) {
        match (self.in_text, byte) {
            (true, _) if self.is_escaped => self.is_escaped = false,
            (true, b'\\') => self.is_escaped = true,
            (_, b'"') => self.in_text = !self.in_text,
            (false, b'{' | b'[') => self.depth += 1,
            (false, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.take(*byte);
            if self.depth > self.most {
                return Err(io::Error::other("too deep"));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixtures;

    fn nested(levels: usize) -> AgentConfig {
        let mut config = fixtures::config();
        for _ in 1..levels {
            let mut outer = fixtures::config();
            outer.agents = vec![config];
            config = outer;
        }
        config
    }

    fn with_schema(depth: usize) -> AgentConfig {
        let deep = (1..depth).fold(json!({}), |inner, _| json!({ "a\\\"[": inner }));
        let mut config = fixtures::config();
        let mut tools = config.tools.to_vec();
        tools[0].input_schema = deep;
        config.tools = tools.into();
        config
    }

    #[test]
    fn agents_nest_in_eight_levels_and_json_in_sixty_four() {
        assert_eq!(check_depth(&nested(MOST_LEVELS)), Ok(()));
        let refused = check_depth(&nested(MOST_LEVELS + 1)).unwrap_err();
        assert!(refused.contains("8 levels"), "{refused}");
        // The configuration, its tools, and the tool are levels, too.
        assert_eq!(check_depth(&with_schema(MOST_DEPTH - 3)), Ok(()));
        let refused = check_depth(&with_schema(MOST_DEPTH - 2)).unwrap_err();
        assert!(refused.contains("64 levels"), "{refused}");
    }

    #[test]
    fn what_is_let_through_can_be_read_back() {
        for config in [nested(MOST_LEVELS), with_schema(MOST_DEPTH - 3)] {
            let kept = json!({"facts": [{"event": {"session_opened": {"config": config}}}]}).to_string();
            assert!(serde_json::from_str::<Value>(&kept).is_ok());
        }
    }
}
