import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../../../lab/trial/open-world.ts";
import { DAY_MS } from "../../domain/durations.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createModelCache } from "../../learning/model-cache.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { processDueCases } from "../../recovery/process-due-cases.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { listRecoveryRules } from "../../tables/recovery-rules.ts";
import { createTestConsole, hiddenFieldValue, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const PATH = "/settings/rules";

async function openShop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const admin = await at.browser(await at.person("admin", merchant));
  const now = at.ports.now();
  const invoice = { customerId: "c", currency: "EUR", createdAt: now, updatedAt: now, state: "UNPAID" as const };
  const invoices = [
    { ...invoice, id: "inv_1", amount: 50_000 },
    { ...invoice, id: "inv_2", amount: 100, currency: "USD" },
  ];
  await ingestInvoices(at.db, merchant, [invoices], at.ports, () => {});
  return {
    merchant,
    admin,
    stored: () => listRecoveryRules(at.db, merchant.id),
    /** Posts the form of a page, with its hidden fields. */
    async send(page: string, fields: Record<string, string | readonly string[]>) {
      const { body } = await admin.get(page);
      const id = /name="id" value="([^"]*)"/.exec(body)?.[1];
      return admin.post(PATH, { was: hiddenFieldValue(body, "was"), ...(id && { id }), ...fields });
    },
  };
}
const NEW = `${PATH}?edit=new`;
const textOf = (body: string) =>
  body
    .replace(/<[^>]*>/g, "")
    .replaceAll("&nbsp;", " ")
    .replaceAll("\u00a0", " ");

test("a rule is checked, added, shown with its open invoices, edited, moved and deleted", async () => {
  const { merchant, admin, stored, send } = await openShop();
  const large = { position: "1", name: "Large", currencies: "eur", amountFrom: "499.5", outcome: "leaveOut" };
  const checked = await send(NEW, { ...large, do: "check" });
  assert.equal(checked.statusCode, 200);
  assert.match(
    textOf(checked.body),
    /Nothing is saved yet\. The rule would hold 1 of 2 open invoices, EUR 500\.00\. With it, 1 plan changes\./,
  );
  assert.match(checked.body, /name="amountFrom" type="text" value="499\.5"/);
  assert.deepEqual(await stored(), []);

  const saved = await send(NEW, { ...large, do: "save" });
  assert.equal(saved.headers.location, `${PATH}?done=saved`);
  const all = { position: "1", name: "All", outcome: "recover", windowDays: "14", budget: "3", leadMinutes: "30" };
  const quiet = { quietWeekdays: ["SATURDAY", "SUNDAY"], quietDates: "12-25, 12-31..01-01", quietFromHour: "22" };
  await send(NEW, { ...all, ...quiet, quietToHour: "7", do: "save" });
  const [first, second] = await stored();
  assert.deepEqual([first!.name, second!.name], ["All", "Large"]);
  assert.deepEqual(second!.conditions, { currencies: ["EUR"], amountFrom: 49_950 });
  assert.deepEqual(
    [first!.windowDays, first!.budget, first!.leadMs, first!.quiet],
    [
      ...[14, 3, 1_800_000],
      { weekdays: ["SATURDAY", "SUNDAY"], dates: ["12-25", "12-31..01-01"], hours: { from: 22, to: 7 } },
    ],
  );
  const page = textOf((await admin.get(`${PATH}?done=saved`)).body);
  assert.match(page, /Saved\.[\s\S]*All[\s\S]*14 days, 3 retries, no retries on Saturdays and Sundays, on 25 December/);
  assert.match(page, /Large[\s\S]*amount from EUR 499\.50[\s\S]*left to your own system[\s\S]*All others/);

  const edit = `${PATH}?edit=${first!.id}`;
  const form = (await admin.get(edit)).body;
  assert.match(form, /name="quietFromHour" type="text" value="22"/);
  assert.match(form, /value="SUNDAY" checked/);
  assert.match(form, />Lead, minutes</);
  const weekdays = [...form.matchAll(/name="quietWeekdays" value="(\w+)"/g)].map(([, day]) => day);
  assert.deepEqual([weekdays[0], weekdays.at(-1)], ["MONDAY", "SUNDAY"]);
  await send(edit, { ...all, position: "2", do: "save" });
  assert.deepEqual(
    (await stored()).map(({ id, name, quiet: times }) => [id, name, times]),
    [
      [second!.id, "Large", null],
      [first!.id, "All", null],
    ],
  );
  await send(`${PATH}?edit=${second!.id}`, { do: "delete" });
  assert.deepEqual(
    (await stored()).map(({ name }) => name),
    ["All"],
  );
  const [entry] = await listAuditEntries(at.db, merchant.id, { noun: "rules" }, 1);
  assert.equal(entry!.actor, admin.person.email);
  assert.match(`${entry!.details.before}`, /^1\. Large: amount from EUR 499\.50 → left to your own system; 2\. All/);
});

