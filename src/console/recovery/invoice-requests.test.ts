import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { COMMAND_LINE_ACTOR } from "../../domain/person.ts";
import { startExperiment } from "../../experiments/experiments.ts";
import { createTestConsole, type TestConsole } from "../console.fixture.ts";
import { openShop } from "./invoice-shop.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop() {
  const opened = await openShop(at);
  return { ...opened, push: (id: string, state: "UNPAID" | "PAID" = "UNPAID") => opened.invoice({ id, state }) };
}

const FORM =
  /<summary class="button danger">Stop<[\s\S]*action="\/invoices\/stop"[\s\S]*complete_dunning[\s\S]*<button class="danger">/;

test("a form stops the recovery of an invoice once, and the page and the audit log show it", async () => {
  const { merchant, push, as, sent, audited } = await shop();
  const id = "in/a ?&";
  await push(id);
  const browser = await as("developer");
  const path = `/invoices/${encodeURIComponent(id)}`;
  assert.match((await browser.get(path)).body, FORM);
  const caseId = (await browser.get(path)).body.match(/name="caseId" value="([0-9a-f-]{36})"/)![1]!;
  const toSend = at.toSend.length;
  const reply = await browser.post("/invoices/stop", { invoiceId: id, caseId, reason: " they complained " });
  assert.deepEqual([reply.statusCode, reply.headers.location], [303, `${path}?done=stopped`]);
  const page = (await browser.get(String(reply.headers.location))).body;
  assert.match(page, /role="status">Recovery stopped\./);
  assert.match(
    page,
    /not recovered[\s\S]*Recovery of EUR 49\.00 was stopped by [^ ]+@[\s\S]*End reason<\/dt><dd>stopped by hand[\s\S]*Recovery ended: stopped by hand[\s\S]*<b>Recovery stopped by hand<\/b>/,
  );
  assert.doesNotMatch(page, FORM);
  assert.deepEqual(await sent(), ["complete_dunning waiting"]);
  assert.deepEqual(at.toSend.slice(toSend), [merchant.id]);
  const again = await browser.post("/invoices/stop", { invoiceId: id });
  assert.equal(again.statusCode, 409);
  assert.match(again.body, /nothing to stop\. The case ended already: a person stopped/);
  const [said, ...others] = await audited();
  assert.deepEqual(
    [said!.actor, said!.object, said!.details],
    [browser.person.email, id, { reason: "they complained" }],
  );
  assert.deepEqual(others, []);
  const admin = await as("admin");
  assert.match(
    (await admin.get("/org/audit?noun=recovery")).body,
    /recovery stopped[\s\S]*in\/a \?&amp;[\s\S]*they complained/,
  );
  assert.match((await admin.get("/invoices?outcome=lost")).body, />1 case, [\s\S]*stopped by hand/);
  assert.match(
    (await admin.get("/overview")).body,
    /Not recovered<\/dt><dd class="value"><a[^>]+>EUR.49\.00<\/a><\/dd><dd class="note">1 invoice</,
  );
});

test("a form loaded before the invoice became unpaid again does not stop the new case", async () => {
  const { push, as } = await shop();
  await push("in_a");
  const browser = await as("developer");
  const stale = await browser.post("/invoices/stop", {
    invoiceId: "in_a",
    caseId: "00000000-0000-7000-8000-000000000000",
  });
  assert.equal(stale.statusCode, 409);
  assert.match(stale.body, /There is nothing to stop\. The recovery that you saw is over/);
  assert.match((await browser.get("/invoices/in_a")).body, FORM);
});

test("a role without permission to stop recovery sees no form, and forged or cross-site forms are refused", async () => {
  const { push, as, sent, audited } = await shop();
  await push("in_a");
  const viewer = await as("viewer");
  assert.doesNotMatch((await viewer.get("/invoices/in_a")).body, FORM);
  const refused = await viewer.post("/invoices/stop", { invoiceId: "in_a" });
  assert.equal(refused.statusCode, 403);
  assert.match(refused.body, /Your role \(viewer\) does not allow this operation: stop the recovery of an invoice/);
  const elsewhere = { "sec-fetch-site": "cross-site" };
  assert.equal((await (await as("admin")).post("/invoices/stop", { invoiceId: "in_a" }, elsewhere)).statusCode, 403);
  const stranger = await (await shop()).as("admin");
  assert.equal((await stranger.post("/invoices/stop", { invoiceId: "in_a" })).statusCode, 404);
  assert.equal((await stranger.post("/invoices/stop")).statusCode, 404);
  assert.deepEqual([await sent(), await audited()], [[], []]);
  assert.match((await viewer.get("/invoices/in_a")).body, /in recovery/);
});

