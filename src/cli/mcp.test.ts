import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";
import { createClient } from "#sdk";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { createApiKey } from "../auth/api-keys.ts";
import type { Permission } from "../domain/permission.ts";
import { serveMcp } from "./mcp.ts";

let service: Service;
before(async () => {
  service = await runService();
});
after(() => service?.stop());

interface Reply {
  result?: { tools?: { name: string; annotations: object }[]; content?: { text: string }[]; isError?: boolean };
  error?: { message: string };
}

/** A client that speaks the protocol line by line, as assistants do. */
async function connect(permissions: readonly Permission[]) {
  const shop = await service.shop();
  const { apiKey } = await createApiKey(service.store.db, { merchantId: shop.id, permissions }, service.store.ports);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = createClient({ baseUrl: service.baseUrl, apiKey, ca: service.ca });
  const serving = serveMcp(client, input, { output });
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
  await send("initialize", {
    ...{ protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  });
  input.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  return {
    shop,
    send,
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
