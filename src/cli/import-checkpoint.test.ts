import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const TIMES = 2000;

test("two processes that run the same import never read a half-written checkpoint", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-checkpoint-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "x.csv");
  writeFileSync(file, "id\n");
  const program = `import { randomUUID } from "node:crypto";
    import { openImportCheckpoint } from ${JSON.stringify(join(import.meta.dirname, "import-checkpoint.ts"))};
    const checkpoint = openImportCheckpoint(${JSON.stringify(folder)}, ${JSON.stringify(file)}, [], randomUUID);
    for (let n = 0; n < ${TIMES}; n++) {
      checkpoint.setStoredRows(n);
      checkpoint.storedRows();
    }`;
  const ends = [1, 2].map(() =>
    once(spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" }), "exit"),
  );
  assert.deepEqual(
    (await Promise.all(ends)).map(([code]) => code),
    [0, 0],
  );
  assert.equal(readdirSync(join(folder, "imports")).length, 1);
});
