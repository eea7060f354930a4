//! Tokens with which other programs of a person use `/mcp` of a server: made, listed and taken back.

use std::sync::Arc;
use std::time::Duration;

use agentx::remote::{RemoteRuntime, ServerEndpoint};
use agentx::runtime::{Clock as _, SystemClock};
use serde_json::json;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

/// An operation on a person's tokens.
#[derive(Clone, Copy, Debug)]
pub enum McpTokenWork<'a> {
    /// Makes a token for the program of this name, with this lifetime.
    Make(&'a str, Duration),
    /// Lists the tokens.
    List,
    /// Revokes the token with this id.
    Revoke(&'a str),
}

/// Does it at the server `place`.
///
/// # Errors
/// Returns an error if the server refuses, a new token would be sent over plain HTTP, or the output cannot be
/// written.
pub async fn do_at(
    place: &Place,
    allow_plain_http: &[String],
    work: McpTokenWork<'_>,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let Some(server) = place.remote() else {
        return Err(ChatError::usage(
            "only a server has tokens for /mcp",
            "name its address",
        ));
    };
    match work {
        McpTokenWork::Make(name, lifetime) => {
            check_way(server.endpoint(), allow_plain_http)?;
            make(server, name, lifetime, json, console).await?;
        }
        McpTokenWork::List => list(server, json, console).await?,
        McpTokenWork::Revoke(id) => {
            server.revoke_mcp_token(id).await?;
            console.say(&format!("the token {} is taken back\n", visible(id)));
        }
    }
    Ok(Exit::Ok)
}

/// Refuses an address to which a program would send its token so that others on the way can read it.
fn check_way(server: &ServerEndpoint, allow_plain_http: &[String]) -> Result<(), ChatError> {
    let place = server.host_and_port();
    let is_same = |allowed: &String| {
        ServerEndpoint::parse(allowed).is_ok_and(|allowed| allowed.host_and_port() == place)
    };
    let is_private = server.to_string().starts_with("https://") || place.starts_with("localhost:");
    if is_private || allow_plain_http.iter().any(is_same) {
        return Ok(());
    }
    Err(ChatError::usage(
        format!("other programs would send the token to {server} over plain HTTP, where others can read it"),
        format!(
            "name an https address of the server, or the local end of a tunnel to it; \
             `agentx config set allow_plain_http {place}` allows it all the same"
        ),
    ))
}

async fn make(
    server: &Arc<RemoteRuntime>,
    name: &str,
    lifetime: Duration,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let made = server.make_mcp_token(name, lifetime).await?;
    let url = format!("{}/mcp", server.endpoint());
    if json {
        let token = json!({"id": made.id, "name": name, "token": made.token, "url": url, "expires_at_ms": made.expires_at_ms});
        return console.out_pretty(&token);
    }
    console.out(&format!("{}\n", made.token))?;
    console.say(&lines_for_programs(&url, &made.id, server.endpoint()));
    Ok(())
}

/// The lines for the settings of other programs. They name a variable, so that the token is in no file that
/// is shared.
fn lines_for_programs(url: &str, id: &str, server: &ServerEndpoint) -> String {
    format!(
        "\nThe token is shown once. It opens /mcp of this server as you, and nothing else. Set it as AGENTX_MCP_TOKEN.\n\n\
         Claude Code, in .mcp.json:\n  {claude}\n\n\
         codex, in ~/.codex/config.toml:\n  [mcp_servers.agentx]\n  url = \"{url}\"\n  \
         bearer_token_env_var = \"AGENTX_MCP_TOKEN\"\n\n\
         VS Code, in .vscode/mcp.json:\n  {code}\n\n\
         to take it back: agentx mcp token {server} --revoke {id}\n",
        id = visible(id),
        claude = json!({"mcpServers": {"agentx": {
            "type": "http", "url": url, "headers": {"Authorization": "Bearer ${AGENTX_MCP_TOKEN}"},
        }}}),
        code = json!({
            "inputs": [{"type": "promptString", "id": "agentx", "description": "Token of AgentX", "password": true}],
            "servers": {"agentx": {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:agentx}"}}},
        }),
    )
}

async fn list(server: &Arc<RemoteRuntime>, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let tokens = server.mcp_tokens().await?;
    if json {
        let entry = |token: &agentx::remote::ListedMcpToken| {
            json!({
                "id": token.id, "name": token.name, "made_at_ms": token.made_at_ms, "expires_at_ms": token.expires_at_ms,
            })
        };
        return console.out_pretty(&tokens.iter().map(entry).collect::<Vec<_>>());
    }
    if tokens.is_empty() {
        console.say(&format!("you have no tokens for {}/mcp\n", server.endpoint()));
        return Ok(());
    }
    let now = SystemClock.now().unix_millis();
    let mut rows = vec![["ID", "PROGRAM", "EXPIRES IN"].map(str::to_owned).to_vec()];
    rows.extend(tokens.iter().map(|token| {
        let left = token.expires_at_ms.saturating_sub(now);
        vec![visible(&token.id), visible(&token.name), units::duration(left)]
    }));
    console.out(&table(&rows, console.out_width()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_only_where_others_cannot_read_it() {
        let server = |address: &str| ServerEndpoint::parse(address).unwrap();
        for private in [
            "https://agents.example",
            "http://127.0.0.1:5200",
            "http://localhost:5200",
        ] {
            assert!(check_way(&server(private), &[]).is_ok(), "{private}");
        }
        let open = server("http://agents.example:5200");
        let refused = check_way(&open, &[]).unwrap_err().to_string();
        assert!(refused.contains("plain HTTP"), "{refused}");
        let allowed = ["agents.example:5200".to_owned()];
        assert!(check_way(&open, &allowed).is_ok());
    }

    #[test]
    fn the_lines_for_other_programs_name_the_variable_of_the_token() {
        let server = ServerEndpoint::parse("http://127.0.0.1:5200").unwrap();
        let lines = lines_for_programs("http://127.0.0.1:5200/mcp", "tok_1", &server);
        assert!(lines.contains("\"Bearer ${AGENTX_MCP_TOKEN}\""), "{lines}");
        assert!(
            lines.contains("bearer_token_env_var = \"AGENTX_MCP_TOKEN\""),
            "{lines}"
        );
        assert!(
            lines.contains("agentx mcp token http://127.0.0.1:5200 --revoke tok_1"),
            "{lines}"
        );
    }
}
