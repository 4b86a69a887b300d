import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createConnectorStore } from "../../../connectors/kit/store.ts";
import { testClock, testPorts } from "../../api/api.fixture.ts";
import type { ConnectionSettings } from "../../domain/connection.ts";
import { COMMAND_LINE_ACTOR } from "../../domain/person.ts";
import type { Role } from "../../domain/role.ts";
import { startExperiment } from "../../experiments/experiments.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { changeMerchant, createMerchant } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { findConnection, pauseConnection, reportConnection, saveConnection } from "../../tables/connections.ts";
import { listExperiments } from "../../tables/experiments.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const MINUTE_MS = 60_000;
const SETTINGS: ConnectionSettings = {
  ...{ whenOver: "give_back", historyDays: 396, messages: null, publicUrl: null },
  ...{ host: "127.0.0.1", port: 8444, endpointUrl: null },
};
const MAILS = { templates: null, zone: "UTC", quietFrom: 20, quietTo: 8, most: 3, everyDays: 4 };
const PAGE = "/connection";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop({ shadow = false, on = at } = {}) {
  const merchant = await createMerchant(on.db, "Shop", { shadow }, SECRET_KEYS, on.ports);
  const store = createConnectorStore(on.db, { merchantId: merchant.id, connection: "stripe" });
  const as = async (role: Role) => on.browser(await on.person(role, merchant));
  const owner = await as("owner");
  return {
    merchant,
    store,
    as,
    owner,
    page: async () => (await owner.get(PAGE)).body.split("<main")[1]!,
    connection: () => findConnection(on.db, merchant.id, "stripe"),
    report: () => reportConnection(on.db, merchant.id, "stripe", on.ports.now()),
    audited: async () =>
      (await listAuditEntries(on.db, merchant.id, {}, 100)).map(({ actor, operation, object, details }) => [
        actor,
        operation,
        object,
        details,
      ]),
  };
}

async function connectedShop({ shadow = false, isLive = false, settings = {}, on = at } = {}) {
  const connected = await shop({ shadow, on });
  await saveConnection(on.db, {
    merchantId: connected.merchant.id,
    name: "stripe",
    isLive,
    secrets: Buffer.from("sealed"),
    settings: { ...SETTINGS, ...settings },
    localPort: 8444,
    createdAt: on.ports.now(),
  });
  return connected;
}

const rowsOf = async <Row>(name: string, text: string, merchantId: string) =>
  (await at.db.run<Row>(prepared(name, text), [merchantId])).rows;

test("the page explains how to connect an account when none is connected, and refuses forms", async () => {
  const { owner, page, audited, merchant } = await shop({ shadow: true });
  const found = await page();
  assert.match(found, /class="empty"[\s\S]*<code>npx dunlin connect stripe --stripe-key-file FILE<\/code>/);
  assert.match(found, /href="\/docs\/guides\/stripe\.html"/);
  assert.match(found, /Nothing is charged until you start it here/);
  assert.doesNotMatch(found, /<form method="post"|Shadow mode is on/);
  for (const path of ["start", "retry", "pause", "resume"]) {
    const reply = await owner.post(`${PAGE}/${path}`);
    assert.equal(reply.statusCode, 404, path);
    assert.match(reply.body, /There is no connected billing account here/);
  }
  assert.deepEqual(await audited(), []);
  assert.equal((await findMerchant(at.db, merchant.id))!.shadow, true);
  assert.equal((await owner.get(`${PAGE}?x=1`)).statusCode, 400);
  assert.match((await owner.get("/overview")).body, /<a href="\/connection"[^>]*>[\s\S]*?Connection</);
  const measured = await shop();
  const plan = { name: "Earlier" };
  await at.db.transaction((tx) => startExperiment(tx, measured.merchant.id, plan, COMMAND_LINE_ACTOR, at.ports));
  assert.match(
    await measured.page(),
    /An experiment is running, so Dunlin retries as soon as the account is connected/,
  );
});

