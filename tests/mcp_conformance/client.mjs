// What the conformance suite starts as the client under test, with the address of its server as the last argument: agentx
// gets to know the server, logs in where it must, as a person would do with a browser, and calls each tool.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const agentx = process.env.AGENTX;
const address = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const home = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
const env = { PATH: process.env.PATH, HOME: home, TERM: "dumb" };
const settings = join(home, ".config", "agentx");
mkdirSync(settings, { recursive: true });
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

const configure = (oauth, answers = "[]") => {
  const server = { url: address, trust_annotations: true, ...(oauth ? { oauth } : {}) };
  const rules = [{ effect: "allow", tool: "mcp", argument: "suite/*" }];
  // YAML takes JSON.
  const all = { model: "scripted", scripted_answers: "answers.yaml", rules, mcp: { suite: server } };
  writeFileSync(join(settings, "answers.yaml"), answers);
  writeFileSync(join(settings, "config.yaml"), JSON.stringify(all));
};
const { client_id, client_secret } = context;
// The client that the suite publishes a description of.
const published = { client_metadata_url: "https://conformance-test.local/client-metadata.json" };
const registered = client_id && { client_id, ...(client_secret ? { client_secret } : {}) };
const given = registered || (scenario === "auth/basic-cimd" ? published : undefined);
configure(given);

const run = (...words) => {
  const done = spawnSync(agentx, ["--cwd", home, ...words], { env, encoding: "utf8", timeout: 20_000 });
  console.log("$ agentx", ...words, `-> ${done.status}\n${done.stdout}${done.stderr}`);
  return { ok: done.status === 0, text: done.stdout + done.stderr, out: done.stdout };
};

// Opens the address that the command prints, as a browser would. Returns whether the login came about.
const logIn = () =>
  new Promise((resolve) => {
    const child = spawn(agentx, ["--cwd", home, "mcp", "login", "suite"], { env, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    let opened = false;
    const hear = (data) => {
      text += data;
      const page = /\n\s+(https?:\/\/\S+)\n/.exec(text)?.[1];
      if (page && !opened) {
        opened = true;
        fetch(page).then((answer) => answer.text(), (error) => console.log(error));
      }
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    const patience = setTimeout(() => child.kill(), 20_000);
    child.on("close", (code) => {
      clearTimeout(patience);
      console.log("login ->", code, text);
      resolve(code === 0);
    });
  });
const wantsLogin = (done) => !done.ok && /mcp login|Auth required/.test(done.text);

const sample = (schema) => {
  const samples = { integer: 3, number: 3, boolean: true, array: [], object: {} };
  return schema?.default ?? samples[schema?.type] ?? "us-west1";
};

// Calls a tool. A login that is too narrow is repeated with the scope that the server names.
const call = async (tool, input) => {
  for (let round = 0; round < 3; round++) {
    const done = run("tools", "run", "--yes", `suite__${tool}`, JSON.stringify(input));
    if (!wantsLogin(done)) return;
    const scope = /requires the scope "([^"]*)"/.exec(done.text)?.[1];
    if (scope) configure({ ...given, scope: `mcp:basic ${scope}` });
    if (!(await logIn())) return;
  }
};

// Runs an agent that calls a tool at a terminal, where a person says yes to each question.
const callAtTerminal = (tool) =>
  new Promise((resolve) => {
    configure(given, `- {call: {tool: ${tool}, input: {}}}\n- {result: "*", say: Done.}\n`);
    const child = spawn("script", ["-qfec", `${agentx} --cwd ${home} run hello`, "/dev/null"], { env });
    let text = "";
    let answered = 0;
    child.stdout.on("data", (data) => {
      text += data;
      if (text.split("answer?").length - 1 > answered) {
        answered++;
        child.stdin.write("y\r");
      }
    });
    const patience = setTimeout(() => child.kill(), 20_000);
    child.on("close", () => {
      clearTimeout(patience);
      console.log("terminal:", text);
      resolve();
    });
  });

// A server may refuse even a token that it has just taken: a person logs in again then.
for (let round = 0; round < 2 && wantsLogin(run("mcp", "try", "suite")); round++) await logIn();
const tools = JSON.parse(run("mcp", "show", "suite", "--json").out).tools;
const focal = tools.find(({ tool }) => tool.endsWith("json_schema_2020_12_tool"));
if (scenario.startsWith("elicitation")) await callAtTerminal(tools[0].name);
else if (context.toolCalls) for (const { name, arguments: input } of context.toolCalls) await call(name, input);
else
  for (const { tool, input_schema: schema } of tools) {
    const wanted = (schema.required ?? []).map((key) => [key, sample(schema.properties?.[key])]);
    const input = Object.fromEntries(wanted);
    if (input.schema && focal) input.schema = focal.input_schema;
    await call(tool.split("/")[1], input);
  }
