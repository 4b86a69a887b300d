import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { createWebhookReceiver, nodeListener, type WebhookEvent } from "#sdk";
import type { Settings } from "../config/config.ts";
import { type Command, type CommandContext, EXIT_CODES, UsageError } from "./command.ts";
import { postOnce } from "./development-endpoint.ts";
import { listen } from "./listen.ts";
import { trigger } from "./trigger.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** The endpoint of a merchant who develops: plain HTTP on this machine. */
async function merchantApp(t: TestContext) {
  const handled: WebhookEvent[] = [];
  const receiver = createWebhookReceiver({
    auth: { bearer: "dev-token" },
    secrets: SECRET,
    handle: (event) => void handled.push(event),
  });
  const server = createServer(nodeListener(receiver)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await receiver.stop();
  };
  t.after(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`, handled, stop };
}

/** Runs commands in this process, in a data folder of their own; the lines they printed. */
function shell(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), "dunlin-listen-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  return async (command: Command, values: Record<string, string>, words: string[] = [], stopped?: Promise<void>) => {
    const lines: string[] = [];
    const context: CommandContext = {
      settings: { dataDir, baseUrl: "https://localhost:8443" } as Settings,
      log: pino({ level: "silent" }),
      print: (line) => void lines.push(line),
      isTerminal: false,
      output: new PassThrough(),
      input: () => Readable.from([]),
      aside: { print: (line) => void lines.push(line), isTerminal: false },
      open: () => assert.fail("it needs no database"),
      server: () => assert.fail("it needs no database"),
      realNow: () => new Date(),
      monotonicMs: () => performance.now(),
      randomBytes,
      stopped: stopped ?? new Promise(() => {}),
    };
    const code = command.run(context, values, words);
    // A command that goes on is looked at when it has said how to call it.
    if (stopped) while (lines.length < 4) await Promise.race([sleep(10), code]);
    return { lines, code, ca: () => readFileSync(join(dataDir, "tls", "ca.pem"), "utf8") };
  };
}

test("an event that is triggered reaches the endpoint through the listener, signed and as it was sent, and its answer comes back", async (t) => {
  const app = await merchantApp(t);
  const run = shell(t);
  let stop = () => {};
  t.after(() => stop()); // a test that fails ends, too
  const listening = await run(
    listen,
    { "forward-to": app.url, port: "0" },
    [],
    new Promise((resolve) => (stop = resolve)),
  );
  const to = /https:\/\/127\.0\.0\.1:\d+/.exec(listening.lines[0]!)![0];
  const credentials = { to, bearer: "dev-token", secret: SECRET };
  const said: string[] = [];
  for (const [words, values] of [
    [["pause_collection"], { id: "e1" }],
    [["pause_collection"], { id: "e1" }],
    [["recovery_action"], { shape: "flat", invoice: "inv_9", subscription: "sub_9", at: "2026-03-06T09:10:00Z" }],
    [["complete_dunning"], {}],
  ] as const) {
    const { lines, code } = await run(trigger, { ...credentials, ...values }, [...words]);
    assert.equal(await code, EXIT_CODES.ok, lines.join("\n"));
    said.push(lines.at(-1)!);
  }
  assert.deepEqual(said, [
    '200 {"success":true}',
    '200 {"success":true,"message":"taken before"}',
    '200 {"success":true}',
    '200 {"success":true}',
  ]);
  await sleep(20);
  assert.deepEqual(
    app.handled.map(({ type, data }) => [type, data.invoiceId]),
    [
      ["pause_collection", "inv_1"],
      ["recovery_action", "inv_9"],
      ["complete_dunning", "inv_1"],
    ],
  );
  assert.match(listening.lines[4]!, /^\d\d:\d\d:\d\d {2}pause_collection e1 inv_1 → 200, \d+ ms$/);
  const wrong = await run(trigger, { ...credentials, bearer: "other" }, ["complete_dunning"]);
  assert.equal(await wrong.code, EXIT_CODES.failed);
  assert.match(wrong.lines.at(-1)!, /^401 .*"unauthorized"/);

  await app.stop();
  const down = await run(trigger, credentials, ["complete_dunning"]);
  assert.equal(await down.code, EXIT_CODES.failed);
  assert.equal(down.lines.at(-1), "502");
  assert.match(listening.lines.at(-1)!, /→ nothing: .*ECONNREFUSED/);
  stop();
  assert.equal(await listening.code, EXIT_CODES.ok);
  const nobody = await run(trigger, credentials, ["complete_dunning"]);
  assert.equal(await nobody.code, EXIT_CODES.unreachable);
});

test("a merchant's sub-paths come out below the endpoint's path", async (t) => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url!);
    response.writeHead(429, { "retry-after": "7" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const run = shell(t);
  let stop = () => {};
  t.after(() => stop()); // a test that fails ends, too
  const app = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/`;
  const listening = await run(listen, { "forward-to": app, port: "0" }, [], new Promise((resolve) => (stop = resolve)));
  const to = /https:\/\/127\.0\.0\.1:\d+/.exec(listening.lines[0]!)![0];
  for (const path of ["", "/pause_collection"]) {
    const { code } = await run(trigger, { to: to + path }, ["pause_collection"]);
    assert.equal(await code, EXIT_CODES.failed);
  }
  assert.deepEqual(paths, ["/hooks/", "/hooks/pause_collection"]);
  stop();
  await listening.code;
});

test("a body that is no event is forwarded, too, and called what it is", async (t) => {
  const app = await merchantApp(t);
  const run = shell(t);
  let stop = () => {};
  t.after(() => stop()); // a test that fails ends, too
  const forward = { "forward-to": app.url, port: "0" };
  const listening = await run(listen, forward, [], new Promise((resolve) => (stop = resolve)));
  const to = new URL(/https:\/\/127\.0\.0\.1:\d+/.exec(listening.lines[0]!)![0]);
  const ofNothing = ['{"id":"e1","type":"pause_collection","data":{}}', '{"requestId":"e1","type":"pause_collection"}'];
  const bodies = ["ping", "null", "{}", ...ofNothing, '{"id":"e1","type":"pause_collection","invoiceId":"i"}'];
  for (const body of bodies) await postOnce(to, {}, Buffer.from(body), listening.ca());
  assert.deepEqual(
    listening.lines.slice(4).map((line) => line.replace(/^[\d:]+ +/, "").replace(/\d+ ms/, "")),
    [...[4, 4, 2, 47, 44].map((bytes) => `${bytes} bytes that are not an event`), "pause_collection e1 i"].map(
      (words) => `${words} → 401, `,
    ),
  );
  stop();
  await listening.code;
});

test("listen and trigger refuse options that make no sense", async (t) => {
  const run = shell(t);
  const refused = async (command: Command, values: Record<string, string>, words: string[], says: RegExp) =>
    assert.rejects((await run(command, values, words)).code, (error: Error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, says);
      return true;
    });
  await refused(listen, {}, [], /--forward-to is missing/);
  await refused(listen, { "forward-to": "http://shop.example/hooks" }, [], /http on this machine/);
  await refused(trigger, {}, ["refund"], /EVENT is one of/);
  await refused(trigger, { shape: "flat" }, ["pause_collection"], /--shape takes/);
  await refused(trigger, { suggestion: "PRAY" }, ["recovery_action"], /--suggestion takes/);
  await refused(trigger, { secret: "whsec_short" }, ["recovery_action"], /--secret: a webhook secret must be/);
  await refused(trigger, { to: "ftp://localhost" }, ["recovery_action"], /--to takes a URL/);
});
