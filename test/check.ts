// `npm run check`: runs all checks that need no database in parallel, and prints failures.
import { spawn } from "node:child_process";
import { once } from "node:events";

const CHECKS = [
  ["tsc", "--noEmit"],
  ["biome", "check", "."],
  ["node", "src/write-openapi.ts", "--check"],
  ["node", "sdk/generate-records.ts", "--check"],
  ["node", "src/write-reference.ts", "--check"],
  ["node", "test/prose.ts"],
] as const;

const results = await Promise.all(
  CHECKS.map(async ([program, ...words]) => {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    let says = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        says += chunk;
      });
    const [code] = (await once(child, "close")) as [number | null];
    return { name: [program, ...words].join(" "), code, says };
  }),
);
for (const { name, code, says } of results) if (code !== 0) console.error(`${name} ended with ${code}\n${says}`);
process.exitCode = results.some(({ code }) => code !== 0) ? 1 : 0;
