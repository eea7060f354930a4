// Pictures of the states of the page, at two widths and in two themes, for people who change how it looks. The
// server and everything it says is made up.
//
//     node e2e/states.mjs FOLDER [NAME,NAME,…] [/usr/bin/chromium]
//
// With AXE=…/axe.min.js (of the package axe-core) each state is also checked for accessibility.
import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { serve, Session } from "./fake.mjs";

const [, , folder, wanted = "", executablePath = "/usr/bin/chromium"] = process.argv;
mkdirSync(folder, { recursive: true });

const usage = { input_tokens: 18_400, output_tokens: 912, cache_read_tokens: 15_200 };
const MODEL = { id: "claude-sonnet-5", provider: "anthropic", api: "anthropic", context_window: 200_000, max_output_tokens: 64_000 };
const text = (words) => [{ type: "text", text: words }];
const OTHER = { person: "own_kzdvvj2umnduyauf35o36k6kw4", client: "laptop" };
const CONFIG = { model: MODEL, approval: "ask" };

function begun(id, title, ask, options = {}) {
  const session = new Session(id, {
    ...options,
    state: { config: CONFIG, ...options.state },
    info: { title, workspace: "/home/mira/harbour", model: MODEL.id, ...options.info },
  });
  session.say("session_created", { model: MODEL.id, workspace: "/home/mira/harbour" }, null);
  session.say("session_updated", { change: { title } }, null);
  session.say("agent_started", { name: "main" });
  if (ask) asked(session, ask);
  return session;
}

function asked(session, words, run = "1") {
  session.say("run_started", { run_id: `run_${run}`, message_id: `msg_${run}` });
  session.say("user_message", { message: { message_id: `msg_${run}`, role: "user", content: text(words) } });
  session.say("run_status", { run_id: `run_${run}`, status: "awaiting_llm", iterations: 1 });
  session.say("message_start", { message_id: `ans_${run}`, model: MODEL.id, attempt: 1 });
}

function called(session, id, name, input, { output = "", details, failed, agent = "agt_1", result = "ok" } = {}) {
  session.say("tool_planned", { tool_call_id: id, name }, agent);
  session.say("tool_call", { tool_call_id: id, name, input }, agent);
  session.say("tool_executing", { tool_call_id: id, name, input }, agent);
  if (output) session.say("tool_output", { tool_call_id: id, channel: "stdout", text: output }, agent);
  const end = { tool_call_id: id, name, duration_ms: 1240, details };
  if (failed) session.say("tool_failed", { ...end, status: "failed", error: failed }, agent);
  else if (result) session.say("tool_completed", end, agent);
  if (result) session.say("tool_result", { tool_call_id: id, result: text(result) }, agent);
}

function ended(session, status = "completed", reason = null, run = "1") {
  session.say("message_stop", { message_id: `ans_${run}`, stop_reason: "end_turn", usage });
  session.say("run_finished", { run_id: `run_${run}`, status, reason, iterations: 2 });
  const numbers = { duration_ms: 24_300, usage, cost: 41_300_000, model_calls: 2 };
  session.say("turn_response", { run_id: `run_${run}`, text: "", ...numbers });
  session.info.status = status;
}

const DIFF = "--- a/src/tide.rs\n+++ b/src/tide.rs\n@@ -10,7 +10,8 @@\n pub fn level(hour: u32) -> f64 {\n-    let phase = hour / 12;\n+    // Integer division dropped the half hours.\n+    let phase = f64::from(hour) / 12.0;\n     (phase * std::f64::consts::TAU).sin()\n }\n";
const ANSWER = `The test fails because \`level\` divides integers: **every odd hour** rounds down.

| hour | expected | before | after |
| ---: | ---: | ---: | ---: |
| 3 | 1.00 | 0.00 | 1.00 |
| 9 | -1.00 | 0.00 | -1.00 |

\`\`\`rust
/// The level of the tide at an hour, between -1 and 1.
pub fn level(hour: u32) -> f64 {
    let phase = f64::from(hour) / 12.0;
    (phase * std::f64::consts::TAU).sin()
}
\`\`\`

What is left:

1. The table in \`README.md\` still has the old values.
2. Nothing covers hours beyond 24.

> All 14 tests pass now.`;

