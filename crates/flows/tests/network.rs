//! The addresses that scripts may reach over HTTP, and those that they cannot reach by any means.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::support;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Place, definition, luau};
use agentx_flows::{LookupFuture, NameLookup};
use agentx_testing::{FaultyLog, ModelScript, ServerReply, TestServer};
use agentx_types::{ToolStatus, Vocabulary as _};
use serde_json::{Value, json};

/// Names and their addresses.
struct Names(BTreeMap<&'static str, &'static str>);

impl NameLookup for Names {
    fn lookup(&self, host: String) -> LookupFuture {
        let found = self
            .0
            .get(host.trim_end_matches('.'))
            .map(|address| address.parse().unwrap());
        Box::pin(async move {
            found
                .map(|found| vec![found])
                .ok_or_else(|| io::Error::other("no such name"))
        })
    }
}

fn names() -> Arc<dyn NameLookup> {
    Arc::new(Names(BTreeMap::from([
        ("localhost", "127.0.0.1"),
        ("inside.test", "127.0.0.1"),
        ("mapped.test", "::ffff:127.0.0.1"),
        ("private.test", "10.0.0.1"),
    ])))
}

/// Calls a tool once in a session. Returns its result and the log's contents.
async fn call(
    tool: agentx_agent_files::definition::ToolDefinition,
    args: Value,
) -> (ToolStatus, String, String) {
    call_where(tool, args, names()).await
}

/// The same, with this lookup of names.
async fn call_where(
    tool: agentx_agent_files::definition::ToolDefinition,
    args: Value,
    lookup: Arc<dyn NameLookup>,
) -> (ToolStatus, String, String) {
    let answers = [
        ModelScript::call("call_1", &tool.name, args),
        ModelScript::text("Done."),
    ];
    let place = Place::with(FaultyLog::new(), answers, |mut parts| {
        parts.lookup = lookup;
        parts
    });
    place.tool(tool);
    let session = place.open().await;
    place.ask(&session, "go").await;
    let (status, text) = place.result("call_1");
    (status, text, place.written())
}

const GET: &str = "function invoke(ctx, args)
    local ok, got = pcall(ctx.http.get, args.url)
    return if ok then got.status .. ' ' .. got.body else tostring(got)
end";

#[tokio::test]
async fn what_is_inside_is_not_reached_by_any_name() {
    let server = TestServer::start([]).await;
    let port = server.address().port();
    let hosts = json!([
        "*.test",
        "inside.test",
        "mapped.test",
        "private.test",
        "2130706433x.test"
    ]);
    let attacks = [
        "http://inside.test:PORT/",
        "http://mapped.test:PORT/",
        "http://private.test:PORT/",
        "http://127.0.0.1:PORT/",
        "http://localhost:PORT/",
        "http://127.1:PORT/",
        "http://2130706433:PORT/",
        "http://0x7f000001:PORT/",
        "http://0177.0.0.1:PORT/",
        "http://0x7f.1:PORT/",
        "http://[::1]:PORT/",
        "http://[::ffff:127.0.0.1]:PORT/",
        "http://[::ffff:7f00:1]:PORT/",
        "http://[64:ff9b::7f00:1]:PORT/",
        "http://[2002:7f00:1::]:PORT/",
        "http://0.0.0.0:PORT/",
        "http://0:PORT/",
        "http://INSIDE.test:PORT/",
        "http://inside.test.:PORT/",
        "http://x@inside.test:PORT/",
        "http://inside.test%2e:PORT/",
        "http://a.test@127.0.0.1:PORT/",
        "http://127.0.0.1:PORT#.a.test",
        "http://127。0。0。1:PORT/",
        "http://①②⑦.0.0.1:PORT/",
        "file:///etc/passwd",
        "ftp://inside.test/",
        "http://169.254.169.254/latest/meta-data/",
        "gopher://inside.test:PORT/",
    ];
    for attack in attacks {
        let url = attack.replace("PORT", &port.to_string());
        let (status, text, _) = call(luau("get", GET, json!({"http": hosts})), json!({"url": url})).await;
        assert_eq!(status, ToolStatus::Success, "{url}: {text}");
        assert!(
            text.contains("denied") || text.contains("invalid"),
            "{url}: {text}"
        );
    }
    assert_eq!(server.connections(), 0);
}

/// A name with another address at each lookup.
#[derive(Default)]
struct Changing(AtomicUsize);