test("a rule that leaves invoices out leads to those that it left out in the last 30 days", async () => {
  const { merchant, admin, stored, send } = await openShop();
  const decide = async () => {
    const parts = { db: at.db, ports: at.ports, log: pino({ level: "silent" }) };
    const models = createModelCache({ ...parts, prior: readPretrainedModel() });
    const deciding = { ...parts, models, onEvents() {}, onWithdrawn() {} };
    while ((await processDueCases(deciding)).processedCount > 0) at.clock.serviceMs++;
  };
  const ingest = async (...ids: string[]) => {
    const now = at.ports.now();
    const invoice = { customerId: "c", currency: "EUR", createdAt: now, updatedAt: now, state: "UNPAID" as const };
    await ingestInvoices(at.db, merchant, [ids.map((id) => ({ ...invoice, id, amount: 60_000 }))], at.ports, () => {});
    await decide();
  };
  await decide();
  const rules = async () => (await admin.get(PATH)).body;
  await send(NEW, { position: "1", name: "Small <USD>", currencies: "USD", outcome: "leaveOut", do: "save" });
  await send(NEW, { position: "2", name: "Large", currencies: "EUR", outcome: "leaveOut", do: "save" });
  await send(NEW, { position: "3", name: "All", outcome: "recover", budget: "3", do: "save" });
  assert.equal(textOf(await rules()).match(/left to your own system, none in the last 30 days/g)?.length, 2);
  await decide();
  at.clock.serviceMs += 31 * DAY_MS;
  await ingest("inv_3", "inv_4");
  const body = await rules();
  assert.match(textOf(body), /Large[^%]*left to your own system, 2 invoices in the last 30 days/);
  assert.match(textOf(body), /Small &lt;USD&gt;[^%]*left to your own system, none in the last 30 days/);
  const [href] = [...body.matchAll(/href="(\/invoices\?leftOutBy=[^"]*)"/g)].map(([, each]) =>
    each!.replaceAll("&amp;", "&"),
  );
  const invoicesOn = (page: string) =>
    [...page.matchAll(/class="a"><a class="id" href="\/invoices\/(\w+)"/g)].map(([, id]) => id);
  const list = (await admin.get(href!)).body;
  assert.deepEqual(invoicesOn(list), ["inv_4", "inv_3"]);
  assert.match(list, />2 cases, EUR.1,200\.00</);
  assert.match(list, /Left out by: Large</);
  const [small, large] = await stored();
  assert.deepEqual(invoicesOn((await admin.get(`/invoices?leftOutBy=${large!.id}`)).body), ["inv_4", "inv_3", "inv_1"]);
  assert.match((await admin.get(`/invoices?leftOutBy=${small!.id}`)).body, /Left out by: Small &lt;USD&gt;</);
  const all = (await stored()).at(-1)!;
  assert.deepEqual(invoicesOn((await admin.get(`/invoices?leftOutBy=${all.id}`)).body), []);
  assert.equal((await admin.get(`/invoices.csv?leftOutBy=${large!.id}`)).body.trim().split("\r\n").length, 4);
  await send(`${PATH}?edit=${large!.id}`, { do: "delete" });
  assert.match((await admin.get(href!)).body, /Left out by: a deleted rule</);
  assert.equal((await admin.get("/invoices?leftOutBy=x")).statusCode, 400);
});

