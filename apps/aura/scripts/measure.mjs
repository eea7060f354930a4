// Counts the requests of the page and measures its first paint, in Chromium, signed in and loaded again.
//
//     node scripts/measure.mjs 'http://127.0.0.1:5200/#code=…' [/usr/bin/chromium]
import { argv } from "node:process";
import { chromium } from "playwright-core";

const [, , address, executablePath = "/usr/bin/chromium"] = argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ serviceWorkers: "block" });
const page = await context.newPage();
await page.goto(address);
await page.waitForFunction(() => localStorage.getItem("aura.login") !== null);
await page.waitForSelector("#message");

const requests = [];
page.on("request", (request) => requests.push(new URL(request.url()).pathname));
page.on("websocket", (socket) => requests.push(new URL(socket.url()).pathname));
const paints = [];
for (let round = 0; round < 10; round++) {
  requests.length = 0;
  await page.reload();
  await page.waitForSelector("#message");
  await page.waitForLoadState("networkidle");
  const entry = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  paints.push(Math.round(entry ?? NaN));
}
paints.sort((a, b) => a - b);
console.log(`requests (${requests.length}): ${requests.join(" ")}`);
console.log(`first contentful paint, 10 loads: median ${paints[5]} ms, longest ${paints.at(-1)} ms`);
await browser.close();
