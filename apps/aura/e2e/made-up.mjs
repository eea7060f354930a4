// What the real server cannot be brought to on purpose: long sessions, cuts in the middle of a stream, forms.
//
//     node e2e/made-up.mjs [/usr/bin/chromium]
import { exit } from "node:process";
import { chromium } from "playwright-core";
import { serve, Session } from "./fake.mjs";

const executablePath = process.argv[2] ?? "/usr/bin/chromium";
let failures = 0;

function ok(name, is, more = "") {
  if (!is) failures += 1;
  console.log(is ? "ok  " : "FAIL", name, is ? "" : more);
}

const words = (id, role, text) => ({ message: { message_id: id, role, content: [{ type: "text", text }] } });

function begun(id, title) {
  const session = new Session(id, { info: { title } });
  session.say("session_created", { model: "m", workspace: "/w" }, null);
  session.say("agent_started", { name: "main" });
  return session;
}

const long = begun("ses_long", "Long");
for (let run = 0; run < 400; run++) {
  long.say("run_started", { run_id: `r${run}`, message_id: `m${run}` });
  long.say("user_message", words(`m${run}`, "user", `question ${run}`));
  long.say("message_start", { message_id: `a${run}`, model: "m", attempt: 1 });
  for (let at = 0; at < 40; at++) long.say("text_delta", { text: `word${at} ${at % 10 === 9 ? "\n\n" : ""}` });
  long.say("message_stop", { message_id: `a${run}`, stop_reason: "end_turn", usage: {} });
  long.say("run_finished", { run_id: `r${run}`, status: "completed", iterations: 1 });
}
const form = begun("ses_form", "Form");
form.say("run_started", { run_id: "r", message_id: "m" });
form.say("approval_requested", {
  tool_call_id: "q",
  name: "tracker__create",
  input: { message: "Details?" },
  reason: "the server asks",
  suggested: { effect: "allow", tool: "x" },
  form: {
    type: "object",
    required: ["kind"],
    properties: { kind: { type: "string", enum: ["bug", "chore"] }, points: { type: "integer" }, urgent: { type: "boolean" } },
  },
});
const cut = begun("ses_cut", "Cut");
const found = [{ session_id: "ses_long", seq: long.frames.find((one) => one.payload?.message?.message_id === "m200").seq, role: "user", snippet: "question 200" }];
const asked = [];
const memories = [
  { id: 1, text: "likes tea", state: "proposed", pinned: false, created_at: 1, changed_at: 1 },
  { id: 2, text: "likes coffee", state: "proposed", pinned: false, created_at: 1, changed_at: 1 },
];
const remembered = (url) => ({
  enabled: true,
  waiting: memories.filter((one) => one.state === "proposed").length,
  accepted: memories.filter((one) => one.state === "accepted").length,
  items: memories.filter((one) => one.state === url.searchParams.get("state")),
});
function changed(url, { method, body }) {
  const at = memories.findIndex((one) => url.pathname.endsWith(`/${one.id}`));
  asked.push({ method, body });
  if (method === "DELETE") return void memories.splice(at, 1);
  return Object.assign(memories[at], body);
}
const KEY = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const subscriptions = [];
function pushed(_, { method, body }) {
  if (method === "POST") subscriptions.push(body);
  if (method === "DELETE") subscriptions.length = 0;
  return { public_key: KEY, subscribed: subscriptions.length > 0 };
}
const more = { "/v1/search": found, "/v1/memories": remembered, "/v1/memories/{id}": changed, "/v1/push": pushed };
const made = serve([long, form, cut], { port: 5297, more });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US", serviceWorkers: "block" });
const page = await context.newPage();
page.on("pageerror", (error) => ok("no error in the page", false, String(error)));
await page.goto(`${made.address}/#code=x`);
await page.waitForSelector("#message");

// a long session
await page.goto(`${made.address}/#/ses_long`);
await page.waitForSelector("text=question 399");
ok("the end of a long session comes first", true);
await page.waitForTimeout(1500);
const inPage = await page.locator("article").count();
ok("what is far away is not in the page", inPage > 10 && inPage < 400, inPage);
const blank = await page.evaluate(async () => {
  const box = document.getElementById("transcript");
  const { left, width, top, height } = box.getBoundingClientRect();
  const picture = () => new Promise((done) => requestAnimationFrame(done));
  let blank = 0;
  for (let at = box.scrollHeight; at > 0; at -= height * 0.9) {
    box.scrollTop = at;
    await picture();
    await picture();
    const seen = [0.25, 0.5, 0.75].some((part) => document.elementFromPoint(left + width / 2 - 200, top + height * part)?.closest("article"));
    if (!seen) blank += 1;
  }
  return blank;
});
ok("scrolling finds no blank rows", blank === 0, blank);
ok("the beginning is there", (await page.locator("text=question 0").count()) > 0);