test("the status says whether the connector runs, is paused, or has not reported for 30 seconds", async () => {
  const { page, report, merchant } = await connectedShop();
  assert.match(await page(), /Stripe, test mode <span class="tag bad">not running<[\s\S]*has not reported yet/);
  await report();
  const seenAt = at.ports.now();
  at.clock.serviceMs += 30_000;
  const running = await page();
  assert.match(running, /Stripe, test mode <span class="tag good">running</);
  assert.doesNotMatch(running, /does not run|npx dunlin/);
  at.clock.serviceMs += 1;
  const stopped = await page();
  assert.match(
    stopped,
    /<div class="notice warn" role="status">The connector does not run\. It last reported on <time /,
  );
  assert.ok(stopped.includes(`last reported on <time datetime="${seenAt.toISOString()}"`));
  assert.match(stopped, /<code>npx dunlin connect stripe<\/code>/);
  await report();
  await pauseConnection(at.db, merchant.id, "stripe", at.ports.now(), "<ada@example.com>");
  assert.match(await page(), /class="tag warn">paused<[\s\S]*Paused by &lt;ada@example\.com&gt; since <time/);
  at.clock.serviceMs += MINUTE_MS;
  assert.match(await page(), /class="tag bad">not running<[\s\S]*does not run[\s\S]*Paused by/);
});

test("on a fast clock the connector counts as running for 30 seconds of real time", async () => {
  const clock = testClock();
  const on = await createTestConsole({ ports: { ...testPorts(clock), clockRate: 100 } });
  try {
    const { page, report } = await connectedShop({ on: { ...on, ports: on.options.ports } as TestConsole });
    await report();
    clock.serviceMs += 3_000_000;
    assert.match(await page(), /class="tag good">running</);
    clock.serviceMs += 1;
    assert.match(await page(), /class="tag bad">not running</);
  } finally {
    await on.close();
  }
});

test("the facts show settings, the latest reads, lag and handled invoices", async () => {
  const settings = { whenOver: "cancel_subscription", messages: MAILS } as const;
  const { page, store } = await connectedShop({ isLive: true, settings });
  const now = at.ports.now();
  const before = await page();
  assert.match(before, /<dt>Changes waiting<\/dt><dd>none</);
  assert.match(before, /<dt>Last event in Stripe<\/dt><dd><span class="soft">–</);
  await store.hint(["in_1", "in_2"], now);
  for (const id of ["in_1", "in_2", "in_3"]) await store.own(id, now);
  await store.disown("in_3", new Date(now.getTime() + 1));
  const times = new Map(
    ["last-event", "last-poll", "webhook-accepted"].map((name, index) => [
      name,
      new Date(now.getTime() + (index + 1) * 1_000).toISOString(),
    ]),
  );
  for (const [name, value] of times) await store.writeCursor(name, value);
  at.clock.serviceMs += 7 * MINUTE_MS;
  const found = await page();
  assert.match(found, /Stripe, live mode/);
  assert.match(found, /<dt>Account<\/dt><dd>live mode: real money</);
  assert.match(found, /<dt>Changes waiting<\/dt><dd>2, the oldest for 7 minutes</);
  assert.match(found, /<dt>Invoices handled by Dunlin<\/dt><dd>2</);
  assert.match(found, /<dt>Open invoices when recovery ends<\/dt><dd>their subscription is canceled</);
  assert.match(found, /<dt>Mails to customers<\/dt><dd>on: at most 3 per invoice, one every 4 days</);
  for (const [label, name] of [
    ["Last event in Stripe", "last-event"],
    ["Last poll", "last-poll"],
    ["Last webhook", "webhook-accepted"],
  ] as const)
    assert.ok(found.includes(`<dt>${label}</dt><dd><time datetime="${times.get(name)}"`), label);
  assert.ok(found.includes(`<dt>Connected since</dt><dd><time datetime="${now.toISOString()}"`));
  const other = await connectedShop();
  assert.match(await other.page(), /given back to Stripe<[\s\S]*<dt>Mails to customers<\/dt><dd>off</);
});