impl NameLookup for Changing {
    fn lookup(&self, host: String) -> LookupFuture {
        let named: IpAddr = "127.0.0.2".parse().unwrap();
        let inside: IpAddr = "127.0.0.1".parse().unwrap();
        let found = match (host.as_str(), self.0.fetch_add(1, Ordering::Relaxed)) {
            ("both.test", _) => vec![named, inside],
            (_, 0) => vec![named],
            _ => vec![inside],
        };
        Box::pin(async move { Ok(found) })
    }
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_later_leads_nowhere_inside() {
    let inside = TestServer::start([]).await;
    let port = inside.address().port();
    for (host, first) in [("turns.test", "unavailable"), ("both.test", "denied")] {
        let twice = "function invoke(ctx, args)
            local _, first = pcall(ctx.http.get, args.url)
            local _, second = pcall(ctx.http.get, args.url)
            return tostring(first) .. ' | ' .. tostring(second)
        end";
        let tool = luau("twice", twice, json!({"http": [host, "127.0.0.2"]}));
        let url = json!({"url": format!("http://{host}:{port}/")});
        let (_, text, _) = call_where(tool, url, Arc::new(Changing::default())).await;
        let (before, after) = text.split_once(" | ").unwrap();
        assert!(before.contains(first) && after.contains("denied"), "{text}");
    }
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_a_request_may_not_go() {
    let inside = TestServer::start([]).await;
    for to in [
        "http://127.0.0.1:PORT/",
        "http://inside.test:PORT/",
        "http://[::1]:PORT/",
        "//2130706433:PORT/",
        "file:///etc/passwd",
    ] {
        let to = to.replace("PORT", &inside.address().port().to_string());
        let outside = TestServer::start([ServerReply::status(302).header("location", &to)]).await;
        let url = format!("http://localhost:{}/", outside.address().port());
        let hosts = json!([format!("localhost:{}", outside.address().port()), "inside.test"]);
        let (_, text, _) = call(luau("get", GET, json!({"http": hosts})), json!({"url": url})).await;
        assert!(text.contains("denied"), "{to}: {text}");
        assert_eq!(outside.requests().len(), 1);
    }
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn what_is_named_is_reached_and_redirects_there_are_followed() {
    let end = TestServer::start([ServerReply::body(200, "text/plain", "here")]).await;
    let begin =
        TestServer::start([ServerReply::status(307).header("location", &format!("{}/end", end.url()))]).await;
    let hosts = json!(["127.0.0.1"]);
    let (_, text, _) = call(
        luau("get", GET, json!({"http": hosts})),
        json!({"url": begin.url()}),
    )
    .await;
    assert_eq!(text, "200 here");
    let circle: Vec<ServerReply> = (0..9)
        .map(|_| ServerReply::status(302).header("location", "/"))
        .collect();
    let circle = TestServer::start(circle).await;
    let (_, text, _) = call(
        luau("get", GET, json!({"http": hosts})),
        json!({"url": circle.url()}),
    )
    .await;
    assert!(text.contains("more than 5 redirects"), "{text}");
    assert_eq!(circle.requests().len(), 6);
    let flood = TestServer::start([ServerReply::body(200, "text/plain", vec![b'x'; 3 << 20])]).await;
    let (_, text, _) = call(
        luau("get", GET, json!({"http": hosts})),
        json!({"url": flood.url()}),
    )
    .await;
    assert!(text.contains("too_large"), "{text}");
}

/// The header that holds a variable, in a form that is not recognized by a name or a value.
const KEYED: &str = "function invoke(ctx, args)
    local key = string.reverse(ctx.env('KEY'))
    local headers = {['x-key'] = key, authorization = key, cookie = key, accept = 'text/plain'}
    local ok, got = pcall(ctx.http.get, args.url, {headers = headers})
    return if ok then got.body else tostring(got)
end";

#[tokio::test]
async fn a_redirect_to_another_port_or_host_gets_no_header_that_may_hold_a_variable() {
    for (host, of_tool) in [("127.0.0.1", false), ("localhost", false), ("127.0.0.1", true)] {
        let end = TestServer::start([ServerReply::body(200, "text/plain", "here")]).await;
        let to = format!("http://{host}:{}/end", end.address().port());
        let begin = TestServer::start([
            ServerReply::status(307).header("location", "/again"),
            ServerReply::status(307).header("location", &to),
        ])
        .await;
        let tool = if of_tool {
            definition(json!({
                "name": "keyed", "type": "http", "method": "GET", "endpoint": begin.url(),
                "headers": {"x-key": "${KEY}", "accept": "text/plain"},
            }))
        } else {
            let may = json!({"http": ["127.0.0.1", "localhost"], "env": ["KEY"]});
            luau("keyed", KEYED, may)
        };
        let (_, text, _) = call(tool, json!({"url": begin.url()})).await;
        assert_eq!(text, "here");
        assert!(
            begin.requests()[1].header("x-key").is_some(),
            "the same server gets it"
        );
        let got = &end.requests()[0];
        assert_eq!(got.header("accept"), Some("text/plain"));
        for name in ["x-key", "authorization", "cookie"] {
            assert_eq!(got.header(name), None, "{name} to {host}");
        }
    }
}

#[tokio::test]
async fn secrets_are_sent_and_never_written() {
    let server = TestServer::start([ServerReply::body(200, "text/plain", "you sent s3cret-v@lue")]).await;
    let script = "function invoke(ctx, args)
        local key = ctx.env('KEY')
        ctx.log('info', 'the key is ' .. key)
        ctx.emit('key ' .. key)
        ctx.state.key = key
        local got = ctx.http.get(args.url, {query = {k = key}, headers = {['x-key'] = key}})
        local ok, problem = pcall(ctx.env, 'HOME')
        return {got.body, tostring(problem), got.body == 'you sent ' .. key}
    end";
    let may = json!({"http": ["127.0.0.1"], "env": ["KEY"]});
    let (status, text, log) = call(luau("keyed", script, may), json!({"url": server.url()})).await;
    assert_eq!(status, ToolStatus::Success, "{text}");
    assert!(
        text.contains("you sent ${KEY}") && text.contains("is not granted") && text.contains("true"),
        "{text}"
    );
    assert_eq!(server.requests()[0].header("x-key"), Some("s3cret-v@lue"));
    assert!(!log.contains("s3cret-v") && log.contains("${KEY}"), "{log}");
}

#[tokio::test]
async fn a_request_from_a_file() {
    let server = TestServer::start([
        ServerReply::json(200, &json!({"temp": 21, "place": "北京"})),
        ServerReply::body(503, "text/plain", "later"),
    ])
    .await;
    let file = json!({
        "name": "weather", "type": "http", "method": "POST", "endpoint": server.url() + "/v1",
        "auth": {"type": "bearer", "token": "${KEY}"}, "req_body_jq": "{q: .input.city}", "resp_body_jq": "{temp, where: .place}",
    });
    let (status, text, log) = call(definition(file.clone()), json!({"city": "北京"})).await;
    assert_eq!(
        (status, text.as_str()),
        (ToolStatus::Success, r#"{"temp":21,"where":"北京"}"#)
    );
    let [request] = &server.requests()[..] else {
        panic!("one request")
    };
    assert_eq!(request.header("authorization"), Some("Bearer s3cret-v@lue"));
    assert_eq!(request.json(), json!({"q": "北京"}));
    assert!(!log.contains("s3cret-v"), "{log}");
    let (status, text, _) = call(definition(file), json!({"city": "x"})).await;
    assert_eq!(status, ToolStatus::Failed);
    assert!(text.contains("503") && text.contains("later"), "{text}");
}

#[tokio::test]
async fn the_key_of_a_call_is_sent_to_its_server() {
    let replies = [(); 2].map(|()| ServerReply::body(200, "text/plain", "paid"));
    let server = TestServer::start(replies).await;
    let pay = |headers: Value| {
        definition(json!({
            "name": "pay", "type": "http", "method": "POST", "endpoint": server.url(), "headers": headers,
            "idempotency_key": "order", "params": {"type": "object", "properties": {"order": {"type": "string"}}},
        }))
    };
    for (headers, sent) in [
        (json!({}), "order-7"),
        (json!({"idempotency-key": "its own"}), "its own"),
    ] {
        let (status, text, _) = call(pay(headers), json!({"order": "order-7"})).await;
        assert_eq!((status, text.as_str()), (ToolStatus::Success, "paid"));
        let requests = server.requests();
        let last = requests
            .last()
            .and_then(|request| request.header("idempotency-key"));
        assert_eq!(last, Some(sent));
    }
}

#[tokio::test]
async fn a_secret_in_base64_is_not_written_either() {
    let server = TestServer::start([ServerReply::body(200, "text/plain", "ok")]).await;
    let file = json!({
        "name": "basic", "type": "http", "method": "GET", "endpoint": server.url(),
        "auth": {"type": "basic", "token": "me:${KEY}"},
    });
    let (status, text, log) = call(definition(file), json!({"city": "x"})).await;
    assert_eq!((status, text.as_str()), (ToolStatus::Success, "ok"));
    let sent = "bWU6czNjcmV0LXZAbHVl";
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some(format!("Basic {sent}").as_str())
    );
    assert!(
        !log.contains(sent) && log.contains("Basic ${authorization}"),
        "{log}"
    );
}

#[tokio::test]
async fn a_post_that_was_cut_off_is_not_sent_twice() {
    let server = TestServer::start([
        ServerReply::body(200, "text/plain", "taken"),
        ServerReply::body(200, "text/plain", "taken"),
    ])
    .await;
    let script = "function invoke(ctx, args)
        local ok, got = pcall(ctx.http.post, args.url, {order = 1})
        return if ok then got.body else string.match(tostring(got), 'unknown_outcome') or tostring(got)
    end";
    let tool = || luau("order", script, json!({"http": ["127.0.0.1"]}));
    let place = Place::new([
        ModelScript::call("call_1", "order", json!({"url": server.url()})),
        ModelScript::text("Done."),
    ]);
    place.tool(tool());
    let session = place.open().await;
    place.ask(&session, "go").await;
    session.close().await;
    assert_eq!(place.result("call_1").1, "taken");
    let facts = place.log.facts(&"ses_1".into());
    let began = facts
        .iter()
        .position(|fact| fact.event.tag() == "effect_started")
        .unwrap();
    let again = Place::on(
        support::prefix(&facts, began + 1).await,
        [ModelScript::text("Done.")],
    );
    again.tool(tool());
    let session = again.resume().await;
    again.until_done(&session, 0).await;
    assert_eq!(
        again.result("call_1"),
        (ToolStatus::Success, "unknown_outcome".to_owned())
    );
    assert_eq!(server.requests().len(), 1);
}
