// The stamp of the sources: a SHA-256 over the path and the hash of each file from which the page is built. A
// Rust test computes the same without Node, so that nobody commits a page of other sources.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url).pathname;
/** What the page is built from, relative to the folder of the page. */
const SOURCES = [
  "../../docs/protocol/agentx.v1.d.ts",
  "index.html",
  "package-lock.json",
  "package.json",
  "public",
  "scripts/finish.mjs",
  "scripts/stamp.mjs",
  "src",
  "tsconfig.json",
  "vite.config.ts",
];

const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");

function files(path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => files(`${path}/${name}`));
}

/** Returns the stamp: one line for each file, sorted by path, hashed as a whole. */
export function stamp() {
  const paths = SOURCES.flatMap(files).sort((a, b) => (Buffer.compare(Buffer.from(a), Buffer.from(b))));
  return sha(paths.map((path) => `${sha(readFileSync(join(root, path)))}  ${path}\n`).join(""));
}

if (argv[1] === fileURLToPath(import.meta.url)) console.log(stamp());
