import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";
import { createClient } from "#sdk";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { createProgram } from "../../test/dunlin-program.ts";
import { findFreePort } from "../../test/free-port.ts";
import { createApiKey } from "../auth/api-keys.ts";
import type { Permission } from "../domain/permission.ts";
import { readVersion } from "../process/version.ts";
import { serveMcp } from "./mcp.ts";

let service: Service;
const folder = mkdtempSync(join(tmpdir(), "dunlin-mcp-"));
const KEY_FILE = join(folder, "key");
before(async () => {
  service = await runService();
  writeFileSync(KEY_FILE, "dln_live_key", { mode: 0o600 });
});
after(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Reply {
  id?: number | null;
  result?: {
    serverInfo?: { version: string };
    tools?: { name: string; annotations: object }[];
    content?: { text: string }[];
    isError?: boolean;
  };
  error?: { code: number; message: string };
}

const INITIALIZE = {
  ...{ protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

/** A client that speaks the protocol line by line, as assistants do. */
async function connect(permissions: readonly Permission[]) {
  const shop = await service.shop();
  const { apiKey } = await createApiKey(service.store.db, { merchantId: shop.id, permissions }, service.store.ports);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const errors: string[] = [];
  const client = createClient({ baseUrl: service.baseUrl, apiKey, ca: service.ca });
  const stderr = { print: (line: string) => void errors.push(line), isTerminal: false };
  const serving = serveMcp({ client, baseUrl: service.baseUrl }, input, { output, stderr });
  const waiting = new Map<number, (reply: Reply) => void>();
  let buffered = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    const lines = (buffered + text).split("\n");
    buffered = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line);
      waiting.get(message.id)?.(message);
    }
  });
  let ids = 0;
  const send = (method: string, params: object) => {
    const id = ++ids;
    const reply = new Promise<Reply>((resolve) => waiting.set(id, resolve));
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return reply;
  };
  const hello = await send("initialize", INITIALIZE);
  input.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  return {
    ...{ shop, send, hello, errors },
    call: (name: string, given: object = {}) => send("tools/call", { name, arguments: given }),
    async close() {
      await serving.close();
      client.close();
    },
  };
}

test("an assistant lists read-only tools, and each answers as the API does", async (t) => {
  const session = await connect(["read:explanations", "read:attention", "read:analytics", "read:recovery_actions"]);
  t.after(session.close);
  const { result } = await session.send("tools/list", {});
  assert.deepEqual(
    result!.tools!.map(({ name }) => name),
    ["explain_invoice", "list_attention", "recovery_analytics", "list_recovery_actions"],
  );
  for (const { annotations } of result!.tools!)
    assert.equal((annotations as { readOnlyHint: boolean }).readOnlyHint, true);
  const textOf = async (name: string, given?: object) => {
    const reply = await session.call(name, given);
    assert.notEqual(reply.result?.isError, true, JSON.stringify(reply));
    return JSON.parse(reply.result!.content![0]!.text);
  };
  assert.deepEqual((await textOf("recovery_analytics", { by: "country" })).rows, []);
  assert.ok(Array.isArray((await textOf("list_attention")).items));
  assert.deepEqual((await textOf("list_recovery_actions", { pageSize: 5 })).recoveryActions, []);
  const unknown = await session.call("explain_invoice", { invoiceId: "inv_unknown" });
  assert.equal(unknown.result!.isError, true);
  assert.match(unknown.result!.content![0]!.text, /inv_unknown|invoice/);
});

test("a key without a permission gets the refusal as text, and wrong arguments are refused", async (t) => {
  const session = await connect(["read:attention"]);
  t.after(session.close);
  const refused = await session.call("recovery_analytics");
  assert.equal(refused.result!.isError, true);
  assert.match(refused.result!.content![0]!.text, /read:analytics/);
  const wrong = await session.call("recovery_analytics", { by: "weather" });
  assert.match(JSON.stringify(wrong), /by/);
  assert.ok(wrong.error !== undefined || wrong.result!.isError === true);
});

test("the server has the program's version, and wrong arguments are refused by name", async (t) => {
  const session = await connect(["read:analytics"]);
  t.after(session.close);
  assert.equal(session.hello.result!.serverInfo!.version, readVersion());
  for (const [tool, given, name] of [
    ["recovery_analytics", { currency: "   " }, /currency.*three capital letters/],
    ["recovery_analytics", { colour: "red" }, /colour/],
    ["list_attention", { urgent: true }, /urgent/],
    ["explain_invoice", { invoiceId: "inv_1", verbose: true }, /verbose/],
    ["list_recovery_actions", { page: 2 }, /page/],
  ] as const) {
    const reply = await session.call(tool, given);
    assert.ok(reply.error !== undefined || reply.result!.isError === true, tool);
    assert.match(JSON.stringify(reply), name);
  }
});

const MESSAGES = [
  { jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "list_attention", arguments: {} } },
];

/** `dunlin mcp` as an assistant starts it, with the service at a port of this machine. */
function programAt(port: number) {
  return createProgram(folder, () => ({ DUNLIN_DATA: folder, DUNLIN_PORT: String(port) }));
}
const COMMAND = ["mcp", "--api-key-file", KEY_FILE];
const linesOf = (out: string) =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Reply);

test("requests are answered after the end of input, lines without a message are refused, and a service that is down is named", async () => {
  const port = await findFreePort();
  const lines = ["garbage", "[]", '{"jsonrpc":"2.0"}', ...MESSAGES.map((message) => JSON.stringify(message))];
  const begin = performance.now();
  const { code, out, err } = await programAt(port).run(COMMAND, {}, lines.join("\n"));
  assert.ok(performance.now() - begin < 15_000);
  assert.equal(code, 0);
  const replies = linesOf(out);
  assert.deepEqual(
    replies.filter(({ id }) => id === null).map(({ error }) => error!.code),
    [-32700, -32600, -32600],
  );
  assert.equal(err.match(/^mcp: refused a line of the input/gm)?.length, 3, err);
  assert.ok(replies.some(({ id, result }) => id === 1 && result !== undefined));
  const down = replies.find(({ id }) => id === 2)!;
  assert.equal(down.result!.isError, true);
  assert.match(down.result!.content![0]!.text, new RegExp(`^The service at https://localhost:${port} does not answer`));
});

test("SIGTERM ends the process at once while a call waits for its answer", async (t) => {
  const silent = createServer().listen(0, "localhost");
  t.after(() => silent.close());
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  const child = programAt(port).start(COMMAND);
  const connected = once(silent, "connection");
  let err = "";
  child.stderr!.on("data", (chunk) => {
    err += chunk;
  });
  for (const message of MESSAGES) child.stdin!.write(`${JSON.stringify(message)}\n`);
  await connected;
  const begin = performance.now();
  child.kill("SIGTERM");
  const [code] = await once(child, "close");
  assert.ok(performance.now() - begin < 2_000, `${performance.now() - begin} ms`);
  assert.equal(code, 0);
  assert.equal(err, "");
});
