import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-commands-"));
const data = join(folder, "data");
/** Starting takes 2 s on an idle machine. */
const READY_MS = 60_000;

let port = 0;
let metricsPort = 0;
let service: ChildProcess;
let printed = "";

const { start: started, run: dunlin } = createProgram(folder, () => ({ DUNLIN_DATA: data, DUNLIN_PORT: String(port) }));

async function startService() {
  printed = "";
  let log = "";
  service = started(["serve"], { DUNLIN_METRICS_PORT: String(metricsPort) });
  service.stderr!.on("data", (chunk) => {
    log = `${log}${chunk}`.slice(-10_000);
  });
  const { promise: isReady, resolve, reject } = Promise.withResolvers<void>();
  service.stdout!.on("data", (chunk) => {
    printed += chunk;
    if (printed.includes("curl")) resolve();
  });
  const fail = (why: string) => reject(new Error(`${why}. It printed:\n${printed}\nand logged:\n${log}`));
  service.once("exit", (code, signal) => fail(`the service ended with ${code ?? signal}`));
  const late = setTimeout(() => fail(`the service was not ready in ${READY_MS / 1_000} s`), READY_MS);
  await isReady.finally(() => clearTimeout(late));
}

function list(apiKey: string, agent: Agent | false = false): Promise<{ status: number; body: string }> {
  const ca = readFileSync(join(data, "tls", "ca.pem"));
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    get(`https://localhost:${port}/v1/recovery_actions`, { ca, headers, agent, timeout: 10_000 }, (reply) => {
      let body = "";
      reply.on("data", (chunk) => {
        body += chunk;
      });
      reply.on("end", () => resolve({ status: reply.statusCode!, body }));
    })
      .on("error", reject)
      .on("timeout", () => reject(new Error("no reply in 10 s")));
  });
}

before(async () => {
  port = await findFreePort();
  metricsPort = await findFreePort();
  await startService();
});