function chat() {
  const session = begun("ses_chat", "Why the harbour test fails", "Why does the harbour test fail? Mend it.");
  session.say("thinking_delta", { text: "The test compares levels at odd hours. I should read the function." }, "agt_1", 1e15);
  session.say("thinking_delta", { text: " It divides integers." }, "agt_1", 1e15 + 4_000_000);
  session.say("text_delta", { text: "I look at the function first." });
  called(session, "c1", "read", { path: "/home/mira/harbour/src/tide.rs" }, { result: "pub fn level(hour: u32) -> f64 {" });
  called(session, "c2", "edit", { path: "/home/mira/harbour/src/tide.rs" }, { details: { diff: DIFF, added: 2, removed: 1 } });
  const run = "running 14 tests\ntest tide::odd_hours ... ok\ntest result: ok. 14 passed; 0 failed";
  called(session, "c3", "bash", { command: "cargo test" }, { output: run, details: { exit_code: 0, sandbox: { step: "bubblewrap" } } });
  session.say("text_delta", { text: ANSWER });
  ended(session);
  return session;
}

function lanes() {
  const session = begun("ses_lanes", "Compare three storage engines", "Compare SQLite, LMDB and redb for our log.");
  session.say("text_delta", { text: "Three scouts read in parallel; I put their findings together." });
  const names = ["sqlite", "lmdb", "redb"];
  names.forEach((name, at) => {
    const agent = `agt_${at + 2}`;
    session.say("agent_started", { name: `scout ${name}`, parent: "agt_1" }, agent);
    session.say("run_started", { run_id: `r${at}`, message_id: "m" }, agent);
    session.say("message_start", { message_id: `l${at}`, model: MODEL.id, attempt: 1 }, agent);
    session.say("text_delta", { text: `${name} writes one page per commit, and syncs ` }, agent);
    called(session, `l${at}`, "web_fetch", { url: `https://example.org/${name}` }, { agent, result: at === 2 ? "" : "page" });
    if (at < 2) session.say("text_delta", { text: "once for a group. Its readers never wait." }, agent);
    if (at === 0) {
      session.say("message_stop", { message_id: "l0", stop_reason: "end_turn", usage }, agent);
      session.say("run_finished", { run_id: "r0", status: "completed", iterations: 2 }, agent);
      session.say("agent_destroyed", {}, agent);
    }
  });
  session.info.status = "awaiting_tool";
  return session;
}

function asks(id, title, words, payload, options = {}) {
  const session = begun(id, title, words, options);
  session.say("text_delta", { text: options.before ?? "I need a decision before I go on." });
  session.say("run_status", { run_id: "run_1", status: "awaiting_approval", iterations: 1 });
  const suggested = { effect: "allow", tool: payload.name, argument: payload.input?.command };
  session.say("approval_requested", { tool_call_id: "q1", reason: "running a program asks", suggested, input: {}, ...payload });
  session.info.status = "awaiting_approval";
  session.state.pending_approvals = [{ tool_call_id: "q1", ...payload, answers: options.answers ?? null }];
  return session;
}

const PLAN = "## Plan\n\n1. Read the three call sites of `level`.\n2. Change the type of the hour to `f64`.\n3. Add tests for half hours.\n\nNothing outside `src/tide.rs` changes.";
const FORM = {
  type: "object",
  required: ["project", "kind"],
  properties: {
    project: { type: "string", title: "Project", description: "As the tracker names it" },
    kind: { type: "string", title: "Kind", enum: ["bug", "feature", "chore"], enumNames: ["Bug", "Feature", "Chore"] },
    due: { type: "string", format: "date", title: "Due" },
    points: { type: "integer", title: "Points" },
    urgent: { type: "boolean", title: "Urgent" },
  },
};

