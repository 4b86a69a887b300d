import assert from "node:assert/strict";
import { test } from "node:test";
import { httpsServer } from "../../sdk/test/https-server.ts";
import { testDatabase } from "../../test/database.ts";
import { freePort } from "../../test/free-port.ts";
import { makeMerchant } from "../delivery/deliverer.fixture.ts";
import { testContext } from "./context.fixture.ts";
import { doctor } from "./doctor.ts";

test("doctor says ok of an endpoint that refuses what is no event, and not of one that fails, moves or is not there", async (t) => {
  const database = await testDatabase();
  t.after(database.drop);
  let status = 200;
  const endpoint = await httpsServer((_, response) => void response.writeHead(status).end());
  t.after(endpoint.close);
  const { port } = new URL(endpoint.url);
  await makeMerchant(database.db, { webhookUrl: `${endpoint.url}/hooks` });
  const baseUrl = `https://localhost:${await freePort()}`;
  const settings = { webhookAllow: `127.0.0.1/32:${port},::1/128:${port}`, webhookCa: endpoint.ca };
  const nothing = { oidc: null, mail: null, certificate: null, webhookClientCertificate: null };
  const verdicts = new Map<number, string>();
  for (status of [200, 401, 400, 422, 502, 500, 308, 404, 405]) {
    const { context, lines } = testContext(database.db, {
      ...settings,
      ...nothing,
      tls: "proxy",
      dataDir: "/nonexistent",
      baseUrl,
    });
    await doctor.run(context, {}, []);
    const line = lines.find((each) => each.includes("/hooks answers"))!;
    assert.match(line, new RegExp(`status ${status} without a credential`));
    assert.equal(/See: npx dunlin webhook test/.test(line), !line.startsWith("ok"));
    verdicts.set(status, line.split(" ")[0]!);
  }
  assert.deepEqual(
    [...verdicts].map(([status, verdict]) => `${status} ${verdict}`),
    ["200 ok", "401 ok", "400 ok", "422 ok", "502 warn", "500 warn", "308 warn", "404 warn", "405 warn"],
  );
});