after(async () => {
  if (service.exitCode === null) {
    service.kill("SIGTERM");
    await once(service, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
});

test("the first start writes a working key to a file only its owner can read, and prints no secret to a pipe", async () => {
  const path = join(data, "api-key");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const apiKey = readFileSync(path, "utf8").trim();
  assert.ok(!printed.includes(apiKey));
  const { status, body } = await list(apiKey);
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(body), { recoveryActions: [], nextPageToken: "", totalSize: 0 });
});

test("merchant create beside the running service prints the merchant and a key with every permission", async () => {
  const url = "https://billing.example.com/dunlin";
  const words = ["merchant", "create", "--name", "Shop", "--webhook-url", url, "--bearer-file", "-", "--json"];
  const { code, out, err } = await dunlin(words, {}, "secret-token\n");
  assert.equal(code, 0);
  assert.equal(err, "");
  const { merchantId, apiKey } = JSON.parse(out);
  assert.match(merchantId, /^[0-9a-f-]{36}$/);
  assert.match(apiKey, /^dln_live_[0-9A-Za-z]{36}$/);
  assert.equal((await list(apiKey)).status, 200);
  const listed = await dunlin(["merchant", "list", "--json"]);
  assert.ok(listed.out.includes(url));
  assert.ok(!listed.out.includes("secret-token"));
});

test("merchant set changes the named settings, and refuses a forbidden address with the reason", async () => {
  const { out } = await dunlin(["merchant", "create", "--name", "Other", "--json"]);
  const { merchantId } = JSON.parse(out);
  const set = await dunlin([
    "merchant",
    "set",
    merchantId,
    "--budget",
    "4",
    "--shape",
    "flat",
    "--bearer",
    "t",
    "--json",
  ]);
  assert.equal(set.code, 0);
  assert.match(set.err, /^Note: the process list shows --bearer .*\n$/);
  assert.deepEqual([JSON.parse(set.out).budget, JSON.parse(set.out).webhookFlat], [4, true]);
  const hook = ["--webhook-url", "https://169.254.169.254/", "--bearer", "t"];
  const refused = await dunlin(["merchant", "set", merchantId, ...hook]);
  assert.equal(refused.code, 2);
  assert.match(refused.err, /--webhook-url/);
  assert.equal((await dunlin(["merchant", "set", "nobody", "--budget", "4"])).code, 1);
});

test("key create creates a key with only the named permissions, and lists those that exist", async () => {
  const { out } = await dunlin(["merchant", "create", "--name", "Keys", "--json"]);
  const { merchantId } = JSON.parse(out);
  const made = await dunlin(["key", "create", "--merchant", merchantId, "--permissions", "ingest:invoices", "--json"]);
  const { keyId, apiKey } = JSON.parse(made.out);
  assert.match(keyId, /^[0-9a-f-]{36}$/);
  assert.equal((await list(apiKey)).status, 403);
  const wrong = await dunlin(["key", "create", "--merchant", merchantId, "--permissions", "admin"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /read:recovery_actions/);
});

test("a rotated key works beside the next one until the time that the command states", async () => {
  const { out } = await dunlin(["merchant", "create", "--name", "Rotating", "--json"]);
  const { merchantId, apiKey } = JSON.parse(out);
  const keys = async () => JSON.parse((await dunlin(["key", "list", "--merchant", merchantId, "--json"])).out);
  const [{ id }] = await keys();
  const rotate = (key: string, overlap: string) =>
    dunlin(["key", "rotate", key, "--merchant", merchantId, "--overlap", overlap, "--json"]);
  const next = JSON.parse((await rotate(id, "1h")).out);
  for (const each of [apiKey, next.apiKey]) assert.equal((await list(each)).status, 200);
  const former = (await keys()).find((key: { id: string }) => key.id === id);
  assert.equal(former.expiresAt, next.formerEndsAt);
  const again = await rotate(id, "1h");
  assert.equal(again.code, 1);
  assert.match(again.err, /was already rotated/);
  const last = JSON.parse((await rotate(next.keyId, "0")).out);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal((await list(next.apiKey)).status, 401);
  assert.equal((await list(last.apiKey)).status, 200);
  assert.equal((await rotate(id, "soon")).code, 2);
});

test("a revoked key is refused within a second, and listed as revoked", async () => {
  const { out } = await dunlin(["merchant", "create", "--name", "Lost", "--json"]);
  const { merchantId, apiKey } = JSON.parse(out);
  assert.equal((await list(apiKey)).status, 200);
  const keys = async () => JSON.parse((await dunlin(["key", "list", "--merchant", merchantId, "--json"])).out);
  const [{ id }] = await keys();
  const other = await dunlin(["merchant", "create", "--name", "Other", "--json"]);
  const foreign = await dunlin(["key", "revoke", id, "--merchant", JSON.parse(other.out).merchantId]);
  assert.equal(foreign.code, 1);
  assert.equal((await list(apiKey)).status, 200);
  assert.equal((await dunlin(["key", "revoke", id, "--merchant", merchantId])).code, 0);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.equal((await list(apiKey)).status, 401);
  assert.ok((await keys())[0].revokedAt);
  assert.match((await dunlin(["key", "list", "--merchant", merchantId])).out, /dln_live_….{4} .*revoked 2/);
  const again = await dunlin(["key", "revoke", id, "--merchant", merchantId]);
  assert.deepEqual([again.code, /no active key /.test(again.err)], [1, true]);
});

test("delivery list and replay report deliveries as text and as JSON", async () => {
  const { out } = await dunlin(["merchant", "create", "--name", "Quiet", "--json"]);
  const { merchantId } = JSON.parse(out);
  assert.equal((await dunlin(["delivery", "list", "--merchant", merchantId])).out, "No event matches.\n");
  const replay = await dunlin(["delivery", "replay", "--all", "--merchant", merchantId, "--json"]);
  assert.deepEqual(JSON.parse(replay.out), { replayed: [], skipped: [] });
  assert.equal((await dunlin(["delivery", "list"])).code, 2);
  const unknown = await dunlin([
    "delivery",
    "replay",
    "--merchant",
    merchantId,
    "01900000-0000-7000-8000-000000000000",
  ]);
  assert.match(unknown.out, /0 sent again, 1 skipped/);
});

test("a requestId finds its request, and a merchant's requests are listed by status", async () => {
  const { out } = await dunlin(["merchant", "create", "--name", "Asking", "--json"]);
  const { merchantId, apiKey } = JSON.parse(out);
  assert.equal((await list(apiKey)).status, 200);
  const made = await dunlin(["key", "create", "--merchant", merchantId, "--permissions", "ingest:invoices", "--json"]);
  assert.equal((await list(JSON.parse(made.out).apiKey)).status, 403);
  // A request is in the log within about a second.
  let listed: { requestId: string; status: number; error: string | null }[] = [];
  for (let tries = 0; listed.length < 2 && tries < 10; tries++)
    listed = JSON.parse((await dunlin(["request", "list", "--merchant", merchantId, "--json"])).out);
  assert.deepEqual(
    listed.map(({ status }) => status),
    [403, 200],
  );
  const refused = await dunlin(["request", "list", "--merchant", merchantId, "--status", "4xx"]);
  assert.match(
    refused.out,
    /^TIME .*\n.* GET +\/v1\/recovery_actions +403 .*lacks the permission read:recovery_actions\n$/,
  );
  const shown = await dunlin(["request", "show", listed[0]!.requestId]);
  for (const text of [listed[0]!.requestId, merchantId, "403", "lacks the permission"])
    assert.ok(shown.out.includes(text), text);
  assert.equal((await dunlin(["request", "show", "req_01900000-0000-7000-8000-000000000000"])).code, 1);
  assert.equal((await dunlin(["request", "show", "x"])).code, 2);
  assert.equal((await dunlin(["request", "list", "--merchant", merchantId, "--status", "4"])).code, 2);
});

test("a command finishes silently when its reader closes the pipe", async () => {
  const child = started(["merchant", "list"]);
  child.stdout!.destroy();
  let err = "";
  child.stderr!.on("data", (chunk) => {
    err += chunk;
  });
  const [code] = (await once(child, "close")) as [number];
  assert.deepEqual({ code, err }, { code: 0, err: "" });
});

test("migrate finds nothing to do beside the running service, and refuses to spread the embedded database", async () => {
  const { code, out } = await dunlin(["migrate"]);
  assert.deepEqual([code, out], [0, "The database has all migrations.\n"]);
  const refused = await dunlin(["migrate", "--distribute"]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /The embedded database is one server\. Set DATABASE_URL/);
});

test("doctor reports a healthy installation as healthy", async () => {
  const { code, out } = await dunlin(["doctor", "--json"], { DUNLIN_METRICS_PORT: String(metricsPort) });
  const findings = JSON.parse(out) as { verdict: string; what: string; says: string }[];
  const verdict = (what: string) => findings.find((each) => each.what === what)?.verdict;
  const sound = [
    "settings",
    "disk",
    "certificate",
    "database",
    "clock",
    "api",
    "deciding",
    "postponed",
    "learning",
    "locks",
  ];
  assert.deepEqual(sound.map(verdict), Array(10).fill("ok"));
  // The running service reports both pools.
  assert.deepEqual(
    findings.filter(({ what }) => what === "pool").map((each) => each.verdict),
    ["ok", "ok"],
  );
  const embedded = findings.find(({ what }) => what === "embedded")!;
  assert.match(
    embedded.says,
    /^PostgreSQL 18\.4, released 2026-05-14, \d+ days old; 18\.5 is newer .*small installations/,
  );
  // The example endpoints of other tests cannot be reached from here.
  assert.equal(code, findings.some((each) => each.verdict === "fail") ? 1 : 0);
});

test("a second service on the same data folder is refused in one sentence, and the first continues", async () => {
  const { code, err } = await dunlin(["serve"]);
  assert.equal(code, 1);
  assert.match(err, /dunlin serve: another service runs on .*: stop it, or give this one a data folder of its own\n$/);
  assert.equal(service.exitCode, null);
});

test("an unread log delays neither requests nor the service's exit", async () => {
  const unlimited = "merchant create --name Busy --rate-per-second 9999 --rate-burst 9999 --json";
  const { apiKey } = JSON.parse((await dunlin(unlimited.split(" "))).out);
  service.stderr!.pause();
  const agent = new Agent({ keepAlive: true, maxSockets: 10 });
  // One line each, 0.4 MB in all: more than the pipe and this process hold.
  for (let turn = 0; turn < 14; turn++) {
    const replies = await Promise.all(Array.from({ length: 100 }, () => list(apiKey, agent)));
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
  }
  agent.destroy();
  service.kill("SIGTERM");
  assert.deepEqual(await once(service, "exit"), [0, null]);
  await startService();
});

test("SIGTERM ends the service with exit code 0, and the next start prints no key and finds everything", async () => {
  const apiKey = readFileSync(join(data, "api-key"), "utf8").trim();
  const ended = once(service, "exit");
  service.kill("SIGTERM");
  // npm forwards the signal that the terminal has already sent to all processes.
  await sleep(30);
  service.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  assert.ok(!existsSync(join(data, "postgres/cluster/postmaster.pid")), "its PostgreSQL has ended, too");
  await startService();
  assert.equal((await list(apiKey)).status, 200);
});
