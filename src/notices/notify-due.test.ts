import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { prepared } from "../postgres/database.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { findChatWebhook } from "../tables/chat-webhooks.ts";
import { reportConnection, saveConnection } from "../tables/connections.ts";
import { removeMember } from "../tables/members.ts";
import { findMerchant, updateMerchant } from "../tables/merchants.ts";
import { setLargeAmounts } from "./notice-settings.ts";
import { createNoticeStage, type NoticeStage } from "./notices.fixture.ts";

let at: NoticeStage;
before(async () => {
  at = await createNoticeStage();
});
after(() => at.close());

const setFailing = async (id: string, since: Date | null) =>
  updateMerchant(at.admin, { ...(await findMerchant(at.admin, id))!, webhookFailingSince: since }, at.ports.now());

async function failingShop() {
  const shop = await at.shop({ webhookUrl: "https://shop.example.com/" });
  await setFailing(shop.merchant.id, at.ports.now());
  return shop;
}

/** Runs once a minute. */
async function runFor(minutes: number) {
  for (let minute = 0; minute <= minutes; minute++) {
    await at.run();
    at.pass(MINUTE_MS);
  }
}

test("a failing endpoint is announced once by mail, and so is its recovery", async () => {
  const shop = await failingShop();
  await shop.want({ alerts: ["endpoint"] });
  await runFor(4);
  assert.deepEqual(shop.subjects(), [], "a short failure is no incident");
  await runFor(20);
  assert.deepEqual(shop.subjects(), ["Shop: Your endpoint fails"]);
  const text = shop.texts()[0]!;
  assert.match(text, /No event waits\. Every attempt has failed for 5 minutes\./);
  assert.match(text, /<a href="https:\/\/dunlin\.example\.com\/deliveries\?state=waiting">/);
  await setFailing(shop.merchant.id, null);
  await runFor(3);
  assert.deepEqual(shop.subjects(), ["Shop: Your endpoint fails", "Shop: Your endpoint answers again"]);
});

test("of two processes one announces an incident", async () => {
  const shop = await failingShop();
  await shop.want({ alerts: ["endpoint"] });
  await at.run();
  at.pass(10 * MINUTE_MS);
  await Promise.all([at.run(), at.run(), at.run(), at.run()]);
  assert.deepEqual(shop.subjects(), ["Shop: Your endpoint fails"]);
});

test("a notice whose sender died is sent again after its lease, and never lost", async () => {
  const shop = await failingShop();
  await shop.want({ alerts: ["endpoint"] });
  await at.run();
  at.pass(10 * MINUTE_MS);
  const dies = { ...at.service.mailer!, send: () => Promise.reject(new Error("the process died")) };
  await assert.rejects(at.run({ mailer: dies }), /the process died/);
  await at.run();
  assert.deepEqual(shop.subjects(), [], "still leased");
  at.pass(2 * MINUTE_MS);
  await at.run();
  assert.deepEqual(shop.subjects(), ["Shop: Your endpoint fails"]);
});

test("a mail that the server refuses is sent again later", async () => {
  const shop = await failingShop();
  await shop.want({ alerts: ["endpoint"] });
  await at.run();
  at.pass(10 * MINUTE_MS);
  await at.run({ mailer: { ...at.service.mailer!, send: async () => "the mail server is full" } });
  at.pass(MINUTE_MS);
  await at.run();
  assert.equal(shop.subjects().length, 1);
});

test("a chat gets alerts as {text}, its answer is stored, and a refusal is repeated", async () => {
  const shop = await at.shop({ name: "A & <B>", webhookUrl: "https://shop.example.com/" });
  await shop.setChat();
  await setFailing(shop.merchant.id, at.ports.now());
  at.chat.status = 500;
  await runFor(5);
  const stored = () => findChatWebhook(at.admin, shop.merchant.id);
  assert.deepEqual([(await stored())!.answer, (await stored())!.delivered], ["500", false]);
  at.chat.status = 200;
  await runFor(2);
  const received = at.messages.filter(({ path }) => path === "/hooks/T0123/secret-part");
  assert.equal(received.length, 2);
  assert.match(
    JSON.parse(received.at(-1)!.body).text,
    /^A &amp; &lt;B&gt;: Your endpoint fails\nNo event waits\..*\nhttps:\/\/dunlin\.example\.com\/deliveries\?state=waiting$/,
  );
  assert.deepEqual([(await stored())!.answer, (await stored())!.delivered], ["200", true]);
  const audited = JSON.stringify(await listAuditEntries(at.admin, shop.merchant.id, {}, 10));
  assert.match(audited, /chat\.changed/);
  assert.doesNotMatch(audited, /secret-part|T0123/);
  assert.equal((await stored())!.url.includes("secret-part"), false);
});

test("a chat on a private address is never connected to, even if it was stored", async () => {
  const shop = await failingShop();
  await shop.setChat(undefined, "https://127.0.0.1:1/hooks/secret-part");
  await runFor(6);
  const { answer, delivered } = (await findChatWebhook(at.admin, shop.merchant.id))!;
  assert.equal(delivered, false);
  assert.match(answer!, /not a public address/);
  assert.doesNotMatch(answer!, /secret-part/);
});

