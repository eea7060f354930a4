// Measures how long a long session takes until it can be read, the frames and the memory of the page while 500
// deltas of Markdown a second come, and the slider. The server and its session are made up.
//
//     node e2e/load.mjs [SECONDS] [EVENTS] [/usr/bin/chromium]
import { chromium } from "playwright-core";
import { serve, Session } from "./fake.mjs";

const seconds = Number(process.argv[2] ?? 30);
const events = Number(process.argv[3] ?? 0);
const executablePath = process.argv[4] ?? "/usr/bin/chromium";
const paragraph =
  "The **harbour** has `ships`, and [links](https://example.org).\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n" +
  "| 1 | 2 |\n\n```rust\nfn main() { let x = 1; }\n```\n\n";
const words = (at) => paragraph.slice((at * 4) % paragraph.length, ((at * 4) % paragraph.length) + 4);

const session = new Session("ses_load", { info: { title: "Load" } });
session.say("session_created", { model: "m", workspace: "/w" });
session.say("agent_started", { name: "main" });
while (session.lastSeq < events - 20) {
  const run = session.lastSeq;
  session.say("run_started", { run_id: `r${run}`, message_id: "m" });
  const message = { message_id: `u${run}`, role: "user", content: [{ type: "text", text: `go on ${run}` }] };
  session.say("user_message", { message });
  session.say("message_start", { message_id: `a${run}`, model: "m", attempt: 1 });
  for (let at = 0; at < 90; at++) session.say("text_delta", { text: words(at) });
  session.say("message_stop", { message_id: `a${run}`, stop_reason: "end_turn", usage: {} });
  session.say("run_finished", { run_id: `r${run}`, status: "completed", iterations: 1 });
}
session.say("run_started", { run_id: "run_z", message_id: "m" });
session.say("run_status", { run_id: "run_z", status: "awaiting_llm", iterations: 0 });
session.say("message_start", { message_id: "z", model: "m", attempt: 1 });

let timer = null;
session.onReader = () => {
  if (timer || seconds === 0) return;
  const begun = Date.now();
  let sent = 0;
  timer = setInterval(() => {
    const due = Math.min(seconds * 500, (Date.now() - begun) / 2);
    for (; sent < due; sent++) session.say("text_delta", { text: words(sent) });
  }, 4);
};
const { address } = serve([session]);

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, serviceWorkers: "block" });
const page = await context.newPage();
page.on("pageerror", (error) => console.log("error in the page:", String(error)));
await page.goto(`${address}/#code=x`);
await page.waitForSelector("#message");

/** Opens the session, and returns when its last lines are drawn, in milliseconds, by the page's clock. */
const open = () =>
  page.evaluate(async () => {
    const began = performance.now();
    location.hash = "#/ses_load";
    while (!document.querySelector("[role=log] article")) await new Promise((done) => setTimeout(done, 4));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return Math.round(performance.now() - began);
  });
const cdp = await context.newCDPSession(page);
const heap = async () => {
  // What waits for a weak reference goes with the second collection.
  await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("HeapProfiler.collectGarbage");
  return Number(((await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6).toFixed(1));
};
await page.evaluate(() => {
  window.frames_ = [];
  window.slow_ = [];
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) {
      const scripts = one.scripts.map(
        (script) => `${script.invoker} ${Math.round(script.duration)} (layout ${Math.round(script.forcedStyleAndLayoutDuration)})`,
      );
      const draw = Math.round(one.startTime + one.duration - one.styleAndLayoutStart);
      window.slow_.push(`${Math.round(one.startTime)}: ${Math.round(one.duration)} ms, drawing ${draw}: ${scripts}`);
    }
  }).observe({ type: "long-animation-frame" });
  let last = performance.now();
  const next = (now) => {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
});
const frames = () =>
  page.evaluate(() => {
    const sorted = window.frames_.splice(0).toSorted((a, b) => a - b);
    const of = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]?.toFixed(1);
    const slow = sorted.filter((time) => time > 50).length;
    return `${sorted.length} frames, p50 ${of(0.5)}, p95 ${of(0.95)}, longest ${of(1)} ms, over 50 ms: ${slow}`;
  });

const slow = async () => {
  const found = await page.evaluate(() => window.slow_.splice(0));
  if (process.env.PROFILE) console.log(found.join("\n"));
};

if (process.env.PROFILE === "cpu") {
  await cdp.send("Profiler.enable");
  await cdp.send("Profiler.start");
}
console.log("readable after", await open(), "ms");
await page.waitForTimeout(5000);
if (process.env.PROFILE === "cpu") {
  const { profile } = await cdp.send("Profiler.stop");
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const own = {};
  profile.samples.forEach((id, at) => {
    const { functionName, url, lineNumber, columnNumber } = nodes.get(id);
    const name = `${functionName} ${url.split("/").pop()}:${lineNumber}:${columnNumber}`;
    own[name] = (own[name] ?? 0) + profile.timeDeltas[at] / 1000;
  });
  const most = Object.entries(own).sort((a, b) => b[1] - a[1]);
  console.log(most.slice(0, 14).map(([name, time]) => `${Math.round(time)} ms ${name}`).join("\n"));
}
console.log("the first 5 s:", await frames());
await slow();
if (seconds > 10) {
  await page.waitForTimeout(5000);
  const before = await heap();
  // Collecting the garbage stopped the page.
  await page.waitForTimeout(200);
  await frames();
  await page.waitForTimeout((seconds - 11) * 1000);
  console.log("then:", await frames());
  await slow();
  console.log("heap after 10 s", before, "MB, at the end", await heap(), "MB");
}
clearInterval(timer);
if (events > 0) {
  console.log("heap", await heap(), "MB");
  await page.reload();
  await page.waitForSelector("[role=log] article");
  await page.waitForTimeout(2000);
  await page.goto(`${address}/#/`);
  await page.waitForSelector("#message");
  await page.waitForTimeout(500);
  console.log("readable again, from what is stored, after", await open(), "ms");
  await page.waitForTimeout(1500);
  await page.click('button[aria-label="History"]');
  const jump = (to) =>
    page.evaluate(async (to) => {
      const slider = document.querySelector(".slider");
      const began = performance.now();
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(slider, String(to));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return Math.round(performance.now() - began);
    }, to);
  const places = [events * 0.5, events * 0.5 - 1, events * 0.5 - 2, events * 0.99, events * 0.4, 1, events * 0.5];
  for (const place of places) console.log("slider to", place, "in", await jump(Math.floor(place)), "ms");
}
await browser.close();
process.exit(0);
