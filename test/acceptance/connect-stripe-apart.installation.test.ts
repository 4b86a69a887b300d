import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pino from "pino";
import { type StripeDouble, startStripeDouble } from "../../connectors/stripe/double/double-server.ts";
import { API_VERSION } from "../../connectors/stripe/stripe-account.ts";
import { startEmbedded } from "../../src/postgres/embedded/start.ts";
import { databaseUrlOf } from "../database-url.ts";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

// The service and the connector on two machines, as docs/guides/stripe.md says: two data folders, and two addresses of loopback.
const folder = mkdtempSync(join(tmpdir(), "dunlin-apart-"));
removeAtExit(folder);
exitWhenInterrupted();
const CONNECTOR_HOST = "127.0.0.2";
/** With fsync, which the service demands and the tests' own server lacks. */
let database: Awaited<ReturnType<typeof startEmbedded>>;
let double: StripeDouble;
const children: ChildProcess[] = [];
before(async () => {
  const log = pino({ level: "silent" });
  database = await startEmbedded({ dataDir: join(folder, "postgres"), log, mode: "own" });
  double = await startStripeDouble({
    ...{ now: () => new Date(), apiVersion: API_VERSION, keys: [{ secret: "rk_test_enough", scopes: null }] },
    ...{ askBank: () => ({ kind: "approved" }), monotonicMs: () => performance.now(), perSecond: 100 },
  });
  writeFileSync(join(folder, "stripe-key"), "rk_test_enough", { mode: 0o600 });
});
after(async () => {
  for (const child of children.toReversed()) await end(child);
  await double?.close();
  await database?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function end(child: ChildProcess) {
  if (child.exitCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

/** Starts a command and waits for a line of its output. */
async function start(program: ReturnType<typeof createProgram>, words: readonly string[], line: RegExp) {
  const child = program.start(words);
  children.push(child);
  let text = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (chunk) => {
        text += chunk;
        if (line.test(text)) resolve();
      });
    child.once("exit", () => reject(new Error(`${words.join(" ")} ended: ${text}`)));
  });
  return { child, text };
}

test("a connector on another machine reaches Dunlin, and Dunlin reaches it, with the settings of the guide", async () => {
  const [servicePort, connectorPort] = [await findFreePort(), await findFreePort()];
  const shared = {
    DATABASE_URL: databaseUrlOf(database.address),
    DUNLIN_SECRET_KEY: randomBytes(32).toString("base64"),
    DUNLIN_BASE_URL: `https://localhost:${servicePort}`,
  };
  const serviceData = join(folder, "service");
  const connectorData = join(folder, "connector");
  let webhookSettings: Record<string, string> = {};
  const service = createProgram(folder, () => ({
    ...{ ...shared, ...webhookSettings, DUNLIN_DATA: serviceData, DUNLIN_PORT: String(servicePort) },
  }));
  const connector = createProgram(folder, () => ({
    ...{ ...shared, DUNLIN_DATA: connectorData, NODE_EXTRA_CA_CERTS: join(serviceData, "tls", "ca.pem") },
  }));
  const connect = ["connect", "stripe", "--stripe-url", double.url];
  const { child: first } = await start(service, ["serve"], /dunlin is ready/);
  const where = ["--host", "0.0.0.0", "--port", String(connectorPort)];
  const { text } = await start(
    connector,
    [
      ...connect,
      ...where,
      "--endpoint-url",
      `https://${CONNECTOR_HOST}:${connectorPort}`,
      "--stripe-key-file",
      "stripe-key",
    ],
    /Authority of its certificate +\S+/,
  );
  const [, authority] = /Authority of its certificate +(\S+)/.exec(text)!;
  assert.equal(authority, join(connectorData, "tls-connector", "ca.pem"));
  await end(first);
  webhookSettings = { DUNLIN_WEBHOOK_ALLOW: `${CONNECTOR_HOST}/32:${connectorPort}`, DUNLIN_WEBHOOK_CA: authority! };
  await start(service, ["serve"], /dunlin is ready/);

  const { out, err } = await connector.run([...connect, "--check"]);
  assert.match(out, /^ok {4}Dunlin: ingest:invoices +allowed$/m, err);
  assert.match(out, new RegExp(`^ok {4}Dunlin's webhook +https://${CONNECTOR_HOST}:${connectorPort}/dunlin$`, "m"));
  const [{ id }] = JSON.parse((await service.run(["merchant", "list", "--json"])).out) as [{ id: string }];
  const tested = await service.run(["webhook", "test", id]);
  assert.equal(tested.code, 0, tested.out + tested.err);
});