test("the page says why recovery cannot be stopped when Dunlin requests nothing", async () => {
  const { merchant, push, as, sent } = await shop();
  const plan = { name: "Holdout", calibrationDays: 7 };
  await at.db.transaction((tx) => startExperiment(tx, merchant.id, plan, COMMAND_LINE_ACTOR, at.ports));
  await push("in_a");
  const browser = await as("admin");
  const page = (await browser.get("/invoices/in_a")).body;
  assert.doesNotMatch(page, FORM);
  assert.match(page, /There is nothing to stop\. An experiment assigned this customer/);
  assert.equal((await browser.post("/invoices/stop", { invoiceId: "in_a" })).statusCode, 409);
  at.clock.serviceMs += 60_000;
  await push("in_a", "PAID");
  assert.doesNotMatch((await browser.get("/invoices/in_a")).body, /nothing to stop/);
  assert.deepEqual(await sent(), []);
});

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PATH = "/invoices/in_a";
const hidden = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)![1]!;
const RETRY_FORM = /action="\/invoices\/retry_now"/;

test("a form requests a retry at once when the cost is confirmed, and a second click requests nothing more", async () => {
  const { fail, as, sent, audited, wait } = await shop();
  await fail();
  wait(HOUR);
  const browser = await as("developer");
  const page = (await browser.get(PATH)).body;
  assert.match(page, /7 retries of the budget are left[\s\S]*required> Use one retry[\s\S]*>Retry EUR.49\.00 now</);
  const fields = { invoiceId: "in_a", caseId: hidden(page, "caseId"), reason: "they called" };
  const unconfirmed = await browser.post("/invoices/retry_now", fields);
  assert.equal(unconfirmed.statusCode, 400);
  assert.match(unconfirmed.body, /Nothing was changed[\s\S]*Tick the box that confirms the retry\.</);
  assert.deepEqual(await audited(), []);
  const replies = [
    await browser.post("/invoices/retry_now", { ...fields, confirmed: "yes" }),
    await browser.post("/invoices/retry_now", { ...fields, confirmed: "yes" }),
  ];
  assert.deepEqual(
    replies.map(({ statusCode, headers }) => [statusCode, headers.location]),
    [
      [303, `${PATH}?done=retried`],
      [409, undefined],
    ],
  );
  assert.match(replies[1]!.body, /A retry was requested already, and its outcome is awaited/);
  assert.equal((await sent()).filter((each) => each === "recovery_action waiting").length, 1);
  assert.deepEqual(
    (await audited()).map(({ operation, details }) => ({ operation, ...details })),
    [{ operation: "recovery.retried", reason: "they called" }],
  );
  const after = (await browser.get(`${PATH}?done=retried`)).body;
  assert.match(after, /role="status">A retry was requested\./);
  assert.doesNotMatch(after, RETRY_FORM);
  assert.match(after, /No retry can be requested now\.[\s\S]*its outcome is awaited/);
  const { email } = browser.person;
  assert.match(
    after,
    new RegExp(`Decided: retry</b> <span[^>]*>on <time[^>]*>[^<]*</time>, requested by hand, by ${email} `),
  );
  assert.match(after, new RegExp(`<b>Retry requested by hand</b> <span class="soft">by ${email}<`));
  assert.match(after, /Retries cannot be postponed now\. A retry was requested already/);
});

test("a retry that a network, a bank or a dispute forbids has its rule in place of the button", async () => {
  for (const [codes, rule] of [
    [{ networkDeclineCode: "41" }, /Visa does not allow another attempt on a card after such a decline/],
    [
      { cardBrand: "mastercard", networkAdviceCode: "26" },
      /The bank advised waiting 2 days, so Dunlin does not retry sooner/,
    ],
  ] as const) {
    const { fail, as, sent, audited } = await shop();
    await fail(codes);
    const before = await sent();
    const browser = await as("developer");
    const page = (await browser.get(PATH)).body;
    assert.match(page, rule);
    assert.match(page, /No retry can be requested now/);
    assert.doesNotMatch(page, RETRY_FORM);
    const forged = await browser.post("/invoices/retry_now", { invoiceId: "in_a", confirmed: "yes" });
    assert.equal(forged.statusCode, 409);
    assert.match(forged.body, rule);
    assert.deepEqual([await sent(), await audited()], [before, []]);
  }
  const { invoice, attempt, decide, as } = await shop();
  await invoice({ id: "in_b" });
  await attempt({ invoiceId: "in_b", state: "DISPUTED" });
  at.clock.serviceMs += HOUR;
  await invoice();
  await attempt();
  await decide();
  const page = (await (await as("developer")).get(PATH)).body;
  assert.match(page, /No retry can be requested now\.[^\n]*disputed a payment of another invoice/);
  assert.doesNotMatch(page, RETRY_FORM);
});

