// Measures the frames and the memory of the page under load. The server and its session are made up: it sends so
// many events at once, and then 500 deltas of Markdown a second.
//
//     node e2e/load.mjs [SECONDS] [EVENTS] [/usr/bin/chromium]
import http from "node:http";
import fs from "node:fs";
import { WebSocketServer } from "ws";
import { chromium } from "playwright-core";
const dist = new URL("../dist", import.meta.url).pathname,
  seconds = +(process.argv[2] ?? 30),
  preset = +(process.argv[3] ?? 0);
const types = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  webmanifest: "application/manifest+json",
};
const person = { person: "own_local", visitor: false };
const s = http
  .createServer((q, r) => {
    const json = (o) => {
      r.writeHead(200, { "content-type": "application/json" });
      r.end(JSON.stringify(o));
    };
    if (q.url.startsWith("/v1/auth/page"))
      return json({ token: "t", id: "x", person, expires_at_ms: Date.now() + 1e9 });
    if (q.url.startsWith("/v1/sessions?")) return json({ items: [] });
    if (q.url.startsWith("/v1")) return json({});
    const f = dist + (q.url === "/" ? "/index.html" : q.url);
    if (!fs.existsSync(f + ".gz")) {
      r.writeHead(404);
      return r.end();
    }
    r.writeHead(200, { "content-type": types[f.split(".").pop()], "content-encoding": "gzip" });
    r.end(fs.readFileSync(f + ".gz"));
  })
  .listen(5293, "127.0.0.1");
const para =
  "The **harbour** has `ships`, and [links](https://example.org).\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```rust\nfn main() { let x = 1; }\n```\n\n";
let sub = null;
new WebSocketServer({ server: s, handleProtocols: () => "agentx.v1" }).on("connection", (w) => {
  w.send(
    JSON.stringify({
      event: "hello",
      payload: {
        protocol: 1,
        server: "fake",
        nonce: "n",
        origin: "o",
        expires_at_ms: 1,
        visitors: false,
        heartbeat_ms: 15000,
      },
    }),
  );
  w.on("message", (m) => {
    const f = JSON.parse(m);
    let seq = 0;
    const ev = (event, payload) =>
      w.send(
        JSON.stringify({
          seq: ++seq,
          index: 0,
          at: Date.now() * 1000,
          source: "agent",
          session_id: "ses_load",
          agent_state_id: "agt_1",
          event,
          payload,
        }),
      );
    if (f.type === "authenticate")
      return w.send(JSON.stringify({ event: "accepted", payload: { id: f.id, result: person } }));
    if (f.type !== "subscribe") return w.send(JSON.stringify({ event: "accepted", payload: { id: f.id } }));
    w.send(
      JSON.stringify({
        event: "subscribed",
        payload: { session_id: "ses_load", view: "runtime", after_seq: 0, head_seq: preset, role: "own" },
      }),
    );
    w.send(JSON.stringify({ event: "accepted", payload: { id: f.id } }));
    ev("session_created", { model: "m", workspace: "/w" });
    ev("agent_started", { name: "main" });
    while (seq < preset - 20) {
      ev("run_started", { run_id: "r" + seq, message_id: "m" });
      ev("user_message", {
        message: { message_id: "u" + seq, role: "user", content: [{ type: "text", text: "go on" }] },
      });
      ev("message_start", { message_id: "a" + seq, model: "m", attempt: 1 });
      for (let i = 0; i < 90; i++)
        ev("text_delta", { text: para.slice((i * 4) % para.length, ((i * 4) % para.length) + 4) });
      ev("message_stop", { message_id: "a", stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } });
    }
    ev("run_started", { run_id: "run_z", message_id: "m" });
    ev("run_status", { run_id: "run_z", status: "awaiting_llm", iterations: 0 });
    ev("message_start", { message_id: "z", model: "m", attempt: 1 });
    w.send(JSON.stringify({ event: "caught_up", payload: { session_id: "ses_load", seq } }));
    let n = 0;
    const t0 = Date.now();
    sub = setInterval(() => {
      const due = Math.min(seconds * 500, (Date.now() - t0) / 2);
      for (; n < due; n++) ev("text_delta", { text: para.slice((n * 4) % para.length, ((n * 4) % para.length) + 4) });
      if (n >= seconds * 500) clearInterval(sub);
    }, 4);
  });
});
const executablePath = process.argv[4] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const p = await (
  await browser.newContext({ viewport: { width: 1280, height: 800 }, serviceWorkers: "block" })
).newPage();
await p.goto("http://127.0.0.1:5293/#code=x");
await p.waitForSelector("#message");
const t = Date.now();
await p.goto("http://127.0.0.1:5293/#/ses_load");
await p.waitForSelector("[role=log]");
console.log("readable after", Date.now() - t, "ms");
const heap = async () => {
  const c = await p.context().newCDPSession(p);
  await c.send("HeapProfiler.collectGarbage");
  return +((await c.send("Runtime.getHeapUsage")).usedSize / 1e6).toFixed(1);
};
await p.evaluate(() => {
  window.f = [];
  let last = performance.now();
  const go = (n) => {
    window.f.push(n - last);
    last = n;
    requestAnimationFrame(go);
  };
  requestAnimationFrame(go);
});
await p.waitForTimeout(Math.min(10, seconds / 3) * 1000);
const h1 = await heap();
await p.evaluate(() => (window.f.length = 0));
await p.waitForTimeout(Math.max(1, seconds - 11) * 1000);
console.log(
  await p.evaluate(() => {
    const f = window.f.toSorted((a, b) => a - b);
    return `frames ${f.length}, p50 ${f[f.length >> 1].toFixed(1)}, p95 ${f[Math.floor(f.length * 0.95)].toFixed(1)}, max ${f.at(-1).toFixed(1)}, over 50 ms: ${f.filter((x) => x > 50).length}`;
  }),
  "heap",
  h1,
  "→",
  await heap(),
  "MB; chars",
  await p.evaluate(() => document.querySelector("[role=log]").innerText.length),
);
await browser.close();
process.exit(0);
