import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startMailServer } from "../../../test/mail-server.ts";
import { createAttentionStore } from "../../attention/attention.fixture.ts";
import { createMailer } from "../../auth/mail.ts";
import { startReceiver } from "../../delivery/https/receiver.fixture.ts";
import { HOUR_MS } from "../../domain/durations.ts";
import { createChatPoster } from "../../notices/chat.ts";
import { findChatWebhook } from "../../tables/chat-webhooks.ts";
import { listLargeAmounts } from "../../tables/large-amounts.ts";
import { findMemberNotices } from "../../tables/member-notices.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const PAGE = "/settings/notifications";
let at: TestConsole;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let poster: ReturnType<typeof createChatPoster>;
let status = 200;
const bodies: string[] = [];
before(async () => {
  receiver = await startReceiver((request, reply) => {
    bodies.push(request.body);
    reply.writeHead(status).end();
  });
  const network = { allow: receiver.allow, extraCa: receiver.ca, monotonicMs: () => performance.now() };
  poster = createChatPoster(network, SECRET_KEYS);
  at = await createTestConsole({ allow: receiver.allow, postChat: poster.post });
});
after(async () => {
  await at.close();
  poster.close();
  await receiver.close();
});
const url = () => `${receiver.origin}/hooks/T0123/secret-part`;

test("every member chooses a digest and alerts, for themselves and for this merchant", async () => {
  const [viewer, owner] = [await at.as("viewer"), await at.as("owner")];
  const choice = { digest: "weekly", weekday: "3", hour: "17", alert: ["endpoint", "rate_fell"] };
  const saved = await viewer.post(PAGE, choice);
  assert.equal(saved.headers.location, `${PAGE}?done=saved`);
  const stored = await findMemberNotices(at.db, at.merchant.id, viewer.person.id);
  // 15 January 2026 is a Thursday.
  assert.equal(stored!.digestDueAt!.toISOString(), "2026-01-21T17:00:00.000Z");
  assert.deepEqual([stored!.digest, stored!.alerts], ["weekly", ["endpoint", "rate_fell"]]);
  const page = (await viewer.get(`${PAGE}?done=saved`)).body;
  assert.match(page, /<option value="weekly" selected>/);
  assert.match(page, /<option value="17" selected>17:00</);
  assert.match(page, /value="endpoint" checked/);
  assert.doesNotMatch(page, /value="ingest" checked/);
  assert.equal(await findMemberNotices(at.db, at.merchant.id, owner.person.id), null);
  await viewer.post("/account", { zone: "America/New_York", theme: "system" });
  const moved = await findMemberNotices(at.db, at.merchant.id, viewer.person.id);
  assert.equal(moved!.digestDueAt!.toISOString(), "2026-01-21T22:00:00.000Z");
  await viewer.post(PAGE, { digest: "off", weekday: "3", hour: "17" });
  assert.equal((await findMemberNotices(at.db, at.merchant.id, viewer.person.id))!.digestDueAt, null);
  for (const wrong of [{ digest: "hourly" }, { weekday: "8" }, { hour: "24" }, { hour: "" }])
    assert.equal((await viewer.post(PAGE, { ...choice, ...wrong })).statusCode, 400);
});

test("a role that may change the webhook sets the chat, whose URL is never shown or logged", async () => {
  const developer = await at.as("developer");
  assert.equal((await developer.post(`${PAGE}/chat`, { url: url(), alert: "endpoint" })).statusCode, 303);
  const stored = await findChatWebhook(at.db, at.merchant.id);
  assert.deepEqual(stored!.alerts, ["endpoint"]);
  const page = (await developer.get(PAGE)).body;
  assert.ok(page.includes(`${receiver.origin}/…part`));
  assert.match(page, /Nothing was sent to this chat yet/);
  assert.doesNotMatch(page, /T0123/);
  assert.equal((await developer.post(`${PAGE}/chat`, { alert: ["ingest", "endpoint"] })).statusCode, 303);
  assert.deepEqual((await findChatWebhook(at.db, at.merchant.id))!.url, stored!.url);
  const audited = (await at.audited()).filter(({ operation }) => operation === "chat.changed");
  assert.equal(audited.length, 2);
  assert.equal(audited[0]!.details.alerts, "endpoint → endpoint, ingest");
  assert.doesNotMatch(JSON.stringify(audited), /T0123/);
});

test("a test goes to the chat, and its answer is shown", async () => {
  const owner = await at.as("owner");
  await owner.post(`${PAGE}/chat`, { url: url(), alert: "endpoint" });
  assert.match((await owner.post(`${PAGE}/chat/test`)).body, /The chat accepted the test/);
  assert.match(JSON.parse(bodies.at(-1)!).text, /^This is a test from Dunlin for Harbor Coffee Club\n/);
  status = 404;
  assert.match((await owner.post(`${PAGE}/chat/test`)).body, /The chat did not accept the test: 404\./);
  status = 200;
  assert.match((await owner.get(PAGE)).body, /Last answer: <span class="tag bad">404<\/span>/);
  assert.equal((await owner.post(`${PAGE}/chat/remove`)).statusCode, 303);
  assert.equal(await findChatWebhook(at.db, at.merchant.id), null);
  assert.equal((await owner.post(`${PAGE}/chat/test`)).statusCode, 400);
});