const SESSIONS = {
  chat,
  lanes,
  approval: () =>
    asks("ses_ask", "Clean the build folder", "Clean up, please.", { name: "bash", input: { command: "rm -rf target && cargo build --release" } }),
  plan: () => asks("ses_plan", "Half hours in the tide table", "Plan the change to half hours.", { name: "ask_user", question: { question: PLAN, is_plan: true } }),
  choices: () =>
    asks("ses_choice", "A colour for the map", "Draw the map.", {
      name: "ask_user",
      question: { question: "Which colour should shallow water have?", choices: ["Light blue", "Sand", "As in the old map"] },
    }),
  form: () => asks("ses_form", "File the bug", "File this as an issue.", { name: "tracker__create", reason: "the server `tracker` asks", input: { message: "A few details for the issue" }, form: FORM }),
  watch: () =>
    asks("ses_watch", "Release 2.4", "Publish the release.", { name: "bash", input: { command: "git push --tags" } }, {
      role: "watch",
      people: [{ seat: OTHER, role: "own", driving: true }],
      wheel: { seat: OTHER },
    }),
  approver: () =>
    asks("ses_approver", "Member's session: publish", "Publish the page.", { name: "bash", input: { command: "scp -r dist web:/srv" } }, {
      role: "approve",
      people: [{ seat: OTHER, role: "own", driving: true }],
      wheel: { seat: OTHER },
      answers: ["once", "deny"],
    }),
  stuck() {
    const session = begun("ses_stuck", "Install the driver", "Install the driver.");
    for (let at = 0; at < 3; at++) called(session, `s${at}`, "bash", { command: "apt install tide-driver" }, { output: "E: Unable to locate package", failed: "exit 100", result: "E" });
    session.say("loop_detected", { kind: "error", times: 3, response: "stop", message: "`bash` fails in the same way for the third time" });
    ended(session, "failed", "stuck");
    return session;
  },
  limit() {
    const session = begun("ses_limit", "Translate the manual", "Translate the manual.");
    session.say("error", { code: "rate_limited", message: "429", recoverable: true, retry_in_ms: 47_000 });
    session.info.status = "awaiting_llm";
    return session;
  },
  failed() {
    const session = begun("ses_failed", "Nightly report", "Write the report.");
    session.say("error", { code: "unauthorized", message: "The provider refused the key: check ANTHROPIC_API_KEY", recoverable: false });
    ended(session, "failed", "the model refused the key");
    return session;
  },
  timedout() {
    const session = begun("ses_timedout", "Index every paper", "Index every paper.");
    session.say("text_delta", { text: "I have read 212 of 600 papers" });
    ended(session, "timed_out", "max_cost");
    return session;
  },
  queue() {
    const session = begun("ses_queue", "Count to three hundred", "Count to 300.", { state: { queued: [["msg_q", "and then write the notes"]] } });
    session.say("conversation_queued", { message_id: "msg_q", position: 1 });
    session.say("text_delta", { text: "1, 2, 3, 4, 5, 6, 7, 8, 9, 10" });
    session.info.status = "awaiting_llm";
    return session;
  },
  empty: () => begun("ses_empty", "", ""),
  chinese() {
    const session = begun("ses_zh", "港口测试为什么失败", "港口测试为什么失败？请修好它。");
    session.say("text_delta", { text: "## 原因\n\n`level` 使用整数除法，**奇数小时**会被舍去。\n\n- 已改为 `f64::from(hour) / 12.0`\n- 14 个测试全部通过\n\n| 小时 | 之前 | 之后 |\n| --- | --- | --- |\n| 3 | 0.00 | 1.00 |\n\n“引号”、（括号）和 English words 混排时间距自然。" });
    ended(session);
    return session;
  },
};