// a search leads to its place
await page.fill("#search", "question 200");
await page.click("text=question 200");
await page.waitForTimeout(600);
const isSeen = await page.evaluate(() => {
  const entry = [...document.querySelectorAll("article")].find((one) => one.innerText.trim() === "question 200");
  const box = document.getElementById("transcript").getBoundingClientRect();
  const at = entry?.getBoundingClientRect();
  return at !== undefined && at.top >= box.top && at.bottom <= box.bottom;
});
ok("a search opens the session where it was found", isSeen);

// keys
await page.fill("#search", "");
await page.evaluate(() => document.activeElement?.blur());
await page.keyboard.press("j");
const first = await page.evaluate(() => document.activeElement?.tagName);
await page.keyboard.press("j");
ok("j moves from entry to entry", first === "ARTICLE" && (await page.evaluate(() => document.activeElement?.tagName)) === "ARTICLE");
await page.keyboard.press("G");
await page.waitForTimeout(300);
ok("G goes to the end", await page.locator("text=question 399").isVisible());
await page.keyboard.press("?");
await page.waitForSelector("text=Keyboard shortcuts");
ok("? shows the keys, and what is behind cannot be reached", await page.evaluate(() => document.querySelector("[inert] #message") !== null));
await page.keyboard.press("Escape");
await page.waitForTimeout(400);
await page.keyboard.press("Alt+ArrowDown");
await page.waitForTimeout(400);
ok("Alt-Down opens the next session", page.url().endsWith("ses_form"));

// a form
await page.selectOption("select", "chore");
await page.fill("input[type=number]", "3");
await page.check("input[type=checkbox]");
await page.click("role=button[name='Answer']");
await page.waitForTimeout(300);
const answer = form.received.find((one) => one.type === "approval")?.payload;
ok("a form gives its answer as JSON", answer?.note === '{"kind":"chore","points":3,"urgent":true}' && answer.decision === "once", JSON.stringify(answer));

// memories
await page.keyboard.press("Control+k");
await page.keyboard.type("memory");
await page.keyboard.press("Enter");
await page.waitForSelector("role=radio[name='Inbox (2)']");
const row = (words) => page.locator("[role=dialog] li", { hasText: words });
await row("likes tea").locator("role=button[name='Edit']").click();
await page.fill("[aria-label='Text of the memory']", "likes green tea");
await page.click("role=button[name='Save and accept']");
await page.waitForSelector("role=radio[name='Inbox (1)']");
await row("likes coffee").locator("role=button[name='Refuse']").click();
await page.waitForSelector("text=Nothing waits for you.");
ok("the inbox accepts, changes and refuses", JSON.stringify(asked) === JSON.stringify([
  { method: "PATCH", body: { text: "likes green tea", state: "accepted" } },
  { method: "PATCH", body: { state: "refused" } },
]), JSON.stringify(asked));
await page.click("role=radio[name='Accepted (1)']");
await row("likes green tea").locator("role=button[name='Always give it to models']").click();
await row("likes green tea").locator("text=always").waitFor();
await row("likes green tea").locator("role=button[name='Take back']").click();
await page.click("role=radio[name='Refused']");
await row("likes green tea").locator("role=button[name='Delete']").click();
await page.click("role=button[name='Delete for good?']");
await row("likes green tea").waitFor({ state: "detached" });
ok("a memory is taken back and deleted", memories.length === 1 && memories[0].text === "likes coffee", JSON.stringify(memories));
await page.keyboard.press("Escape");
await page.waitForTimeout(400);

