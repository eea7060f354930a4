// After the build: leaves each file only as it is compressed, as the server embeds it, and the stamp of the
// sources.
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stamp } from "./stamp.mjs";

const dist = new URL("../dist/", import.meta.url).pathname;

function* files(folder) {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

let total = 0;
for (const path of [...files(dist)]) {
  const bytes = readFileSync(path);
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  writeFileSync(`${path}.br`, brotli);
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  rmSync(path);
  total += brotli.length;
  console.log(`${path.slice(dist.length)} ${bytes.length} → ${brotli.length}`);
}
writeFileSync(join(dist, "STAMP"), `${stamp()}\n`);
console.log(`compressed: ${(total / 1024).toFixed(1)} KiB`);