const CONTEXT = {
  seq: 12,
  api: "anthropic",
  body: JSON.stringify({
    model: MODEL.id,
    max_tokens: 8192,
    system: "You are a careful engineer. You work in /home/mira/harbour.",
    tools: [{ name: "read" }, { name: "edit" }, { name: "bash" }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Why does the harbour test fail? Mend it." }] },
      { role: "assistant", content: [{ type: "text", text: "I look at the function first." }, { type: "tool_use", id: "c1", name: "read", input: { path: "src/tide.rs" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "pub fn level(hour: u32) -> f64 {" }] },
    ],
  }),
  fill: {
    seq: 12,
    window: 200_000,
    answer: 8192,
    in_use: 18_400,
    shares: [["system_prompt", 1, 2100], ["tools", 3, 4200], ["inputs", 2, 900], ["answers", 3, 3100], ["tool_calls", 3, 800], ["tool_results", 3, 7300]].map(
      ([kind, count, tokens]) => ({ kind, count, tokens, bytes: tokens * 4 }),
    ),
  },
};
const rows = (keys) => keys.map(([key, title, cost], at) => ({ key, title, calls: 12 - at, usage, cost }));
const DAY = 86_400_000;
const MORE = {
  "/v1/models": [{ spec: MODEL, aliases: ["sonnet"] }, { spec: { ...MODEL, id: "gpt-6" }, aliases: [], missing: "no key" }],
  "/v1/agents": [],
  "/v1/tokens": [
    { id: "x", name: "Chrome-Linux", made_at_ms: 1, expires_at_ms: Date.now() + 29 * DAY, page: true },
    { id: "y", name: "Safari-iOS", made_at_ms: 1, expires_at_ms: Date.now() + 12 * DAY, page: true },
    { id: "z", name: "editor", made_at_ms: 1, expires_at_ms: Date.now() + 3 * DAY },
  ],
  "/v1/auth/code": { code: "pKx3-made-up-code-9fQ", expires_at_ms: Date.now() + 3_600_000 },
  "/v1/search": [{ session_id: "ses_stuck", seq: 9, role: "assistant", snippet: "E: Unable to locate package tide-driver" }],
  "/v1/usage": (url) =>
    url.searchParams.get("by") === "session"
      ? rows([["ses_chat", "Why the harbour test fails", 413_000_000], ["ses_lanes", "Compare three storage engines", 98_000_000]])
      : rows([["claude-sonnet-5", null, 511_000_000]]),
};

const memory = (id, text, more = {}) => ({ id, text, state: "proposed", pinned: false, session_id: "ses_chat", seq: 3, created_at: 1, changed_at: 1, ...more });
MORE["/v1/memories"] = (url) => ({
  enabled: true,
  waiting: 2,
  accepted: 1,
  items: [
    memory(7, "Deploys go over staging first, and only on weekdays."),
    memory(6, "Prefers tests that read like sentences.", { folder: "/home/ada/harbour" }),
    memory(3, "Answers in German.", { state: "accepted", pinned: true, session_id: undefined }),
  ].filter((one) => one.state === url.searchParams.get("state")),
});
MORE["/v1/push"] = { public_key: "BPk", subscribed: false };

const sessions = Object.fromEntries(Object.entries(SESSIONS).map(([name, make]) => [name, make()]));
sessions.chat.answers.context = CONTEXT;
sessions.chat.state.sharing = { epoch: 1, roles: { [OTHER.person]: "watch" } };
const fork = begun("ses_fork", "Why the harbour test fails (other way)", "Mend the test, not the function.", { info: { parent: ["ses_chat", 14] } });
ended(fork);
sessions.fork = fork;

/** What is done on the page before a picture. */
const click = (label) => (page) => page.click(`[aria-label="${label}"]`);
const settings = (part) => async (page) => {
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("?");
  await page.click(`role=dialog >> text=${part}`);
};
const history = (view) => async (page) => {
  await click("History")(page);
  await page.click(`role=radio[name="${view}"]`);
};
const STATES = [
  ...Object.keys(SESSIONS).map((name) => [name, sessions[name].id, null]),
  ["start", null, null],
  ["gone", "ses_nowhere", null],
  ["details", "ses_chat", click("Details")],
  ["history", "ses_chat", async (page) => (await click("History")(page), await page.locator(".slider").fill("14"))],
  ["state", "ses_chat", history("State")],
  ["context", "ses_chat", history("Context")],
  ["palette", "ses_chat", (page) => page.keyboard.press("Control+k")],
  ["settings", "ses_chat", settings("You")],
  ["browsers", "ses_chat", async (page) => (await settings("Browsers")(page), await page.click("text=Make an address"))],
  ["memory", "ses_chat", settings("Memory")],
  ["accepted", "ses_chat", async (page) => (await settings("Memory")(page), await page.click("role=radio[name=/Accepted/]"))],
  ["usage", "ses_chat", settings("Usage")],
  ["keys", "ses_chat", settings("Keys")],
  ["lane", "ses_lanes", (page) => page.click("text=scout redb")],
];

const axe = process.env.AXE ? readFileSync(process.env.AXE, "utf8") : null;

/** Returns what axe finds, each with the first element. */
async function check(page) {
  if (!axe) return [];
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run();
    return violations.map((one) => `${one.id} (${one.nodes.length}): ${one.nodes[0].html.slice(0, 160)}`);
  });
}

const made = serve(Object.values(sessions), { port: 5295, more: MORE });
const { address } = made;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const names = wanted === "" ? null : new Set(wanted.split(","));
const SIZES = [["", 1280, 800], ["m-", 390, 844]];
for (const theme of ["light", "dark"]) {
  for (const [prefix, width, height] of SIZES) {
    const options = { viewport: { width, height }, colorScheme: theme, locale: "en-US", serviceWorkers: "block", deviceScaleFactor: 1 };
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.on("pageerror", (error) => console.log("error in the page:", String(error)));
    const take = async (name) => page.screenshot({ path: `${folder}/${prefix}${name}-${theme}.png` });
    if (!names || names.has("signin")) {
      await page.goto(`${address}/`);
      await page.waitForTimeout(500);
      await take("signin");
    }
    await page.goto(`${address}/#code=x`);
    await page.waitForSelector("#message");
    for (const [name, id, act] of STATES) {
      if (names && !names.has(name)) continue;
      if (name === "chinese") await page.evaluate(() => localStorage.setItem("aura.language", "zh"));
      await page.goto(`${address}/#/${id ?? ""}`);
      await page.reload();
      await page.waitForTimeout(700);
      if (act) {
        await Promise.resolve(act(page)).catch((error) => console.log(name, String(error).split("\n")[0]));
        await page.waitForTimeout(500);
      }
      await take(name);
      for (const problem of await check(page)) console.log(`${prefix}${name} ${theme}: ${problem}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) console.log(`${prefix}${name}: ${wide} px wider than the window`);
      await page.evaluate(() => localStorage.removeItem("aura.language"));
    }
    if (!names || names.has("offline")) {
      await page.goto(`${address}/#/ses_chat`);
      await page.waitForTimeout(500);
      await context.setOffline(true);
      made.cut();
      await page.waitForTimeout(900);
      await take("offline");
    }
    await context.close();
  }
}
await browser.close();
process.exit(0);
