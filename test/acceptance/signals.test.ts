import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createProgram } from "../dunlin-program.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-signals-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const { start: started } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));

test("a signal ends a simulation while it computes", async () => {
  const path = join(folder, "endless.mjs");
  // A world that reports when its first invoice is requested, and then takes longer than a person would wait.
  writeFileSync(
    path,
    `export const world = () => ({ name: "endless", charge() {}, approval: () => 1,
       bills() { process.stderr.write("begun"); const end = Date.now() + 60_000; while (Date.now() < end); return []; } });`,
  );
  const simulation = started(["simulate", "--world", path]);
  await once(simulation.stderr!, "data");
  const began = performance.now();
  simulation.kill("SIGTERM");
  await once(simulation, "close");
  assert.ok(performance.now() - began < 30_000);
});
