import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { runAndCapture } from "./context.fixture.ts";
import { rulesList, rulesSet, rulesTest } from "./rules-commands.ts";

let database: TestDatabase;
const folder = mkdtempSync(join(tmpdir(), "rules-"));
const file = join(folder, "rules.json");
before(async () => {
  database = await createTestDatabase();
});
after(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

const RULES = [
  { name: "large", currencies: ["EUR"], amountFrom: 50_000, leaveOut: true },
  { name: "France", cardCountries: ["FR"], windowDays: 14, budget: 3, quietWeekdays: ["SUNDAY"] },
];

test("rules of a file are tested, stored and listed, for the merchant alone", async () => {
  const { db } = database;
  const [first, second] = [await makeMerchant(db), await makeMerchant(db)];
  const now = realPorts.now();
  const invoice = { customerId: "cus_1", currency: "EUR", createdAt: now, updatedAt: now, state: "UNPAID" as const };
  const invoices = [
    { ...invoice, id: "inv_1", amount: 50_000 },
    { ...invoice, id: "inv_2", amount: 100 },
  ];
  await ingestInvoices(db, first, [invoices], realPorts, () => {});
  const values = { merchant: first.id, file };
  writeFileSync(file, JSON.stringify({ rules: RULES }));

  assert.deepEqual((await runAndCapture(db, rulesTest, values, [])).split("\n"), [
    "NO  RULE        FITS                    OUTCOME                                    OPEN  MONEY",
    "1   large       amount from EUR 500.00  left to your own system                    1     EUR 500.00",
    "2   France      card country FR         14 days, 3 retries, no retries on Sundays  0",
    "    all others                          as in the settings                         1     EUR 1.00",
    "Open cases: 2. Plans that would change: 1.",
  ]);
  assert.match(await runAndCapture(db, rulesList, values, []), /^No recovery rules: /);
  assert.equal(await runAndCapture(db, rulesSet, values, []), "Stored 2 rules. Open cases are decided again.");
  assert.match(await runAndCapture(db, rulesList, values, []), /^2 {3}France +card country FR +14 days, /m);
  writeFileSync(file, JSON.stringify({ rules: [{ name: "all", budget: 3 }, ...RULES] }));
  const behind = await runAndCapture(db, rulesTest, values, []);
  assert.match(behind, /^Note: rule 2 never applies: rule 1 fits every invoice\.\nNote: rule 3 never applies/m);
  const json = await runAndCapture(db, rulesList, { ...values, json: true }, []);
  writeFileSync(file, json);
  assert.equal(await runAndCapture(db, rulesSet, { ...values, json: true }, []), json);
  assert.match(await runAndCapture(db, rulesList, { merchant: second.id }, []), /^No recovery rules: /);
});

test("a file that is missing, is no JSON or holds an invalid rule changes nothing, and the message says why", async () => {
  const { db } = database;
  const { id: merchant } = await makeMerchant(db);
  const set = (values: Record<string, string>) => runAndCapture(db, rulesSet, { merchant, ...values }, []);
  await assert.rejects(set({}), /^Error: --file is missing\.$/);
  await assert.rejects(set({ file: join(folder, "none.json") }), /none\.json cannot be read: ENOENT/);
  writeFileSync(file, "{");
  await assert.rejects(set({ file }), /rules\.json is not valid JSON\. Nothing was changed\./);
  writeFileSync(file, JSON.stringify([{ name: "a" }, { name: "b", budget: -1 }]));
  await assert.rejects(set({ file }), /: rules\[1\]\.budget must be an integer from 0 to 100\. Nothing was changed\./);
  assert.match(await runAndCapture(db, rulesList, { merchant }, []), /^No recovery rules: /);
});