test("the history shows its progress, and its counts when it is read", async () => {
  const { page, store } = await connectedShop();
  assert.match(await page(), /The history is not read yet/);
  const write = (phase: string, share: number, counts: Record<string, number>) =>
    store.writeCursor("backfill", JSON.stringify({ phase, share, counts, since: 0, startedAt: 0 }));
  await write("invoices", 0.5, { subscriptions: 1, invoices: 1_200, charges: 0 });
  const reading = await page();
  assert.match(reading, /data-live="5"[\s\S]*Reading invoices, step 2 of 3\. So far: 1 subscription, 1,200 invoices/);
  assert.match(reading, /<progress max="100" value="50" aria-label="History read">50%<\/progress>/);
  await write("done", 0, { subscriptions: 400, invoices: 12_000, charges: 14_000 });
  const read = await page();
  assert.match(read, /History is read: 400 subscriptions, 12,000 invoices, 14,000 charges\./);
  assert.doesNotMatch(read, /<progress|data-live/);
});

async function addMessages({ store }: Awaited<ReturnType<typeof shop>>, invoiceId: string, count: number) {
  const dueAt = at.ports.now();
  const ids = Array.from({ length: count }, (_, index) => `${invoiceId}-${index + 1}`);
  const planned = ids.map((id, index) => ({ id, invoiceId, customerId: "cus_1", number: index + 1, dueAt }));
  await store.messages.plan(planned);
  return ids;
}

test("charges and mails are counted by state, in words", async () => {
  const connected = await connectedShop();
  const { page, store } = connected;
  const now = at.ports.now();
  assert.match(await page(), /No charges yet[\s\S]*No mails yet/);
  for (const [id, state] of [
    ["a1", "planned"],
    ["a2", "charging"],
    ["a3", "charged"],
    ["a4", "charged"],
    ["a5", "declined"],
    ["a6", "asked"],
    ["a7", "skipped"],
  ] as const) {
    await store.planAction({ id, invoiceId: "in_1", suggestion: "ACTION_SUGGESTION_RETRY", dueAt: now });
    if (state === "charging") await store.beginCharge(id, now);
    else if (state !== "planned") await store.endAction(id, state, now);
  }
  const ids = await addMessages(connected, "in_1", 5);
  await store.messages.begin(ids[1]!, now);
  for (const [index, state] of [
    [2, "sent"],
    [3, "skipped"],
    [4, "failed"],
  ] as const)
    await store.messages.end(ids[index]!, state, now);
  const found = await page();
  const cell = (words: string, count: number) =>
    assert.match(
      found,
      new RegExp(`<td data-head="State">${words}</td><td class="number" data-head="Count">${count}<`),
    );
  for (const words of ["Planned", "Being charged, outcome not known yet", "Declined"]) cell(words, 1);
  cell("Charged", 2);
  for (const words of ["Customer asked for another card", "Skipped, nothing was charged"]) cell(words, 1);
  for (const words of ["Planned", "Being sent", "Sent", "Skipped, not sent", "Failed"]) cell(words, 1);
});

