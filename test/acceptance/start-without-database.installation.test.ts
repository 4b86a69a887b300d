import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { openDatabase, prepared } from "../../src/postgres/database.ts";
import { startEmbedded } from "../../src/postgres/embedded/start.ts";
import { databaseUrlOf } from "../database-url.ts";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";
import { removeAtExit } from "../test-server.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-waiting-"));
removeAtExit(folder);
after(() => rmSync(folder, { recursive: true, force: true }));
const log = pino({ level: "silent" });
const server = () => startEmbedded({ dataDir: join(folder, "postgres"), log });
const { start, run } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));

/** Returns the status and body of an answer; status 0 if there is none. */
async function requestPath(port: number, path: string): Promise<[status: number, body: string]> {
  const call = request({ host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: false }).end();
  try {
    const [reply] = await once(call, "response");
    let body = "";
    for await (const piece of reply) body += piece;
    return [reply.statusCode, body];
  } catch {
    return [0, ""];
  }
}

async function until(port: number, path: string, status: number) {
  for (let looks = 0; looks < 300; looks++) {
    const [found, body] = await requestPath(port, path);
    if (found === status) return body;
    await sleep(100);
  }
  throw new Error(`${path} never answered ${status}`);
}

function logOf(child: ChildProcess) {
  const lines: string[] = [];
  child.stderr!.on("data", (piece) => lines.push(String(piece)));
  return () => lines.join("");
}

async function waitForExit(child: ChildProcess) {
  child.kill("SIGTERM");
  const [code] = await once(child, "close");
  return code;
}

test("the service reports on its port that the database is down, and starts when the database comes up", {
  timeout: 90_000,
}, async () => {
  const first = await server();
  const DATABASE_URL = databaseUrlOf(first.address);
  await first.stop();
  const port = await findFreePort();
  const child = start(["serve"], { DATABASE_URL, DUNLIN_PORT: String(port) });
  const logged = logOf(child);
  assert.match(await until(port, "/readyz", 503), /"not ready: the database is out of reach"/);
  assert.deepEqual((await requestPath(port, "/healthz"))[0], 200);
  assert.equal((await requestPath(port, "/v1/recovery_actions"))[0], 503);
  await sleep(1_500);
  assert.equal(logged().match(/database\.unreachable/g)?.length, 1, logged());
  assert.match(logged(), /ENOENT/);
  const second = await server();
  await until(port, "/readyz", 200);
  assert.match(logged(), /database\.reached/);
  assert.equal(await waitForExit(child), 0);
  await second.stop();
});

test("the service stops on request while it waits for its database", { timeout: 60_000 }, async () => {
  const DATABASE_URL = "postgres://dunlin@127.0.0.1:1/dunlin";
  const port = await findFreePort();
  const child = start(["serve", "--roles", "decide"], { DATABASE_URL, DUNLIN_PORT: String(port) });
  const logged = logOf(child);
  for (let looks = 0; looks < 300 && !logged().includes("database.unreachable"); looks++) await sleep(100);
  assert.equal(await waitForExit(child), 0);
});

test("the service starts when the port that it waits for becomes free", { timeout: 60_000 }, async () => {
  const embedded = await server();
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const child = start(["serve"], { DATABASE_URL: databaseUrlOf(embedded.address), DUNLIN_PORT: String(port) });
  const logged = logOf(child);
  for (let looks = 0; looks < 300 && !logged().includes("port.taken"); looks++) await sleep(100);
  other.close();
  await until(port, "/readyz", 200);
  assert.equal(await waitForExit(child), 0);
  await embedded.stop();
});

test("an address that waiting cannot fix is reported as a wrong setting in one line", { timeout: 60_000 }, async () => {
  const embedded = await server();
  const DATABASE_URL = databaseUrlOf(embedded.address).replace(/\/\w+\?/, "/nowhere?");
  const { code, err } = await run(["serve"], { DATABASE_URL, DUNLIN_PORT: String(await findFreePort()) });
  await embedded.stop();
  assert.equal(code, 78);
  assert.match(
    err,
    /^config: 1 problem\n {2}DATABASE_URL \(environment\) {2}names a database that does not exist: create it .*\n$/,
  );
});

test("a folder that cannot be created or written is a wrong setting", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const { code, err } = await run(["serve"], {
    DUNLIN_DATA: join(file, "data"),
    DUNLIN_PORT: String(await findFreePort()),
  });
  assert.equal(code, 78);
  assert.match(err, /^config: 1 problem\n {2}DUNLIN_DATA .*file.*\n$/);
});

test("the service exits with the reason, and does not restart, when a newer version has migrated its database", {
  timeout: 90_000,
}, async () => {
  const embedded = await server();
  const settings = { DATABASE_URL: databaseUrlOf(embedded.address), DUNLIN_PORT: String(await findFreePort()) };
  const child = start(["serve"], settings);
  const logged = logOf(child);
  await until(Number(settings.DUNLIN_PORT), "/readyz", 200);
  const db = openDatabase(embedded.address, 1, () => {});
  const newer =
    "insert into schema_migrations (number, name, checksum, applied_at) values (9001, '9001_of_tomorrow.sql', '', now())";
  await db.run(prepared("", newer));
  const [code] = await once(child, "close");
  assert.equal(code, 78);
  assert.match(
    logged(),
    /9001_of_tomorrow\.sql, which this version does not know: run a newer version","msg":"service\.outdated"/,
  );
  const again = await run(["serve"], settings);
  assert.equal(again.code, 78);
  assert.match(
    again.err,
    /^dunlin serve: the database has migration 9001_of_tomorrow\.sql, .* run a newer version\n$/m,
  );
  await db.close();
  await embedded.stop();
});
