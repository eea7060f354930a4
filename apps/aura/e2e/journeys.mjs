// Journeys through the page in Chromium, against a server with the offline demo in a folder of its own.
//
//     node e2e/journeys.mjs 'http://127.0.0.1:5200/#code=…' [/usr/bin/chromium]
import { argv, exit } from "node:process";
import { chromium } from "playwright-core";

const [, , address, executablePath = "/usr/bin/chromium"] = argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let failures = 0;

function ok(name, is) {
  if (!is) failures += 1;
  console.log(is ? "ok  " : "FAIL", name);
}

const p = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US" })).newPage();
p.on("pageerror", (error) => ok(`no error in the page: ${error}`, false));
await p.goto(address);
await p.waitForSelector("#message");
await p.waitForTimeout(500);
ok("the code leaves the address", !p.url().includes("code="));
await p.fill("#message", "hello smoke zebra");
await p.keyboard.press("Enter");
await p.waitForSelector('[data-standing="done"]');
await p.waitForTimeout(400);
const url = p.url();
const id = url.split("/").pop();
// wheel between tabs
const t = await p.context().newPage();
await t.goto(url);
await t.waitForSelector("text=You drive this session from");
await t.click("text=Take control");
await t.waitForSelector("#message", { timeout: 8000 });
await p.waitForSelector("text=You drive this session from", { timeout: 8000 });
ok("a second tab takes control", true);
await t.fill("#message", "count to 300");
await t.keyboard.press("Enter");
await t.waitForSelector('[data-standing="writing"]');
await t.waitForTimeout(400);
await t.keyboard.press("Escape");
await t.waitForSelector('[data-standing="interrupted"]', { timeout: 8000 });
ok("Escape stops", true);
const same = async () => [await p.locator("[role=log]").innerText(), await t.locator("[role=log]").innerText()];
// The tab in the background draws now and then.
let isSame = false;
for (let round = 0; round < 25 && !isSame; round++) {
  await p.waitForTimeout(200);
  const [a, b] = await same();
  isSame = a === b;
}
ok("both tabs show the same", isSame);
// rename
await t.click("h1 button");
await t.fill('input[aria-label="Rename"]', "Renamed quagga");
await t.keyboard.press("Enter");
await t.waitForSelector("h1 >> text=Renamed quagga", { timeout: 5000 });
ok("rename", true);
await p.waitForSelector("h1 >> text=Renamed quagga", { timeout: 5000 });
ok("the other tab sees the name", true);
// search
await t.fill("#search", "zebra");
await t.waitForTimeout(900);
ok("search in text", (await t.locator("text=Found in text").count()) > 0);
await t.fill("#search", "quagga");
await t.waitForTimeout(500);
ok("search by title", (await t.locator(`a[href="#/${id}"]`).count()) === 1);
await t.fill("#search", "");
// theme and language by palette
await t.keyboard.press("Control+k");
await t.keyboard.type("dark");
await t.keyboard.press("Enter");
await t.waitForTimeout(300);
ok("dark", await t.evaluate(() => document.documentElement.classList.contains("dark")));
await t.keyboard.press("Control+k");
await t.keyboard.type("deutsch");
await t.keyboard.press("Enter");
await t.waitForTimeout(300);
ok(
  "German",
  (await t.locator("text=Neue Sitzung").count()) > 0 &&
    (await t.evaluate(() => document.documentElement.lang)) === "de",
);
// state and exact context, at the end and in the past
await t.click('[aria-label="Verlauf"]');
await t.click('role=radio[name="Zustand"]');
ok("state", (await t.locator("text=Modellaufrufe").count()) > 0);
await t.click('role=radio[name="Kontext"]');
await t.waitForSelector("text=hello smoke zebra", { timeout: 5000 });
ok("the request to the model has what was written", true);
await t.click('role=radio[name="Gespräch"]');
// fork from the past
await t.locator(".slider").evaluate((e) => {
  const s = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  s.call(e, 20);
  e.dispatchEvent(new Event("input", { bubbles: true }));
});
await t.waitForTimeout(300);
await t.click("text=Hier abzweigen");
await t.waitForTimeout(1500);
ok("fork", t.url() !== url && t.url().includes("ses_"));
await t.click('[aria-label="Details"]');
await t.waitForSelector("text=Abzweigungen", { timeout: 5000 });
ok("the tree of forks", (await t.locator(`[role=dialog] a[href="#/${id}"]`).count()) === 1);
ok("the model and the mode", (await t.locator("[role=dialog] >> role=radio[name='Fragen']").count()) === 1);
await t.keyboard.press("Escape");
await t.waitForTimeout(400);
await t.evaluate(() => document.activeElement?.blur());
await t.keyboard.press("?");
await t.waitForSelector("text=Tastenkürzel");
await t.click("[role=dialog] >> text=Verbrauch");
await t.waitForSelector("[role=dialog] >> text=Summe", { timeout: 5000 });
ok("usage by session", (await t.locator("[role=dialog] tbody tr").count()) > 0);
await t.keyboard.press("Escape");
// offline reading after a reload, with the service worker
await p.reload();
await p.waitForSelector("[role=log]");
await p.waitForTimeout(1500);
await p.context().setOffline(true);
await p.reload().catch((e) => console.log("reload", String(e).slice(0, 80)));
await p.waitForTimeout(1500);
ok("offline: conversation", (await p.locator("[role=log] >> text=hello smoke zebra").count()) > 0);
ok("offline: bar", (await p.locator("[role=alert] >> text=Offline").count()) > 0);
await p.context().setOffline(false);
await p.waitForTimeout(3500);
ok("online again", (await p.locator("[role=alert] >> text=Offline").count()) === 0);
// horizontal overflow at 390
await p.setViewportSize({ width: 390, height: 844 });
await p.waitForTimeout(300);
ok("390 px: nothing overflows", await p.evaluate(() => document.documentElement.scrollWidth <= 390));
await p.setViewportSize({ width: 1280, height: 800 });
await p.keyboard.press("Control+k");
await p.keyboard.type("abmelden");
await p.waitForTimeout(200);
if ((await p.locator("[role=option]").count()) === 0) {
  await p.keyboard.press("Control+A");
  await p.keyboard.type("sign out");
}
await p.keyboard.press("Enter");
await p.waitForSelector("text=agentx serve --open", { timeout: 5000 });
ok("sign out", true);
const left = await p.evaluate(async () => {
  const r = await new Promise((y) => {
    const q = indexedDB.open("aura");
    q.onsuccess = () => y(q.result);
  });
  const n = await new Promise((y) => {
    const q = r.transaction("batches").objectStore("batches").count();
    q.onsuccess = () => y(q.result);
  });
  return [n, localStorage.getItem("aura.login")];
});
ok("signing out leaves nothing " + JSON.stringify(left), left[0] === 0 && left[1] === null);
await browser.close();
exit(failures === 0 ? 0 : 1);
