import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { realPorts } from "../delivery/deliverer.fixture.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { listMerchants } from "../tables/merchants.ts";
import { createFirstApiKey } from "./serve.ts";

test("the first start logs its merchant and key in the audit log, and a second start creates neither", async () => {
  const { db, drop } = await createTestDatabase();
  const folder = mkdtempSync(join(tmpdir(), "dunlin-serve-"));
  const keyPath = join(folder, "api-key");
  try {
    const store = { db, ports: realPorts, secretKeys: [Buffer.alloc(32, 5)] };
    const apiKey = await createFirstApiKey(store, keyPath);
    assert.equal(readFileSync(keyPath, "utf8").trim(), apiKey);
    assert.equal(await createFirstApiKey(store, keyPath), null);
    const [merchant] = await listMerchants(db);
    const lines = await listAuditEntries(db, merchant!.id, {}, 10);
    // Both entries may have the same millisecond, so their order is undefined.
    assert.deepEqual(lines.map(({ actor, operation, object }) => [actor, operation, object]).sort(), [
      ["command line", "key.created", `…${apiKey!.slice(-4)}`],
      ["command line", "merchant.created", "My company"],
    ]);
  } finally {
    await drop();
    rmSync(folder, { recursive: true });
  }
});
