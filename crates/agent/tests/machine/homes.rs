//! Rules about files below a home directory that does not look like one: that of a container or a service.

use std::sync::Arc;

use agentx_agent::approval::covers;
use agentx_agent::search_scopes::PlaceRules;
use agentx_types::*;
use serde_json::json;

use crate::rules::rule;
use crate::secrets::{guarded, word};

/// A made-up home, which a pattern of `/home/NAME` does not fit.
const HOME: &str = "/data/service";

fn at_home(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let mut config = guarded(mode, rules);
    let guard = config.guard.as_mut().unwrap();
    let own = format!("{HOME}/.local/share/agentx/**");
    let guard = Arc::make_mut(guard);
    guard.homes = vec![HOME.to_owned(), "/real/service".to_owned()];
    guard.own.push(own);
    config
}

#[test]
fn a_rule_below_the_home_is_about_the_absolute_path_too() {
    for rule in ["deny * in ~/secret/**", "ask * in ~/secret/**"] {
        let config = at_home(ApprovalMode::Auto, &[rule]);
        let wanted = rule.split(' ').next().unwrap();
        for file in [
            "~/secret/x",
            "/data/service/secret/x",
            "/data/service/a/../secret/x",
            "/real/service/secret/x",
        ] {
            assert_eq!(word(&config, "look", json!({ "path": file })), wanted, "{file}");
        }
        for line in [
            "cat ~/secret/x",
            "cat $HOME/secret/x",
            "cat /data/service/secret/x",
            "cat /data/service/secr{et,x}/x",
            "cd /data/service && cat secret/x",
            "wc -l < /real/service/secret/x",
        ] {
            assert_eq!(
                word(&config, "bash", json!({ "command": line })),
                wanted,
                "{line}"
            );
        }
        for line in ["grep -r x /data/service", "cp -r /data/service/secret out"] {
            assert_ne!(
                word(&config, "bash", json!({ "command": line })),
                "allow",
                "{line}"
            );
        }
        for line in ["cat /data/other/secret/x", "cat /data/service/src/x"] {
            assert_eq!(
                word(&config, "bash", json!({ "command": line })),
                "allow",
                "{line}"
            );
        }
    }
}

#[test]
fn a_rule_about_an_absolute_path_is_about_the_home_too() {
    let config = at_home(ApprovalMode::Auto, &["deny * in /data/service/secret/**"]);
    for line in ["cat ~/secret/x", "cat ${HOME}/secret/x", "cat ~/a/../secret/x"] {
        assert_eq!(
            word(&config, "bash", json!({ "command": line })),
            "deny",
            "{line}"
        );
    }
    assert_eq!(word(&config, "look", json!({"path": "~/secret/x"})), "deny");
    // The home of another person is another place.
    assert_eq!(
        word(&config, "look", json!({"path": "/home/ada/secret/x"})),
        "allow"
    );
}

#[test]
fn a_search_leaves_out_what_a_rule_below_the_home_denies() {
    let config = at_home(ApprovalMode::Auto, &["deny look in ~/secret/**"]);
    let places = PlaceRules::of(&config, "look", HOME).unwrap();
    assert!(places.cover("/data/service/secret/x") && !places.cover("/data/service/src/x"));
}

#[test]
fn sessions_of_before_are_decided_about_as_they_were() {
    let mut config = at_home(ApprovalMode::Auto, &["deny look in ~/secret/**"]);
    config.rules_version = since::HOMES_ARE_KNOWN - 1;
    assert_eq!(
        word(&config, "look", json!({"path": "/data/service/secret/x"})),
        "allow"
    );
    let mut config = at_home(ApprovalMode::Ask, &["allow look in ~/.ssh/config"]);
    config.rules_version = since::HOMES_ARE_KNOWN - 1;
    assert_eq!(word(&config, "look", json!({"path": "~/.ssh/config"})), "ask");
}

#[test]
fn a_rule_that_names_a_guarded_file_below_the_home_allows_it() {
    let files = ["~/.ssh/config", "/data/service/.ssh/config", "~/a/../.ssh/config"];
    for rule in [
        "allow look in ~/.ssh/config",
        "allow look in /data/service/.ssh/config",
    ] {
        let config = at_home(ApprovalMode::Ask, &[rule]);
        for file in files {
            assert_eq!(
                word(&config, "look", json!({ "path": file })),
                "allow",
                "{rule}: {file}"
            );
        }
        for file in [
            "~/.ssh/id_rsa",
            "~/.ssh/config/../id_rsa",
            "~/../service2/.ssh/config",
            "/home/ada/.ssh/config",
            "~ada/.ssh/config",
        ] {
            assert_eq!(
                word(&config, "look", json!({ "path": file })),
                "ask",
                "{rule}: {file}"
            );
        }
    }
    // Stars that name no such file open none.
    for rule in ["allow look in ~/**", "allow look in ~/*/config", "allow look"] {
        let config = at_home(ApprovalMode::Ask, &[rule]);
        for file in files {
            assert_eq!(
                word(&config, "look", json!({ "path": file })),
                "ask",
                "{rule}: {file}"
            );
        }
    }
    let config = at_home(ApprovalMode::Ask, &["allow look in ~/notes/**"]);
    assert_eq!(word(&config, "look", json!({"path": "~/notes/a"})), "allow");
    assert_eq!(word(&config, "look", json!({"path": "~/notes/../x"})), "ask");
}

#[test]
fn no_rule_below_the_home_opens_the_programs_own_files() {
    let own = "~/.local/share/agentx/sessions.db";
    let config = at_home(ApprovalMode::Ask, &[&format!("allow look in {own}")]);
    for file in [own, "/data/service/.local/share/agentx/sessions.db"] {
        assert_eq!(word(&config, "look", json!({ "path": file })), "deny", "{file}");
    }
}

#[test]
fn a_home_of_any_name_is_never_removed() {
    let config = at_home(ApprovalMode::Auto, &["allow bash"]);
    for line in [
        "rm -rf /data/service",
        "rm -rf /real/service/",
        "cd /data && rm -rf service",
    ] {
        assert_eq!(
            word(&config, "bash", json!({ "command": line })),
            "deny",
            "{line}"
        );
    }
    let line = json!({"command": "rm -rf /data/service/project/build"});
    assert_eq!(word(&config, "bash", line), "allow");
}

/// The rule that "always" keeps for such a file, and one that a person writes in its place.
#[test]
fn a_kept_rule_for_a_file_below_the_home_covers_the_call() {
    let config = at_home(ApprovalMode::Ask, &[]);
    let look = config.tools.iter().find(|tool| tool.name == "look").unwrap();
    let input = json!({"path": "~/.ssh/config"});
    let kept = agentx_agent::approval::suggested(&config, look, &input);
    assert_eq!(kept.path.as_deref(), Some("~/.ssh/config"));
    let mut later = config.clone();
    later.rules.push(kept);
    assert_eq!(word(&later, "look", input.clone()), "allow");
    let written = rule("allow look in ~/.ssh/*");
    assert!(covers(&written, "/ws", look, &input), "without a guard, too");
}
