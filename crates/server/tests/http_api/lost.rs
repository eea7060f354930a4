//! A server whose data was removed or replaced while it runs: it says so, and what helps.

use agentx_node_runtime::DATABASE;
use axum::http::StatusCode;
use serde_json::json;

use crate::http_api::desk::Desk;

#[tokio::test]
async fn a_server_whose_store_is_lost_is_not_well_and_says_what_helps() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let well = desk.get("/v1/health").send().await.ok().json();
    assert_eq!(well["status"], "ok");
    let database = desk.state.runtime().data_dir().join(DATABASE);
    let copy = database.with_extension("copy");
    std::fs::copy(&database, &copy).unwrap();
    std::fs::rename(&copy, &database).unwrap();

    let health = desk.get("/v1/health").send().await;
    let said = desk
        .post(
            &format!("/v1/sessions/{session}/messages"),
            &json!({"content": "hello"}),
        )
        .by(&desk.ann)
        .send()
        .await;
    for reply in [health, said] {
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.code(), "store_lost");
        let problem = reply.json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("must be restarted"), "{detail}");
        assert!(
            !detail.contains(DATABASE),
            "nothing of where things are: {detail}"
        );
    }
}
