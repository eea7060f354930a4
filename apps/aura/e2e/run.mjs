// Runs all journeys through the built page: those at a made-up server, and those at the real one.
//
//     npm run e2e                                   the program is ../../target/debug/agentx, or AGENTX
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exit } from "node:process";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const program = process.env.AGENTX ?? here("../../../target/debug/agentx");
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const run = (script, ...args) => spawnSync("node", [here(script), ...args], { stdio: "inherit" }).status === 0;

let isGood = run("made-up.mjs", chromium);
if (existsSync(program)) {
  const home = mkdtempSync(join(tmpdir(), "aura-"));
  mkdirSync(join(home, ".config/agentx"), { recursive: true });
  mkdirSync(join(home, "work"));
  writeFileSync(join(home, ".config/agentx/config.yaml"), "model: scripted\n");
  const env = { ...process.env, HOME: home };
  const server = spawn(program, ["serve", "--json", "--listen", "127.0.0.1:0"], { cwd: join(home, "work"), env });
  server.stderr.pipe(process.stderr);
  try {
    isGood = run("journeys.mjs", await address(server), chromium) && isGood;
  } finally {
    server.kill("SIGINT");
    await new Promise((done) => server.once("exit", done));
    rmSync(home, { recursive: true });
  }
} else {
  console.log(`no journeys at the real server: ${program} is not built`);
}
exit(isGood ? 0 : 1);

/** Returns the address with a code, which the server prints as JSON. */
function address(server) {
  let text = "";
  return new Promise((resolve, reject) => {
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    server.stdout.on("data", (part) => {
      text += part;
      const line = text.split("\n").find((one) => one.startsWith("{"));
      if (line && text.includes("\n")) resolve(JSON.parse(line).page);
    });
  });
}
