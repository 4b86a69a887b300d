import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { startHttpsServer } from "../../../sdk/test/https-server.ts";
import { realPorts } from "../../delivery/deliverer.fixture.ts";
import { parseAllowList } from "../../delivery/https/address-guard.ts";
import { createTestEventSender } from "../../delivery/test-event.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { seal, unseal } from "../../tables/secret-box.ts";
import { createTestConsole, hiddenFieldValue, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const TOKEN = "hook-token-of-the-shop";
let endpoint: Awaited<ReturnType<typeof startHttpsServer>>;
let answer: { status: number; body: string };
let at: TestConsole;
let developer: Awaited<ReturnType<TestConsole["as"]>>;
before(async () => {
  endpoint = await startHttpsServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      response.writeHead(401);
      return void response.end(`no: ${request.headers.authorization}`);
    }
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(answer.body);
  });
  const { port } = new URL(endpoint.url);
  const allow = parseAllowList(`127.0.0.1/32:${port},::1/128:${port}`);
  const sendTestEvent = createTestEventSender({ allow, extraCa: endpoint.ca }, SECRET_KEYS, realPorts);
  at = await createTestConsole({ allow, sendTestEvent });
  developer = await at.as("developer");
});
beforeEach(() => {
  answer = { status: 200, body: '{"success":true}' };
});
after(async () => {
  await at.close();
  await endpoint.close();
});

const merchant = async () => (await findMerchant(at.db, at.merchant.id))!;
const settings = (over: Record<string, string> = {}) => ({
  url: `${endpoint.url}/hooks`,
  paths: "one",
  shape: "envelope",
  auth: "bearer",
  token: TOKEN,
  user: "",
  password: "",
  ...over,
});
const save = (over: Record<string, string> = {}) => developer.post("/settings/webhook", settings(over));
const sendTest = (type = "pause_collection") => developer.post("/settings/webhook/test", { type });

test("the endpoint is saved with an encrypted credential that no page shows", async () => {
  assert.match((await developer.get("/settings/webhook")).body, /No endpoint yet/);
  assert.equal((await save({ shape: "flat", paths: "sub" })).statusCode, 303);
  const saved = await merchant();
  assert.deepEqual([saved.webhookUrl, saved.webhookFlat, saved.webhookSubPaths], [`${endpoint.url}/hooks`, true, true]);
  assert.equal(unseal(SECRET_KEYS, saved.webhookCredential!), TOKEN);
  const page = (await developer.get("/settings/webhook?done=saved")).body;
  assert.match(page, /Unchanged: a bearer token/);
  assert.ok(!page.includes(TOKEN));
  const log = JSON.stringify(await at.audited());
  assert.match(log, /webhook\.changed/);
  assert.match(log, /changed \(bearer\)/);
  assert.ok(!log.includes(TOKEN));
});

