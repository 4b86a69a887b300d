import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { makeRecords } from "../../src/import/records.fixture.ts";
import { createProgram } from "../dunlin-program.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-output-"));
const { start, run } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));
after(() => rmSync(folder, { recursive: true, force: true }));

test("an export to standard output writes nothing else there, and fails when its reader stops early", async () => {
  const { merchantId } = JSON.parse((await run(["merchant", "create", "--name", "Moving", "--json"])).out);
  const [record] = makeRecords("invoices", 0);
  const path = join(folder, "invoices.jsonl");
  writeFileSync(path, `${JSON.stringify(record)}\n`);
  const words = ["--merchant", merchantId, "--as", "invoices"];
  assert.equal((await run(["import", path, ...words])).code, 0);
  const { code, out, err } = await run(["export", "-", ...words]);
  assert.deepEqual([code, JSON.parse(out), err], [0, record, "Exported 1 row.\n"]);
  await run(["export", "again.jsonl", ...words]);
  assert.equal(readFileSync(join(folder, "again.jsonl"), "utf8"), out);
  const child = start(["export", "-", ...words]);
  child.stdout!.destroy();
  const said = text(child.stderr!);
  assert.deepEqual(await once(child, "close"), [1, null]);
  assert.match(await said, /^dunlin export: Standard output closed before the export was complete/);
});
