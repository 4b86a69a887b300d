import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkPortIsFree } from "../../src/http/listener.ts";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-taken-port-"));
const { run } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));
after(() => rmSync(folder, { recursive: true, force: true }));

test("the service leaves the database unchanged when its port is taken", { timeout: 60_000 }, async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const taken = String((other.address() as AddressInfo).port);
  const free = String(await findFreePort());
  for (const [name, ports] of [
    ["DUNLIN_PORT", { DUNLIN_PORT: taken }],
    ["DUNLIN_METRICS_PORT", { DUNLIN_PORT: free, DUNLIN_METRICS_PORT: taken }],
  ] as const) {
    const { code, err } = await run(["serve", "--wait", "1s"], ports);
    assert.equal(code, 69);
    assert.match(err, new RegExp(`${name} \\(localhost:${taken}\\) +is in use`));
    assert.doesNotMatch(err, /migration\.applied/, name);
  }
});

test("the service keeps its port closed while it starts", async () => {
  const free = await findFreePort();
  await checkPortIsFree("127.0.0.1", free);
  await assert.rejects(once(connect(free, "127.0.0.1"), "connect"), { code: "ECONNREFUSED" });
});