test("problems are listed, and a button has all of them tried again at once", async () => {
  const connected = await connectedShop();
  const { merchant, page, store, as, owner, audited } = connected;
  const now = at.ports.now();
  const later = new Date(now.getTime() + 60 * MINUTE_MS);
  assert.match(await page(), /Nothing fails/);
  assert.doesNotMatch(await page(), /Try again now/);
  await store.hint(["in_<1>", "in_fine"], now);
  await store.failHint({ objectId: "in_<1>", generation: 1, tries: 2 }, later, "Stripe says: <b>no</b>");
  await store.planAction({ id: "act_1", invoiceId: "in_1", suggestion: "ACTION_SUGGESTION_RETRY", dueAt: now });
  await store.delayAction("act_1", later, "no answer");
  const [mail] = await addMessages(connected, "in_1", 1);
  await store.messages.end(mail!, "failed", now, { problem: "mailbox full" });
  const event = { id: "evt_1", type: "pause_collection", data: { invoiceId: "in_1" } } as never;
  await store.events.keep(event, now);
  const [claimed] = await store.events.claim(1, now, later);
  await store.events.postpone(claimed!, null);
  const found = await page();
  assert.match(found, /Reading a change from Stripe<[\s\S]*?in_&lt;1&gt;<[\s\S]*?Stripe says: &lt;b&gt;no&lt;\/b&gt;</);
  assert.ok(found.includes(`<time datetime="${later.toISOString()}"`));
  assert.match(found, /Following an event from Dunlin<[\s\S]*?evt_1<[\s\S]*?data-head="Next attempt">only on request</);
  assert.match(found, /Carrying out a recovery action<[\s\S]*?act_1<[\s\S]*?no answer</);
  assert.match(found, /Sending a mail<[\s\S]*?in_1-1<[\s\S]*?mailbox full</);
  assert.doesNotMatch(found, /in_fine/);

  const viewer = await as("viewer");
  const seen = (await viewer.get(PAGE)).body;
  assert.match(seen, /mailbox full/);
  assert.doesNotMatch(seen, /Try again now/);
  assert.equal((await viewer.post(`${PAGE}/retry`)).statusCode, 403);
  assert.deepEqual(await audited(), []);

  at.clock.serviceMs += MINUTE_MS;
  const reply = await owner.post(`${PAGE}/retry`);
  assert.deepEqual([reply.statusCode, reply.headers.location], [303, `${PAGE}?done=retried`]);
  const dueAt = at.ports.now();
  const due = await rowsOf<{ dueAt: Date }>(
    "test_due_after_retry",
    `select due_at as "dueAt" from connector_hints where merchant_id = $1 and problem is not null
     union all select due_at from connector_events where merchant_id = $1
     union all select coalesce(retry_at, due_at) from connector_actions where merchant_id = $1
     union all select due_at from connector_messages where merchant_id = $1 and state = 'planned' and ended_at is null`,
    merchant.id,
  );
  assert.deepEqual(due, Array(4).fill({ dueAt }));
  assert.deepEqual(await audited(), [[owner.person.email, "connection.retried", "stripe", { count: 4 }]]);
  const retried = (await owner.get(String(reply.headers.location))).body;
  assert.match(retried, /role="status">The connector now tries again everything that failed/);
  assert.doesNotMatch(retried, /mailbox full|evt_1/);
});

test("at most 50 problems are shown, and the page says that there are more", async () => {
  const { page, store } = await connectedShop();
  const now = at.ports.now();
  const ids = Array.from({ length: 51 }, (_, index) => `in_${index}`);
  await store.hint(ids, now);
  for (const objectId of ids.slice(1)) await store.failHint({ objectId, generation: 1, tries: 1 }, now, "no");
  assert.doesNotMatch(await page(), /Only 50 are shown/);
  await store.failHint({ objectId: ids[0]!, generation: 1, tries: 1 }, now, "no");
  const found = await page();
  assert.match(found, /There are more\. Only 50 are shown\./);
  assert.equal(found.match(/Reading a change from Stripe/g)!.length, 50);
});

test("a developer pauses and resumes the connection, each is audited once, and a viewer may not", async () => {
  const { page, report, as, connection, audited } = await connectedShop();
  await report();
  const developer = await as("developer");
  const viewer = await as("viewer");
  for (const path of ["pause", "resume"]) assert.equal((await viewer.post(`${PAGE}/${path}`)).statusCode, 403);
  const seen = (await viewer.get(PAGE)).body;
  assert.match(seen, /While the connection is paused, Dunlin charges nothing and sends no mail\. It still reads/);
  assert.doesNotMatch(seen, /Pause charges and mails/);
  assert.equal((await connection())!.pausedAt, null);

  const { email } = developer.person;
  const pausedAt = at.ports.now();
  const reply = await developer.post(`${PAGE}/pause`);
  assert.deepEqual([reply.statusCode, reply.headers.location], [303, `${PAGE}?done=paused`]);
  at.clock.serviceMs += 1_000;
  await developer.post(`${PAGE}/pause`);
  const paused = (await connection())!;
  assert.deepEqual([paused.pausedAt, paused.pausedBy], [pausedAt, email]);
  assert.ok((await page()).includes(`Paused by ${email} since`));
  assert.match(await page(), /action="\/connection\/resume"[\s\S]*Resume charges and mails/);

  await developer.post(`${PAGE}/resume`);
  await developer.post(`${PAGE}/resume`);
  const resumed = (await connection())!;
  assert.deepEqual([resumed.pausedAt, resumed.pausedBy], [null, null]);
  assert.match(await page(), /class="tag good">running<[\s\S]*Pause charges and mails/);
  assert.deepEqual(await audited(), [
    [email, "connection.resumed", "stripe", {}],
    [email, "connection.paused", "stripe", {}],
  ]);
});

