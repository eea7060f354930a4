//! The limit on what all sessions spend within a day: at the limit no model is called, until a person raises
//! it.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use agentx_testing::StrictServer;
use agentx_testing::vendors::{ChatServer, Dialect, ModelAnswer};

use crate::common::Sandbox;

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_of_a_day_no_model_is_called_until_it_is_raised() {
    let answer = |_: &serde_json::Value| ModelAnswer::text("done");
    let server = StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), answer).await;
    tokio::task::block_in_place(|| {
        let sandbox = Sandbox::new();
        sandbox.config(&format!(
            "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\nmodels:\n  m: {{provider: mine}}\nmodel: m\nlimits: {{day_tokens: 5}}\n",
            server.url()
        ));
        let first = sandbox.run(&["run", "--quiet", "one"]);
        assert_eq!(first.code, Some(0), "nothing was spent before: {first}");
        let refused = sandbox.run(&["run", "--quiet", "two"]);
        assert_eq!(refused.code, Some(6), "{refused}");
        assert!(
            refused
                .stderr
                .contains("the limit of 5 tokens within 24 hours is reached"),
            "{refused}"
        );
        let raised = sandbox.run(&["usage", "--raise-day", "1000000t"]);
        assert_eq!(
            raised.stdout, "for 24 hours, 1000000 tokens more may be spent\n",
            "{raised}"
        );
        let again = sandbox.run(&["run", "--quiet", "three"]);
        assert_eq!(again.code, Some(0), "{again}");
        let wrong = sandbox.run(&["usage", "--raise-day", "much"]);
        assert_eq!(wrong.code, Some(2), "{wrong}");
    });
}