test("a form with an invalid endpoint is refused with a reason, and keeps the input except secrets", async () => {
  for (const [over, says] of [
    [{ url: "http://shop.example/hooks" }, /The URL: it must begin with https:\/\/ and a host name\./],
    [{ url: "https://10.0.0.1/hooks" }, /The URL/],
    [{ url: "javascript:alert(1)" }, /The URL/],
    [{ token: "with space" }, /visible ASCII/],
    [{ auth: "basic", user: "a:b", password: "c" }, /contain a colon/],
    [{ auth: "basic", user: "a", password: "" }, /password must not be empty/],
  ] as const) {
    const reply = await save(over);
    assert.equal(reply.statusCode, 400, JSON.stringify(over));
    assert.match(reply.body, says);
    assert.ok(!reply.body.includes(TOKEN));
    assert.doesNotMatch(reply.body, /href="javascript:/);
  }
});

test("a credential is sent to no server other than its own", async () => {
  await save();
  const elsewhere = `https://[::1]:${new URL(endpoint.url).port}/hooks`;
  const moved = await developer.post("/settings/webhook", settings({ url: elsewhere, auth: "keep", token: "" }));
  assert.equal(moved.statusCode, 400);
  assert.match(moved.body, /The URL points to a different server/);
  const kept = await developer.post(
    "/settings/webhook",
    settings({ url: `${endpoint.url}/new`, auth: "keep", token: "" }),
  );
  assert.equal(kept.statusCode, 303, "a new path of the same server keeps it");
});

test("a test event shows the exact request and response, and reports a wrong credential with the secret masked", async () => {
  await save();
  const fine = (await sendTest()).body;
  assert.match(fine, /OK: an event sent like this is delivered/);
  assert.match(fine, /POST \/hooks HTTP\/1\.1/);
  assert.match(fine, /authorization: Bearer \[redacted\]/);
  assert.match(fine, /&quot;type&quot;:&quot;pause_collection&quot;[^<]*&quot;test&quot;:true/);
  assert.match(fine, /HTTP\/1\.1 200 OK[\s\S]*\{&quot;success&quot;:true\}/);
  assert.ok(!fine.includes(TOKEN));
  const wrongToken = randomBytes(12).toString("hex");
  await save({ token: wrongToken });
  const wrong = (await sendTest("recovery_action")).body;
  assert.match(wrong, /status 401: the endpoint refuses the credential/);
  assert.match(wrong, /no: Bearer \[redacted\]/);
  assert.ok(!wrong.includes(wrongToken));
});

test("a test event is not sent when the secret key cannot decrypt the credential", async () => {
  await save();
  const box = seal([randomBytes(32)], randomBytes(12), TOKEN);
  const text = "update merchants set webhook_credential = $2 where id = $1";
  await at.db.run({ name: "", text }, [at.merchant.id, box]);
  const refused = await sendTest();
  assert.equal(refused.statusCode, 400);
  assert.match(refused.body, /No test event was sent: the secret key changed/);
});

test("any response of an endpoint is shown as text", async () => {
  await save();
  answer = { status: 500, body: "<script>alert(1)</script>\u001b[2J\u202etxet" };
  const page = (await sendTest()).body;
  assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;·[2J·txet"));
  assert.ok(!page.includes("<script>alert"));
});

test("deliveries are paused with a reason and resumed, and the audit log has both", async () => {
  await save();
  await developer.post("/settings/webhook/pause", { reason: "billing moves house" });
  assert.equal((await merchant()).webhookPausedBy, "person");
  assert.match((await developer.get("/settings/webhook?done=pause")).body, /Paused by a person since/);
  await developer.post("/settings/webhook/resume");
  assert.equal((await merchant()).webhookPaused, false);
  const [resumed, paused] = await at.audited();
  assert.deepEqual(
    [resumed?.operation, paused?.operation, paused?.details.reason],
    ["webhook.resumed", "webhook.paused", "billing moves house"],
  );
});

test("the delivery list first says when the endpoint fails, is paused or is missing", async () => {
  const lead = async () => {
    const page = (await developer.get("/deliveries")).body;
    return [/role="[a-z]+">([^<]*)/.exec(page)?.[1], /class="lead">([^<]*)/.exec(page)![1]];
  };
  const set = (change: string) =>
    at.db.run({ name: "", text: `update merchants set ${change} where id = $1` }, [at.merchant.id]);
  await save();
  assert.deepEqual(await lead(), [undefined, "No failed deliveries"]);
  await set("webhook_failing_since = created_at");
  assert.deepEqual(await lead(), ["Every attempt to reach your endpoint has failed since ", "No exhausted event"]);
  await set("webhook_failing_since = null");
  await developer.post("/settings/webhook/pause");
  assert.deepEqual(await lead(), ["Deliveries have been paused since ", "No exhausted event"]);
  await developer.post("/settings/webhook/resume");
  await set("webhook_url = null");
  const noEndpoint = "No endpoint is set. Dunlin plans cases, but sends no instructions. ";
  assert.deepEqual(await lead(), [noEndpoint, "No exhausted event"]);
});

test("a signing secret is shown once, a form sent twice rotates once, and the old secret signs for the overlap", async () => {
  await save();
  const mark = async () => hiddenFieldValue((await developer.get("/settings/webhook")).body, "mark");
  const form = { overlap: "24h", mark: await mark() };
  const made = await developer.post("/settings/webhook/secret", form);
  const secret = /whsec_[A-Za-z0-9+/=]+/.exec(made.body)![0];
  const again = await developer.post("/settings/webhook/secret", form);
  assert.equal(again.statusCode, 409);
  assert.equal(unseal(SECRET_KEYS, (await merchant()).webhookSecret!), secret);
  const rotated = await developer.post("/settings/webhook/secret", { overlap: "24h", mark: await mark() });
  assert.equal(rotated.statusCode, 200);
  const after = await merchant();
  assert.equal(unseal(SECRET_KEYS, after.webhookOldSecret!), secret);
  assert.equal(after.webhookOldSecretUntil?.getTime(), at.clock.serviceMs + 24 * 3_600_000);
  assert.ok(!(await developer.get("/settings/webhook")).body.includes("whsec_"));
  await developer.post("/settings/webhook/secret/remove");
  assert.equal((await merchant()).webhookSecret, null);
  assert.ok(!JSON.stringify(await at.audited()).includes("whsec_"));
});

test("the page shows the source addresses and the allowed destinations", async () => {
  const page = (await developer.get("/settings/webhook")).body;
  assert.match(page, /Source addresses[\s\S]*203\.0\.113\.0\/24/);
  assert.match(
    page,
    new RegExp(`Allowed destinations[\\s\\S]*127\\.0\\.0\\.1/32 port ${new URL(endpoint.url).port}\\n::1/128 port`),
  );
});

test("a viewer cannot see or change the webhook, even with a forged form", async () => {
  await save();
  const viewer = await at.as("viewer");
  const before = await merchant();
  assert.equal((await viewer.get("/settings/webhook")).statusCode, 403);
  for (const path of ["", "/pause", "/resume", "/secret", "/secret/remove", "/test"])
    assert.equal((await viewer.post(`/settings/webhook${path}`, settings())).statusCode, 403, path);
  assert.deepEqual(await merchant(), before);
});

test("a form from another site changes nothing", async () => {
  const before = await merchant();
  const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  assert.equal((await developer.post("/settings/webhook", settings({ shape: "flat" }), foreign)).statusCode, 403);
  assert.deepEqual(await merchant(), before);
});
