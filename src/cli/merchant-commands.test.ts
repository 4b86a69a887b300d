import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { realPorts } from "../delivery/deliverer.fixture.ts";
import type { Invoice } from "../domain/invoice.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { findMerchant } from "../tables/merchants.ts";
import { readReportingRates } from "../tables/reporting-rates.ts";
import { createTestContext } from "./context.fixture.ts";
import { merchantCreate, merchantSet } from "./merchant-commands.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

async function run(
  command: typeof merchantCreate,
  values: Record<string, string | boolean | string[]>,
  words: string[] = [],
) {
  const { context, lines } = createTestContext(database.db, { webhookAllow: "" });
  assert.equal(await command.run(context, values, words), 0);
  return lines;
}

async function created(values: Record<string, string>): Promise<string> {
  return JSON.parse((await run(merchantCreate, { ...values, json: true }))[0]!).merchantId;
}

test("`merchant create` logs the merchant, its key and its non-default settings in the audit log", async () => {
  const id = await created({ name: "Shop", budget: "4", shape: "flat" });
  const [entry] = await listAuditEntries(database.db, id, { noun: "merchant" }, 10);
  assert.deepEqual([entry!.operation, entry!.actor, entry!.object], ["merchant.created", "command line", "Shop"]);
  assert.deepEqual(entry!.details, { shape: "envelope → flat", budget: "8 → 4" });
  const [key] = await listAuditEntries(database.db, id, { noun: "key" }, 10);
  assert.equal(key!.operation, "key.created");
});

test("`merchant set` prints and logs each change with the name and unit of its option", async () => {
  const id = await created({ name: "Shop" });
  const lines = await run(merchantSet, { "lead-minutes": "30", engine: "static", paused: "yes" }, [id]);
  for (const line of lines) assert.match(line, /^[a-z -]{16} \S/);
  for (const line of [`merchant         ${id}`, "lead minutes     30", "webhook url      none", "paused           yes"])
    assert.ok(lines.includes(line), line);
  const audited = await listAuditEntries(database.db, id, { noun: "merchant" }, 10);
  const changed = audited.find(({ operation }) => operation === "merchant.changed");
  const details = { "lead minutes": "49 → 30", engine: "learned → static", paused: "no → yes" };
  assert.deepEqual([changed!.object, changed!.details], ["Shop", details]);
});

test("`merchant set` refuses an invalid URL with one message", async () => {
  const id = await created({ name: "Shop" });
  await assert.rejects(run(merchantSet, { "webhook-url": "http://shop.example" }, [id]), {
    message: "--webhook-url: the URL must begin with https:// and a host name.",
  });
});

test("`merchant set` saves the reporting currency and its rates with one entry in the audit log", async () => {
  const id = await created({ name: "Shop" });
  const stored = async () => {
    const reporting = await readReportingRates(database.db, id);
    return reporting && [reporting.currency, Object.fromEntries(reporting.rates)];
  };
  const set = (reportIn: string | null, ...rate: string[]) =>
    run(merchantSet, { ...(reportIn && { "report-in": reportIn }), ...(rate.length > 0 && { rate }) }, [id]);
  const lines = await set("EUR", "GBP=1.1700", "USD=0.92");
  assert.ok(lines.includes("report in        EUR GBP=1.17 USD=0.92"), lines.join("\n"));
  assert.deepEqual(await stored(), ["EUR", { GBP: "1.17", USD: "0.92" }]);
  await set(null, "GBP=1.18", "USD=off");
  assert.deepEqual(await stored(), ["EUR", { GBP: "1.18" }], "a rate that is not named stays");
  await set("GBP", "EUR=0.85");
  assert.deepEqual(await stored(), ["GBP", { EUR: "0.85" }], "rates to another currency go");
  await set("none");
  assert.equal(await stored(), null);
  const audited = await listAuditEntries(database.db, id, { noun: "merchant" }, 10);
  const changes = audited.filter(({ operation }) => operation === "merchant.changed").map(({ details }) => details);
  const expected = [
    { "report in": "none → EUR", "rate GBP": "none → 1.17 EUR", "rate USD": "none → 0.92 EUR" },
    { "rate GBP": "1.17 EUR → 1.18 EUR", "rate USD": "0.92 EUR → none" },
    { "report in": "EUR → GBP", "rate EUR": "none → 0.85 GBP", "rate GBP": "1.18 EUR → none" },
    { "report in": "GBP → none", "rate EUR": "0.85 GBP → none" },
  ];
  // Entries of one millisecond have no order.
  assert.equal(changes.length, expected.length);
  for (const each of expected)
    assert.ok(
      changes.some((change) => isDeepStrictEqual(change, each)),
      JSON.stringify(each),
    );
});

test("`merchant set` refuses a wrong rate or currency, and changes nothing", async () => {
  const id = await created({ name: "Shop" });
  for (const [values, says] of [
    [{ "report-in": "euro" }, /--report-in takes a currency/],
    [{ "report-in": "EUR", rate: ["GBP=1,17"] }, /--rate takes a currency and a number above 0/],
    [{ "report-in": "EUR", rate: ["GBP=0"] }, /--rate takes/],
    [{ "report-in": "EUR", rate: ["GBP"] }, /--rate takes/],
    [{ "report-in": "EUR", rate: ["gbp=1"] }, /--rate takes/],
    [{ "report-in": "EUR", rate: ["GBP=1=2"] }, /--rate takes/],
    [{ "report-in": "EUR", rate: ["EUR=1"] }, /EUR is the currency of the reports/],
    [{ "report-in": "EUR", rate: ["GBP=1", "GBP=2"] }, /once for each currency/],
    [{ "report-in": "none", rate: ["GBP=1"] }, /needs a currency in --report-in/],
    [{ rate: ["GBP=1.17"], budget: "4" }, /A rate needs a currency of the reports/],
  ] as const)
    await assert.rejects(run(merchantSet, values as Record<string, string | string[]>, [id]), { message: says });
  assert.equal(await readReportingRates(database.db, id), null);
  assert.equal((await findMerchant(database.db, id))!.budget, 8);
});

test("`merchant set` says how many open cases keep their window and budget", async () => {
  const id = await created({ name: "Shop" });
  const merchant = (await findMerchant(database.db, id))!;
  const now = realPorts.now();
  const invoice = {
    id: "in_1",
    state: "UNPAID",
    customerId: "c",
    amount: 1,
    currency: "EUR",
    createdAt: now,
    updatedAt: now,
  };
  await ingestInvoices(database.db, merchant, [[invoice as Invoice]], realPorts, () => {});
  const note = /^Note: 1 open case keeps the window and the budget/;
  assert.match((await run(merchantSet, { "window-days": "14" }, [id])).at(-1)!, note);
  assert.doesNotMatch((await run(merchantSet, { "lead-minutes": "14" }, [id])).at(-1)!, note);
});