test("pushes that stop and resume are announced", async () => {
  const shop = await at.shop();
  await shop.want({ alerts: ["ingest"] });
  const now = at.ports.now().getTime();
  await shop.store().logPushes(Array.from({ length: 14 * 24 }, (_, i) => new Date(now - i * HOUR_MS)));
  await at.run();
  at.pass(3 * HOUR_MS);
  await at.run();
  assert.deepEqual(shop.subjects(), ["Shop: Your system pushes no records"]);
  await shop.store().logPushes([at.ports.now()]);
  at.pass(MINUTE_MS);
  await at.run();
  assert.deepEqual(shop.subjects().slice(1), ["Shop: Your system pushes records again"]);
});

test("a failing connector is announced once by mail and by chat, and so is that it works again", async () => {
  const shop = await at.shop();
  await shop.want({ alerts: ["connector"] });
  const path = `/hooks/${shop.merchant.id}`;
  await shop.setChat(["connector"], `${at.chatOrigin}${path}`);
  const report = () => reportConnection(at.admin, shop.merchant.id, "stripe", at.ports.now());
  const chatTexts = () =>
    at.messages.filter((message) => message.path === path).map(({ body }) => JSON.parse(body).text as string);
  await saveConnection(at.admin, {
    ...{ merchantId: shop.merchant.id, name: "stripe", isLive: false, secrets: Buffer.from("sealed"), localPort: null },
    settings: {
      ...{ whenOver: "give_back", historyDays: 396, messages: null, publicUrl: null },
      ...{ host: "127.0.0.1", port: 8444, endpointUrl: null },
    },
    createdAt: at.ports.now(),
  });
  for (let minute = 0; minute < 5; minute++) {
    await report();
    await runFor(0);
  }
  await runFor(14);
  assert.deepEqual(
    [shop.subjects(), chatTexts()],
    [[], []],
    "ten silent minutes are a failure, after five of which people hear",
  );
  await runFor(30);
  const failing = "Shop: The Stripe connector does not run";
  assert.deepEqual(shop.subjects(), [failing]);
  assert.match(shop.texts()[0]!, /It last reported 1\d minutes ago\./);
  assert.match(shop.texts()[0]!, /<a href="https:\/\/dunlin\.example\.com\/connection">/);
  const [text, ...others] = chatTexts();
  assert.match(text!, new RegExp(`^${failing}\nIt last reported 1\\d minutes ago\\.\n.*/connection$`));
  assert.deepEqual(others, []);
  for (let minute = 0; minute < 5; minute++) {
    await report();
    await runFor(0);
  }
  const over = "Shop: The connector works again";
  assert.deepEqual(shop.subjects(), [failing, over]);
  assert.deepEqual(chatTexts().slice(1), [
    `${over}\nIt reports, and no step fails.\nhttps://dunlin.example.com/connection`,
  ]);
});

test("events that Dunlin gives up are announced, and that all were sent again", async () => {
  const shop = await at.shop();
  await shop.want({ alerts: ["given_up"] });
  await at.run();
  const store = shop.store();
  const eventId = await store.giveUpEvent(await store.openCase(), at.ports.now());
  await runFor(2);
  assert.deepEqual(shop.subjects(), ["Shop: Dunlin gave up 1 event"]);
  await at.admin.run(prepared("", "update events set exhausted_at = null where id = $1"), [eventId]);
  await runFor(2);
  assert.deepEqual(shop.subjects().slice(1), ["Shop: No event is given up any more"]);
});

test("a large invoice that is not recovered is announced with its id, and history is not", async () => {
  const shop = await at.shop();
  await setLargeAmounts(at.admin, shop.merchant.id, [{ currency: "EUR", amount: 500 }], COMMAND_LINE_ACTOR, at.ports);
  await shop.store().openCase({ amount: 900, endedAt: at.ports.now(), endReason: "window_over" });
  at.pass(HOUR_MS);
  await shop.want({ alerts: ["large_lost"] });
  await at.run();
  const store = createLaterStore(shop);
  await store.openCase({ amount: 499, endedAt: at.ports.now(), endReason: "window_over" });
  const { invoiceId } = await store.openCase({ amount: 500, endedAt: at.ports.now(), endReason: "budget_used" });
  await store.openCase({ amount: 500, endedAt: at.ports.now(), endReason: "paid", recovered: true });
  at.pass(3 * MINUTE_MS);
  await runFor(3);
  assert.deepEqual(shop.subjects(), ["Shop: A large invoice was not recovered"]);
  assert.match(shop.texts()[0]!, new RegExp(`${invoiceId}: EUR 5\\.00`));
});

/** Its invoices have other ids. */
function createLaterStore(shop: Awaited<ReturnType<NoticeStage["shop"]>>) {
  const store = shop.store();
  let number = 0;
  return {
    openCase: (facts: Parameters<typeof store.openCase>[0]) =>
      store.openCase({ invoiceId: `later_${++number}`, ...facts }),
  };
}

