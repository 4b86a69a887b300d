import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { startEmbedded } from "../../src/postgres/embedded/start.ts";
import { openDatabaseTunnel } from "../database-tunnel.ts";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";
import { removeAtExit } from "../test-server.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-hung-"));
removeAtExit(folder);
const { start } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));

test("the service exits within 35 seconds of SIGTERM when its database hangs", {
  timeout: 120_000,
}, async (t) => {
  // A separate server, because the service refuses the tests' server, which may lose acknowledged data.
  const embedded = await startEmbedded({ dataDir: join(folder, "postgres"), log: pino({ level: "silent" }) });
  t.after(() => embedded.stop());
  const tunnel = await openDatabaseTunnel(embedded.address);
  t.after(() => tunnel.close().then(embedded.stop));
  const child = start(["serve"], { DATABASE_URL: tunnel.url, DUNLIN_PORT: String(await findFreePort()) });
  t.after(() => child.kill("SIGKILL"));
  let out = "";
  let log = "";
  child.stdout!.on("data", (piece) => {
    out += piece;
  });
  child.stderr!.on("data", (piece) => {
    log += piece;
  });
  for (let looks = 0; !out.includes("dunlin is ready"); looks++) {
    assert.ok(looks < 300, log);
    await sleep(100);
  }
  tunnel.hold();
  await sleep(2_000);
  const askedMs = performance.now();
  child.kill("SIGTERM");
  const [code, signal] = await once(child, "exit");
  const tookS = (performance.now() - askedMs) / 1_000;
  assert.ok(tookS < 36, `${tookS} s`);
  assert.deepEqual([code, signal], [1, null]);
  assert.match(log, /service\.stop_cut_short/);
});