test("an invalid field is named by its label, the form keeps what was typed, and nothing is saved", async () => {
  const { stored, send } = await openShop();
  for (const [fields, message] of [
    [{ windowDays: "soon" }, /Window, days must be an integer from 1 to 365\./],
    [{ amountFrom: "5" }, /Currencies must name exactly one currency, because the rule is about an amount\./],
    [{ amountFrom: "5.999", currencies: "EUR" }, /Amount from must be an amount such as 500 or 499\.50\./],
    [{ cardCountries: "FRA" }, /Card countries must be two capital letters/],
    [{ quietDates: "24.12." }, /No retries on dates must be a date or a range of dates/],
    [{ name: " " }, /Name is required\./],
    [
      { outcome: "leaveOut", budget: "2" },
      /Retries must be empty, because Dunlin leaves the invoice to your own system\./,
    ],
    [{ amountFrom: "9", amountTo: "5", currencies: "EUR" }, /Amount to must not be less than “Amount from”\./],
    [
      { quietFromHour: "0", quietToHour: "21" },
      /No retries until hour must be 1 to 20 hours after “No retries from hour”, so that/,
    ],
    [{ outcome: "leaveOut", windowDays: "14" }, /Window, days must be empty, because Dunlin leaves the invoice/],
    [{ quietDates: "01-01..12-31" }, /No retries on dates must leave days of each year for retries\./],
  ] as const) {
    const typed = { position: "1", name: "typed", ...fields };
    const reply = await send(NEW, { ...typed, do: "save" });
    const checked = await send(NEW, { ...typed, do: "check" });
    assert.deepEqual([reply.statusCode, checked.statusCode], [400, 400]);
    assert.match(textOf(reply.body), message);
    assert.match(textOf(checked.body), message);
    for (const [name, value] of Object.entries(fields))
      if (name !== "outcome") assert.ok(reply.body.includes(`name="${name}" type="text" value="${value}"`), name);
  }
  assert.equal((await send(NEW, { position: "2", name: "a", do: "save" })).statusCode, 400);
  assert.deepEqual(await stored(), []);
});

test("a rule behind one for every invoice has a note when it is checked and on the page; a used name is refused", async () => {
  const { admin, send, stored } = await openShop();
  await send(NEW, { position: "1", name: "All", outcome: "recover", budget: "3", do: "save" });
  const note = /Rule 2 never applies: rule 1 fits every invoice\./;
  assert.doesNotMatch(textOf((await admin.get(PATH)).body), /never applies/);
  const euro = { position: "2", name: "Euro", currencies: "EUR", outcome: "recover" };
  assert.match(textOf((await send(NEW, { ...euro, do: "check" })).body), note);
  await send(NEW, { ...euro, do: "save" });
  assert.match(textOf((await admin.get(PATH)).body), note);
  const again = await send(NEW, { ...euro, position: "1", name: "euro", do: "check" });
  assert.equal(again.statusCode, 400);
  assert.match(textOf(again.body), /Name must differ from the names of the other rules\./);
  assert.equal((await stored()).length, 2);
});

test("a form opened before the rules changed, or for another merchant, changes nothing", async () => {
  const [one, other] = [await openShop(), await openShop()];
  const was = hiddenFieldValue((await one.admin.get(NEW)).body, "was");
  await one.send(NEW, { position: "1", name: "first", do: "save" });
  const stale = await one.admin.post(PATH, { was, position: "1", name: "late", do: "save" });
  assert.equal(stale.statusCode, 409);
  assert.match(stale.body, /The rules changed after this page was opened/);
  assert.equal((await other.admin.post(PATH, { was, position: "1", name: "late", do: "save" })).statusCode, 409);
  const [rule] = await one.stored();
  assert.equal((await other.admin.get(`${PATH}?edit=${rule!.id}`)).statusCode, 404);
  assert.deepEqual(
    (await one.stored()).map(({ name }) => name),
    ["first"],
  );
  assert.deepEqual(await other.stored(), []);
});

test("only roles that may change recovery settings see and change the rules", async () => {
  const developer = await at.as("developer");
  assert.equal((await developer.get(PATH)).statusCode, 403);
  assert.equal((await developer.post(PATH, { do: "save" })).statusCode, 403);
  assert.doesNotMatch((await developer.get("/overview")).body, /settings\/rules/);
  const admin = await at.as("admin");
  assert.match((await admin.get("/overview")).body, /href="\/settings\/rules"/);
});