const START = /action="\/connection\/start"[\s\S]*<button class="main">Start with a 10% holdout</;

test("the start button turns shadow mode off and starts an experiment with a 10% holdout", async () => {
  const { merchant, page, store, as, owner, audited } = await connectedShop({ shadow: true });
  const before = await page();
  assert.match(before, /Shadow mode is on: nothing is charged yet\.[\s\S]*href="\/shadow"[\s\S]*href="\/backtest"/);
  assert.match(before, /failed payments of 90% of customers from then on\. For the others, Stripe's own retries go on/);
  assert.match(before, START);
  await store.own("in_1", at.ports.now());
  assert.match(await page(), /nothing is charged, except for the 1 earlier invoice that Dunlin still handles\./);
  for (const role of ["developer", "viewer"] as const) {
    const browser = await as(role);
    const seen = (await browser.get(PAGE)).body;
    assert.doesNotMatch(seen, START);
    assert.match(seen, /An owner or admin can start it here/);
    assert.equal((await browser.post(`${PAGE}/start`)).statusCode, 403);
  }
  assert.equal((await findMerchant(at.db, merchant.id))!.shadow, true);

  const reply = await owner.post(`${PAGE}/start`);
  assert.deepEqual([reply.statusCode, reply.headers.location], [303, `${PAGE}?done=started`]);
  assert.equal((await findMerchant(at.db, merchant.id))!.shadow, false);
  const [experiment, ...others] = await listExperiments(at.db, merchant.id);
  assert.deepEqual(
    [experiment!.name, experiment!.share, experiment!.stoppedAt, others.length],
    ["Dunlin or Stripe's retries", 0.9, null, 0],
  );
  const log = await audited();
  assert.deepEqual(
    log.map(([actor, operation]) => [actor, operation]),
    ["experiment.started", "merchant.changed"].map((operation) => [owner.person.email, operation]),
  );
  assert.match(JSON.stringify(log[1]), /shadow/);
  const found = (await owner.get(String(reply.headers.location))).body;
  assert.match(found, /role="status">Started\./);
  assert.doesNotMatch(found, /Shadow mode is on/);
  assert.ok(found.includes(`<a href="/experiments/${experiment!.id}">Dunlin or Stripe&#39;s retries</a>`));

  const again = await owner.post(`${PAGE}/start`);
  assert.equal(again.statusCode, 409);
  assert.match(again.body, /Shadow mode is already off/);
  assert.equal((await audited()).length, 2);
});

test("the start is refused and changes nothing when an experiment runs already", async () => {
  const { merchant, owner, audited } = await connectedShop();
  const plan = { name: "Earlier" };
  await at.db.transaction((tx) => startExperiment(tx, merchant.id, plan, COMMAND_LINE_ACTOR, at.ports));
  await rowsOf("test_shadow_on", "update merchants set shadow = true where id = $1 returning id", merchant.id);
  const before = await audited();
  const reply = await owner.post(`${PAGE}/start`);
  assert.equal(reply.statusCode, 409);
  assert.match(reply.body, /an experiment is already running/);
  assert.equal((await findMerchant(at.db, merchant.id))!.shadow, true);
  assert.deepEqual(
    (await listExperiments(at.db, merchant.id)).map(({ name }) => name),
    ["Earlier"],
  );
  assert.deepEqual(await audited(), before);
});

test("without shadow mode the page offers an experiment only while none runs", async () => {
  const { page, as } = await connectedShop();
  assert.match(await page(), /nothing measures what it adds\. <a href="\/experiments\/new">Start an experiment</);
  const viewer = await as("viewer");
  assert.doesNotMatch((await viewer.get(PAGE)).body, /experiments\/new/);
});

test("the page of an invoice lists the mails to the customer", async () => {
  const connected = await connectedShop();
  const { merchant, store, owner } = connected;
  const now = at.ports.now();
  for (const id of ["in_1", "in_2"]) {
    const record = { id, state: "UNPAID", customerId: "cus_1", amount: 4_900, currency: "EUR" } as const;
    await ingestInvoices(at.db, merchant, [[{ ...record, createdAt: now, updatedAt: now }]], at.ports, () => {});
  }
  const ids = await addMessages(connected, "in_1", 3);
  await store.messages.end(ids[0]!, "sent", now, { language: "de" });
  await store.messages.end(ids[1]!, "failed", now, { problem: "refused: <no>" });
  const found = (await owner.get("/invoices/in_1")).body.split("<h2>Mails to the customer</h2>")[1]!;
  assert.match(found, /First mail<[^\n]*>Sent<[^\n]*<time datetime[^\n]*>de</);
  assert.match(found, /Reminder 1<[^\n]*>Failed<[^\n]*refused: &lt;no&gt;</);
  assert.match(found, /Reminder 2<[^\n]*>Planned</);
  assert.doesNotMatch((await owner.get("/invoices/in_2")).body, /Mails to the customer/);
  const stranger = await connectedShop();
  const record = { id: "in_1", state: "UNPAID", customerId: "cus_1", amount: 4_900, currency: "EUR" } as const;
  const times = { createdAt: now, updatedAt: now };
  await ingestInvoices(at.db, stranger.merchant, [[{ ...record, ...times }]], at.ports, () => {});
  const other = await stranger.owner.get("/invoices/in_1");
  assert.equal(other.statusCode, 200);
  assert.doesNotMatch(other.body, /Mails to the customer/);
});

test("another merchant's connection is neither shown nor changed", async () => {
  const connected = await connectedShop({ shadow: true });
  await connected.store.hint(["in_1"], at.ports.now());
  await connected.store.failHint({ objectId: "in_1", generation: 1, tries: 1 }, at.ports.now(), "secret problem");
  const stranger = await shop({ shadow: true });
  assert.match(await stranger.page(), /No billing account is connected/);
  assert.doesNotMatch(await stranger.page(), /secret problem|Stripe, test mode/);
  for (const path of ["start", "retry", "pause", "resume"])
    assert.equal((await stranger.owner.post(`${PAGE}/${path}`)).statusCode, 404, path);
  const own = await connectedShop();
  assert.match(await own.page(), /Nothing fails/);
  await own.owner.post(`${PAGE}/pause`);
  assert.equal((await connected.connection())!.pausedAt, null);
  assert.deepEqual(await connected.audited(), []);
});

test("a connector that runs is shown as failing when Stripe has answered no poll for ten minutes", async () => {
  const { page, report, store } = await connectedShop();
  await store.writeCursor("last-poll", at.ports.now().toISOString());
  at.clock.serviceMs += 10 * MINUTE_MS;
  await report();
  assert.match(await page(), /class="tag good">running</);
  at.clock.serviceMs += 1;
  const late = await page();
  assert.match(late, /class="tag bad">failing<[\s\S]*Stripe has answered no poll since <time/);
  assert.match(late, /<code>npx dunlin connect stripe --check<\/code>/);
});

test("an invoice that is not given back for ten minutes is listed as a problem", async () => {
  const { page, store } = await connectedShop();
  await store.own("in_late", at.ports.now());
  await store.disown("in_late", at.ports.now());
  assert.match(await page(), /Nothing fails/);
  at.clock.serviceMs += 10 * MINUTE_MS + 1;
  assert.match(
    await page(),
    /Giving an invoice back to Stripe[\s\S]*in_late[\s\S]*recovery has ended[\s\S]*within a minute/,
  );
  await store.endRelease("in_late", at.ports.now());
  assert.match(await page(), /Nothing fails/);
});

test("a paused endpoint is named, because nothing is charged without Dunlin's events", async () => {
  const { page, merchant } = await connectedShop();
  const settings = { webhookUrl: "https://127.0.0.1:8444/dunlin", webhookPaused: true };
  await changeMerchant(at.db, merchant.id, settings, SECRET_KEYS, at.ports);
  assert.match(await page(), /Deliveries have been paused since <time[\s\S]*href="\/settings\/webhook"/);
});