test("a chat on a private address, or without https, is refused like an endpoint", async () => {
  const owner = await at.as("owner");
  for (const [wrong, problem] of [
    ["https://10.0.0.1/hooks", /10\.0\.0\.1 port 443 is not a public address/],
    ["https://localhost/hooks", /localhost port 443 is this machine/],
    ["http://example.com/hooks", /must begin with https/],
    ["", /Enter the URL of the chat/],
  ] as const) {
    const refused = await owner.post(`${PAGE}/chat`, { url: wrong });
    assert.equal(refused.statusCode, 400);
    assert.match(refused.body, problem);
  }
  assert.equal(await findChatWebhook(at.db, at.merchant.id), null);
});

test("large amounts are set in major units, and logged", async () => {
  const owner = await at.as("owner");
  assert.equal((await owner.post(`${PAGE}/large`, { amounts: "EUR 500, USD 1,200.50" })).statusCode, 303);
  assert.deepEqual(await listLargeAmounts(at.db, at.merchant.id), [
    { currency: "EUR", amount: 50_000 },
    { currency: "USD", amount: 120_050 },
  ]);
  assert.match((await owner.get(PAGE)).body, /value="EUR 500\.00, USD 1200\.50"/);
  const [entry] = await at.audited();
  assert.equal(entry!.details["large amounts"], "none → EUR 500.00, USD 1,200.50");
  const refused = await owner.post(`${PAGE}/large`, { amounts: "EUR 500, <500>" });
  assert.equal(refused.statusCode, 400);
  assert.match(refused.body, /value="EUR 500, &lt;500&gt;"[^>]*aria-invalid="true"/);
  assert.match(
    refused.body,
    /id="amounts-problem" class="bad">&quot;&lt;500&gt;&quot; is not an amount with a currency/,
  );
  assert.doesNotMatch(refused.body, /role="alert"/);
});

test("a viewer sees no chat form and cannot post to it", async () => {
  const viewer = await at.as("viewer");
  const page = (await viewer.get(PAGE)).body;
  assert.doesNotMatch(page, /action="\/settings\/notifications\/(chat|large)/);
  for (const path of ["chat", "chat/test", "chat/remove", "large"])
    assert.equal((await viewer.post(`${PAGE}/${path}`, { url: url() })).statusCode, 403);
});

test("a member gets the digest of the last period at once, and its schedule stays", async (t) => {
  const server = await startMailServer({});
  const mailer = createMailer({ url: `smtp://localhost:${server.port}`, from: "dunlin@example.com" });
  const shop = await createTestConsole({ mailer });
  t.after(async () => {
    await shop.close();
    await server.stop();
  });
  const viewer = await shop.as("viewer");
  const store = createAttentionStore(shop.db, shop.merchant.id, shop.ports.now());
  const ago = (ms: number) => new Date(shop.ports.now().getTime() - ms);
  const paid = { endReason: "paid", recovered: true };
  await store.openCase({ ...paid, amount: 12_345, endedAt: ago(HOUR_MS) });
  await store.openCase({ ...paid, amount: 500, unpaidAt: ago(60 * HOUR_MS), endedAt: ago(50 * HOUR_MS) });
  const mails = () =>
    server.mails.map(({ to, text }) => `${to} ${text.replaceAll("=\r\n", "").replaceAll("=3D", "=")}`);

  assert.match((await viewer.get(PAGE)).body, /Sends the digest of the last week to you now/);
  const sent = await viewer.post(`${PAGE}/digest`);
  assert.match(sent.body, new RegExp(`The digest was sent to ${viewer.person.email}\\.`));
  assert.equal(mails().length, 1);
  assert.ok(mails()[0]!.startsWith(viewer.person.email));
  assert.match(mails()[0]!, /^Subject: Harbor Coffee Club: weekly digest\r$/m);
  assert.match(mails()[0]!, /EUR 128\.45 \(2 invoices\); before: nothing/);

  await viewer.post(PAGE, { digest: "daily", weekday: "1", hour: "8" });
  const before = await findMemberNotices(shop.db, shop.merchant.id, viewer.person.id);
  assert.match((await viewer.get(PAGE)).body, /Sends the digest of the last day to you now/);
  await viewer.post(`${PAGE}/digest`);
  assert.match(mails()[1]!, /^Subject: Harbor Coffee Club: daily digest\r$/m);
  assert.match(mails()[1]!, /EUR 123\.45 \(1 invoice\); before: nothing/);
  assert.deepEqual(await findMemberNotices(shop.db, shop.merchant.id, viewer.person.id), before);

  await server.stop();
  const failed = await viewer.post(`${PAGE}/digest`);
  assert.match(failed.body, /The digest was not sent: the mail server /);
});

test("without a mail server no digest is sent, and the page says why", async () => {
  const viewer = await at.as("viewer");
  assert.doesNotMatch((await viewer.get(PAGE)).body, /Send one now/);
  const refused = await viewer.post(`${PAGE}/digest`);
  assert.equal(refused.statusCode, 400);
  assert.match(refused.body, /No digest was sent, because Dunlin has no mail server/);
});

test("the page says when Dunlin has no mail server", async (t) => {
  assert.match((await (await at.as("viewer")).get(PAGE)).body, /Dunlin has no mail server/);
  const server = await startMailServer({});
  const mailer = createMailer({ url: `smtp://localhost:${server.port}`, from: "dunlin@example.com" });
  const withMail = await createTestConsole({ mailer });
  t.after(async () => {
    await withMail.close();
    await server.stop();
  });
  assert.doesNotMatch((await (await withMail.as("viewer")).get(PAGE)).body, /Dunlin has no mail server/);
});