// messages while the page is closed: Chromium delivers what a push service would
const phone = await browser.newContext({ viewport: { width: 390, height: 844 }, locale: "de-DE", permissions: ["notifications"] });
await phone.addInitScript(() => {
  // Debian's Chromium has no push service; this is what one gives to the page.
  let kept = null;
  const key = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/=+$/, "");
  PushManager.prototype.getSubscription = async () => kept;
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    kept = {
      options: { applicationServerKey: applicationServerKey.buffer },
      toJSON: () => ({ endpoint: "https://push.example/1", expirationTime: null, keys: { p256dh: key([4, 1]), auth: key([7]) } }),
      unsubscribe: async () => ((kept = null), true),
    };
    return kept;
  };
});
const held = await phone.newPage();
held.on("pageerror", (error) => ok("no error in the page with messages", false, String(error)));
await held.goto(`${made.address}/#code=x`);
await held.waitForSelector("#message");
await held.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
await held.keyboard.press("Control+k");
await held.keyboard.type("mitteilungen");
await held.keyboard.press("Enter");
await held.click("text=Einschalten");
await held.waitForSelector("text=Eingeschaltet");
ok("the page subscribes with the keys of the browser alone", JSON.stringify(subscriptions) === JSON.stringify([
  { endpoint: "https://push.example/1", keys: { p256dh: "BAE", auth: "Bw" } },
]), JSON.stringify(subscriptions));
const devtools = await phone.newCDPSession(held);
const registration = new Promise((found) => {
  devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    if (registrations[0]) found(registrations[0].registrationId);
  });
});
await devtools.send("ServiceWorker.enable");
const deliver = async (data) =>
  devtools.send("ServiceWorker.deliverPushMessage", { origin: made.address, registrationId: await registration, data });
const messages = () =>
  held.evaluate(async () => {
    const registered = await navigator.serviceWorker.ready;
    return (await registered.getNotifications()).map((one) => [one.title, one.body, one.tag, one.data]);
  });
const until = async (count) => {
  for (let round = 0; round < 50 && (await messages()).length < count; round++) await held.waitForTimeout(100);
  return messages();
};
await deliver('{"session_id":"ses_form","tool_call_id":"q"}');
const one = JSON.stringify(await until(1));
ok("a message shows words of the page, in its language", one === JSON.stringify([["Ein Agent wartet auf dich", "Ein Aufruf oder eine Frage braucht deine Antwort.", "ses_form", "/#/ses_form"]]), one);
await deliver('{"session_id":"javascript:alert(1)"}');
const two = (await until(2)).find((message) => message[2] !== "ses_form");
ok("a message of something else leads to the list", two?.[2] === "agentx" && two[3] === "/", JSON.stringify(two));
const [worker] = phone.serviceWorkers();
await worker.evaluate(async () => {
  const found = await self.registration.getNotifications({ tag: "ses_form" });
  self.dispatchEvent(new NotificationEvent("notificationclick", { notification: found[0] }));
});
await held.waitForFunction(() => location.hash === "#/ses_form", null, { timeout: 5000 });
ok("a message brings the page to the session", true);
await held.waitForSelector("text=tracker__create");
let left = await messages();
for (let round = 0; round < 30 && left.some((message) => message[2] === "ses_form"); round++) {
  await held.waitForTimeout(100);
  left = await messages();
}
ok("a session that is seen has no message any more", !left.some((message) => message[2] === "ses_form"), JSON.stringify(left));
await held.keyboard.press("Control+k");
await held.keyboard.type("mitteilungen");
await held.keyboard.press("Enter");
await held.click("text=Ausschalten");
await held.waitForSelector("text=Einschalten");
ok("turning it off tells the server", subscriptions.length === 0);
const manifest = await devtools.send("Page.getInstallabilityErrors");
ok("the page can be installed", manifest.installabilityErrors.every((one) => one.errorId === "in-incognito"), JSON.stringify(manifest));
await phone.close();

// cuts while words come
await page.goto(`${made.address}/#/ses_cut`);
await page.waitForTimeout(300);
cut.say("run_started", { run_id: "r", message_id: "m" });
cut.say("message_start", { message_id: "a", model: "m", attempt: 1 });
let said = "";
const CUTS = 200;
for (let at = 0; at < CUTS; at++) {
  for (let word = 0; word < 3; word++) {
    cut.say("text_delta", { text: `w${at}.${word} ` });
    said += `w${at}.${word} `;
  }
  made.cut();
  // Looking at the page makes it connect at once.
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await page.waitForTimeout(at % 10 === 0 ? 60 : 8);
}
await page.evaluate(() => dispatchEvent(new Event("focus")));
await page.waitForFunction((last) => document.querySelector("[role=log]")?.innerText.includes(last), `w${CUTS - 1}.2`, { timeout: 15_000 }).catch(() => undefined);
const shown = await page.locator("[role=log] article").last().innerText();
ok(`after ${CUTS} cuts every word is there once`, shown.trim() === said.trim(), shown.slice(0, 200));
await page.waitForTimeout(800);
await page.reload();
await page.waitForSelector("[role=log] article");
ok("and so it is in what the browser has stored", (await page.locator("[role=log] article").last().innerText()).trim() === said.trim());
await browser.close();
made.close();
exit(failures === 0 ? 0 : 1);
