import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import { startEmbedded } from "../../src/postgres/embedded/start.ts";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-demo-"));
const { run } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a demo reports its port and exits with code 69 when the port is taken", { timeout: 60_000 }, async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const { code, out, err } = await run(["demo"], { DUNLIN_PORT: String(port) });
  assert.equal(code, 69);
  assert.match(err, /DUNLIN_PORT .* is in use/);
  assert.doesNotMatch(out, /^Deleted/m);
  const ports = { DUNLIN_PORT: String(await findFreePort()), DUNLIN_METRICS_PORT: String(port) };
  assert.match((await run(["demo"], ports)).err, new RegExp(`DUNLIN_METRICS_PORT \\(.*:${port}\\) +is in use`));
});

test("a demo does not touch its folder while another demo uses it", { timeout: 60_000 }, async (t) => {
  const dataDir = join(folder, "data", "demo", "postgres");
  const other = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  t.after(() => other.stop());
  const { code, out, err } = await run(["demo"], { DUNLIN_PORT: String(await findFreePort()) });
  assert.equal(code, 1);
  assert.match(err, /another service runs on .*demo.postgres: stop it/);
  assert.doesNotMatch(out, /^Deleted/m);
  assert.ok(existsSync(join(dataDir, "cluster", "PG_VERSION")));
});

test("the demo with a Stripe account tells what happens to failed invoices, beside Stripe's own retries", async () => {
  const words = ["demo", "--stripe", "--day-seconds", "1", "--customers", "400", "--seconds", "10"];
  const { code, out, err } = await run(words, { DUNLIN_PORT: String(await findFreePort()) });
  assert.equal(code, 0, err);
  assert.match(out, /^Connected to Stripe in test mode/m);
  assert.match(out, /the first charge was declined: /);
  assert.match(out, /Dunlin takes over, Stripe's retries are off$/m);
  assert.match(out, /^\d+ invoices failed so far\. The same customers and the same luck/m);
  assert.match(out, /^ {2}invoices +\d+\.\d % with Dunlin, \d+\.\d % with Stripe's own retries/m);
});

test("the demo reports what it discards and how to call its API, and ends with a ready-to-run command", async () => {
  const environment = { DUNLIN_PORT: String(await findFreePort()) };
  const { code, out } = await run(["demo", "--day-seconds", "1", "--seconds", "12"], environment);
  assert.equal(code, 0);
  assert.match(out, /^Deleted +data of the previous demo in .*demo$/m);
  for (const name of ["CA file", "Key file"]) assert.ok(existsSync(new RegExp(`^${name} +(.+)$`, "m").exec(out)![1]!));
  const [, folder] = /^Commands .* DUNLIN_DATA="(.+)" npx dunlin attention$/m.exec(out)!;
  const listed = await run(["merchant", "list"], { DUNLIN_DATA: folder! });
  assert.match(listed.out, /Harbor Coffee Club/);
  const [, said, words] = /^ {2}DUNLIN_DATA="(.+)" npx dunlin (explain inv_\d+)$/m.exec(out)!;
  const explained = await run(words!.split(" "), { DUNLIN_DATA: said! });
  assert.equal(explained.code, 0, explained.err);
  assert.match(explained.out, /^.+\nTimes are those of .*\nLast done .*\n[\s\S]*\nHistory\n/);
});