test("a fallen recovery rate is announced once in four weeks", async () => {
  const shop = await at.shop();
  await insertRates(shop.merchant.id, at.ports.now());
  await shop.want({ alerts: ["rate_fell"] });
  await at.run();
  assert.deepEqual(shop.subjects(), ["Shop: The recovery rate fell"]);
  assert.match(
    shop.texts()[0]!,
    /Dunlin recovered 30\.0% of the 300 invoices that failed in 4 weeks, and 60\.0% of the 900/,
  );
  at.pass(2 * DAY_MS);
  await at.run();
  assert.equal(shop.subjects().length, 1);
});

/** 60% recovered in the earlier weeks, and 30% in the recent ones. */
async function insertRates(merchantId: string, now: Date) {
  const insert = prepared(
    "",
    `insert into cases (merchant_id, id, invoice_id, customer_id, unpaid_at, window_ends_at, budget, opened_at, amount, currency,
       ended_at, end_reason, recovered, paid_at)
     select $1, gen_random_uuid(), $3 || n, $3 || n, $2::timestamptz, $2::timestamptz + interval '28 days', 8, $2::timestamptz, 1, 'EUR',
       $2::timestamptz + interval '28 days', case when n % 100 < $5 then 'paid' else 'window_over' end, n % 100 < $5,
       case when n % 100 < $5 then $2::timestamptz end
     from generate_series(1, $4::int) n`,
  );
  const daysAgo = (days: number) => new Date(now.getTime() - days * DAY_MS);
  await at.admin.run(insert, [merchantId, daysAgo(35 + 60), "before", 900, 60]);
  await at.admin.run(insert, [merchantId, daysAgo(35 + 10), "since", 300, 30]);
}

test("a digest comes at its time with money, attention and the way to change it, once for all processes", async () => {
  const shop = await at.shop();
  at.clock.serviceMs = Date.UTC(2026, 5, 1, 5, 30);
  await shop.want({ digest: "daily", digestHour: 8 });
  const store = shop.store();
  const ago = (ms: number) => new Date(at.ports.now().getTime() - ms);
  await store.openCase({ amount: 12_345, endedAt: ago(HOUR_MS), endReason: "paid", recovered: true });
  await store.openCase({
    amount: 500,
    endedAt: ago(30 * HOUR_MS),
    unpaidAt: ago(40 * HOUR_MS),
    endReason: "paid",
    recovered: true,
  });
  await store.giveUpEvent(await store.openCase(), ago(HOUR_MS));
  await at.run();
  assert.deepEqual(shop.subjects(), []);
  at.pass(31 * MINUTE_MS);
  await Promise.all([at.run(), at.run(), at.run()]);
  assert.deepEqual(shop.subjects(), ["Shop: daily digest"]);
  const text = shop.texts()[0]!;
  assert.match(text, /Recovered in the day until Mon 1 June.*08:01/);
  assert.match(text, /EUR 123\.45 \(1 invoice\); before: EUR 5\.00 \(1 invoice\)/);
  assert.match(text, /Dunlin gave up 1 event\. Every attempt to deliver it failed/);
  assert.match(text, /https:\/\/dunlin\.example\.com\/settings\/notifications/);
  at.pass(DAY_MS);
  await at.run();
  assert.equal(shop.subjects().length, 2);
});

test("a removed member gets no more mails, and neither does a merchant without readers get checks", async () => {
  const shop = await failingShop();
  await shop.want({ alerts: ["endpoint"], digest: "daily" });
  await at.run();
  at.pass(10 * MINUTE_MS);
  await at.run({ mailer: { ...at.service.mailer!, send: async () => "the mail server is full" } });
  await at.service.tenantDb
    .of(shop.merchant.id)
    .transaction((tx) => removeMember(tx, shop.merchant.id, shop.person.id));
  at.pass(2 * DAY_MS);
  await at.run();
  assert.deepEqual(shop.subjects(), []);
  for (const table of ["notices", "member_notices", "notice_checks", "notice_incidents"]) {
    const rows = await at.admin.run(prepared("", `select from ${table} where merchant_id = $1`), [shop.merchant.id]);
    assert.equal(rows.rowCount, 0, table);
  }
});

test("without a mail server no mail is written, and alerts begin once there is one", async () => {
  const shop = await failingShop();
  await shop.want({ alerts: ["endpoint"], digest: "daily" });
  for (let day = 0; day < 3; day++) {
    await at.run({ mailer: null });
    at.pass(DAY_MS);
  }
  assert.deepEqual(shop.subjects(), []);
  const { rowCount } = await at.admin.run(prepared("", "select from notices where merchant_id = $1"), [
    shop.merchant.id,
  ]);
  assert.equal(rowCount, 0);
  await runFor(10);
  assert.ok(shop.subjects().includes("Shop: Your endpoint fails"));
});