test("a form postpones retries to a time of the customer's clock, once however often it is sent", async () => {
  const { fail, as, audited, decide } = await shop();
  await fail();
  const browser = await as("developer");
  const page = (await browser.get(PATH)).body;
  assert.equal(hidden(page, "zone"), "Europe/Berlin");
  const until = new Date(at.ports.now().getTime() + 12 * DAY).toISOString().slice(0, 10);
  const fields = {
    invoiceId: "in_a",
    caseId: hidden(page, "caseId"),
    zone: "Europe/Berlin",
    until: `${until}T09:30`,
    reason: "holiday",
  };
  for (let time = 0; time < 2; time++)
    assert.equal((await browser.post("/invoices/postpone", fields)).headers.location, `${PATH}?done=postponed`);
  const [entry, ...others] = await audited();
  assert.deepEqual(others, []);
  assert.deepEqual([entry!.operation, entry!.details.reason], ["recovery.postponed", "holiday"]);
  const local = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", timeStyle: "short" });
  assert.equal(local.format(new Date(entry!.details.until as string)), "09:30");
  await decide();
  const after = (await browser.get(`${PATH}?done=postponed`)).body;
  assert.match(after, /role="status">Retries were postponed\./);
  assert.match(after, /Retries are postponed until <time[^>]+>[^<]+, 09:30<\/time>\. A retry now ends that/);
  assert.match(after, /Retries were postponed by hand until/);
  const { email } = browser.person;
  assert.match(
    after,
    new RegExp(
      `Retries are postponed until [^.<]+ by ${email}\\. The next attempt[\\s\\S]*<b>Retries postponed until <time[\\s\\S]*by ${email}`,
    ),
  );
  assert.match(after, /class="c-ban by-hand"[\s\S]*postponed by hand/);
  assert.doesNotMatch(after, /a rule forbids it/);
});

test("a postponement without a time, in an unknown zone, or beyond the window is refused", async () => {
  const { fail, as, audited } = await shop();
  await fail();
  const browser = await as("developer");
  const post = (fields: Record<string, string>) =>
    browser.post("/invoices/postpone", {
      invoiceId: "in_a",
      zone: "Europe/Berlin",
      until: "2099-01-01T00:00",
      ...fields,
    });
  const invalid: Record<string, string>[] = [{ until: "" }, { until: "soon" }, { zone: "Mars/Olympus" }, { zone: "" }];
  for (const fields of invalid) {
    const reply = await post(fields);
    assert.equal(reply.statusCode, 400, JSON.stringify(fields));
    assert.match(reply.body, /Give a date and a time until which to postpone\.</);
    assert.equal(reply.body.match(/<h1[^>]*>Nothing was changed/g)?.length, 1);
    assert.doesNotMatch(reply.body, /role="alert">[^<]*Nothing was changed/);
  }
  for (const until of ["2099-01-01T00:00", "2300-01-01T00:00", "9999-12-31T00:00", "12026-01-01T00:00"]) {
    const reply = await post({ until });
    assert.equal(reply.statusCode, 409);
    assert.match(
      reply.body,
      /Nothing was postponed\. The recovery window ends on \w{3} \d+ \w+, \d\d:\d\d, Berlin time, before that time\./,
    );
  }
  assert.match((await post({ until: "2020-01-01T00:00" })).body, /The time is over already/);
  assert.deepEqual(await audited(), []);
});

test("viewers, other sites, other merchants and stale forms request no retry and postpone nothing", async () => {
  const { fail, as, sent, audited } = await shop();
  await fail();
  const before = await sent();
  const fields = { invoiceId: "in_a", confirmed: "yes", zone: "UTC", until: "2027-01-01T00:00" };
  const viewer = await as("viewer");
  const page = (await viewer.get(PATH)).body;
  assert.doesNotMatch(page, /action="\/invoices\//);
  const admin = await as("admin");
  const stranger = await (await shop()).as("admin");
  for (const path of ["/invoices/retry_now", "/invoices/postpone"]) {
    const refused = await viewer.post(path, fields);
    assert.equal(refused.statusCode, 403);
    assert.match(refused.body, /Your role \(viewer\) does not allow this operation/);
    assert.equal((await admin.post(path, fields, { "sec-fetch-site": "cross-site" })).statusCode, 403);
    assert.equal((await stranger.post(path, fields)).statusCode, 404);
    const stale = await admin.post(path, { ...fields, caseId: "00000000-0000-7000-8000-000000000000" });
    assert.equal(stale.statusCode, 409);
    assert.match(stale.body, /The recovery that you saw is over/);
  }
  assert.deepEqual([await sent(), await audited()], [before, []]);
});
