import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const PATH = "/settings/recovery";
const SHADOW_PATH = "/settings/recovery/shadow";
const DEFAULTS = {
  windowDays: "28",
  budget: "8",
  smallestAmount: "0",
  leadMinutes: "49",
  engine: "learned",
  explore: "auto",
  sharesLearning: "yes",
  sendsRecoveryEnded: "no",
  ratePerSecond: "100",
  rateBurst: "100",
};

type Browser = Awaited<ReturnType<TestConsole["browser"]>>;
const wasOf = async (browser: Browser, path: string) =>
  /name="was" value="([^"]+)"/.exec((await browser.get(path)).body)![1]!;
const save = async (browser: Browser, fields: Partial<typeof DEFAULTS>) =>
  browser.post(PATH, { ...DEFAULTS, ...fields, was: await wasOf(browser, PATH) });

async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const stored = async () => (await findMerchant(at.db, merchant.id))!;
  return { merchant, stored, admin: await at.browser(await at.person("admin", merchant)) };
}

test("forms set shadow mode and exploration for permitted roles, and the audit log names the person", async () => {
  const { merchant, admin, stored } = await shop();
  const developer = await at.browser(await at.person("developer", merchant));
  assert.match((await admin.get("/shadow")).body, /href="\/settings\/recovery">Turn it on/);
  assert.doesNotMatch((await developer.get("/shadow")).body, /settings\/recovery/);
  for (const path of [PATH, SHADOW_PATH]) assert.equal((await developer.get(path)).statusCode, 403);
  assert.equal((await developer.post(PATH, { ...DEFAULTS, explore: "no" })).statusCode, 403);
  assert.equal((await developer.post(SHADOW_PATH, { shadow: "yes" })).statusCode, 403);
  assert.equal((await admin.post(SHADOW_PATH, { shadow: "maybe" })).statusCode, 400);
  assert.deepEqual([(await stored()).shadow, (await stored()).explore], [false, null]);

  assert.match(
    (await admin.get(PATH)).body,
    /off: Dunlin sends instructions[\s\S]*href="\/settings\/recovery\/shadow">Turn on…/,
  );
  const confirming = (await admin.get(SHADOW_PATH)).body;
  assert.match(
    confirming,
    /Dunlin logs its decisions and sends nothing[\s\S]*<button class="main">Turn on shadow mode</,
  );
  const turnedOn = await admin.post(SHADOW_PATH, { shadow: "yes", was: await wasOf(admin, SHADOW_PATH) });
  assert.equal(turnedOn.headers.location, `${PATH}?done=shadow`);
  assert.equal((await save(admin, { explore: "no" })).headers.location, `${PATH}?done=saved`);
  assert.deepEqual([(await stored()).shadow, (await stored()).explore], [true, false]);
  const page = (await admin.get(`${PATH}?done=saved`)).body;
  assert.match(page, /Saved\.[\s\S]*value="no" selected>Never[\s\S]*on: Dunlin sends nothing[\s\S]*Turn off…/);
  assert.match((await admin.get("/shadow")).body, /Shadow mode is on/);
  const written = await listAuditEntries(at.db, merchant.id, {}, 2);
  for (const entry of written) assert.equal(entry.actor, admin.person.email);
  assert.deepEqual(
    written.map(({ details }) => details),
    [{ explore: "after 500 outcomes → no" }, { shadow: "no → yes" }],
  );
});

test("every setting that the command line sets has a field with its meaning and its default", async () => {
  const { admin, stored } = await shop();
  const page = (await admin.get(PATH)).body;
  for (const [name, value] of Object.entries(DEFAULTS)) {
    assert.match(page, new RegExp(`id="${name}" name="${name}"`));
    const [, hint] = new RegExp(`<small id="${name}-hint">([\\s\\S]*?)</small>`).exec(page)!;
    assert.match(hint!, /^[A-Z][\s\S]{20,}\. Default: [^.]+\.$/, name);
    assert.match(page, new RegExp(`name="${name}"[\\s\\S]*?value="${value}"`));
  }
  const changed = {
    windowDays: "35",
    budget: "6",
    smallestAmount: "500",
    leadMinutes: "0",
    engine: "static",
    explore: "yes",
    sharesLearning: "no",
    sendsRecoveryEnded: "yes",
    ratePerSecond: "200",
    rateBurst: "400",
  };
  assert.equal((await save(admin, changed)).statusCode, 303);
  const { windowDays, budget, smallestAmount, leadMs, engine, explore, sharesLearning, ...rest } = await stored();
  assert.deepEqual(
    [windowDays, budget, smallestAmount, leadMs, engine, explore, sharesLearning],
    [35, 6, 500, 0, "static", true, false],
  );
  assert.deepEqual([rest.sendsRecoveryEnded, rest.ratePerSecond, rest.rateBurst], [true, 200, 400]);
  const [entry] = await listAuditEntries(at.db, rest.id, {}, 1);
  assert.equal(Object.keys(entry!.details).length, Object.keys(changed).length);
  assert.equal(entry!.details["window days"], "28 → 35");
});

test("a bad value is named at its field, keeps the input, and nothing is saved", async () => {
  const { admin, stored } = await shop();
  const former = await stored();
  for (const [name, value] of [
    ["windowDays", "0"],
    ["windowDays", "366"],
    ["windowDays", "28.5"],
    ["budget", "101"],
    ["budget", "-1"],
    ["smallestAmount", "1e3"],
    ["smallestAmount", "9007199254740992"],
    ["leadMinutes", "1441"],
    ["ratePerSecond", "0"],
    ["rateBurst", ""],
    ["engine", "magic"],
    ["explore", ""],
    ["sharesLearning", "maybe"],
  ] as const) {
    const reply = await save(admin, { budget: "5", [name]: value });
    assert.equal(reply.statusCode, 400, `${name} ${value}`);
    assert.match(
      reply.body,
      new RegExp(`id="${name}-problem" class="bad">(Enter a whole number from|Choose one)`),
      name,
    );
    assert.equal(reply.body.match(/-problem" class="bad"/g)!.length, 1, name);
    if (name !== "budget") assert.match(reply.body, /name="budget" type="text" value="5"/);
  }
  assert.deepEqual(await stored(), former);
});

test("a change of window or budget says how many open cases keep theirs, and no other change does", async () => {
  const { merchant, admin } = await shop();
  const now = at.ports.now();
  const invoices = ["a", "b", "c"].map(
    (id) =>
      ({ id, state: "UNPAID", customerId: id, amount: 100, currency: "EUR", createdAt: now, updatedAt: now }) as const,
  );
  await ingestInvoices(at.db, merchant, [invoices], at.ports, () => {});
  await ingestInvoices(
    at.db,
    merchant,
    [[{ ...invoices[2]!, state: "PAID", updatedAt: new Date(+now + 1) }]],
    at.ports,
    () => {},
  );
  assert.match((await admin.get(PATH)).body, /If you change the window or the number of retries, 2 open cases keep/);
  assert.match((await admin.get(SHADOW_PATH)).body, /2 open cases keep their mode/);
  assert.equal((await save(admin, { leadMinutes: "10" })).headers.location, `${PATH}?done=saved`);
  for (const fields of [
    { leadMinutes: "10", windowDays: "14" },
    { leadMinutes: "10", windowDays: "14", budget: "4" },
  ])
    assert.equal((await save(admin, fields)).headers.location, `${PATH}?done=saved&kept=2`);
  const page = (await admin.get(`${PATH}?done=saved&kept=2`)).body;
  assert.match(page, /Saved\.[^<]*2 open cases keep the window and the retries that they opened with\./);
  assert.doesNotMatch((await admin.get(`${PATH}?done=saved&kept=%3Cb%3E`)).body, /Saved\.[^<]*(&lt;|<b>)/);
});

test("shadow mode cannot be turned on while an experiment runs", async () => {
  const owner = await at.as("owner");
  const was = await wasOf(owner, SHADOW_PATH);
  const plan = { name: "Holdout", share: "50", calibrationDays: "0", primary: "count", currency: "" };
  assert.equal((await owner.post("/experiments", { ...plan, margin: "3", maturityDays: "30" })).statusCode, 303);
  const page = (await owner.get(SHADOW_PATH)).body;
  assert.match(page, /An experiment is running\. Stop it before you turn on shadow mode/);
  assert.doesNotMatch(page, /<button class="main">/);
  const refused = await owner.post(SHADOW_PATH, { shadow: "yes", was });
  assert.equal(refused.statusCode, 409);
  assert.match(refused.body, /An experiment is running\. Stop it before you turn on shadow mode/);
  assert.equal((await findMerchant(at.db, at.merchant.id))!.shadow, false);
});

test("a form opened before the settings or the merchant changed changes nothing", async () => {
  const { admin, stored } = await shop();
  const [was, shadowWas] = [await wasOf(admin, PATH), await wasOf(admin, SHADOW_PATH)];
  assert.equal((await admin.post(SHADOW_PATH, { shadow: "yes", was: shadowWas })).statusCode, 303);
  assert.equal((await admin.post(SHADOW_PATH, { shadow: "no", was: `${at.merchant.id} yes` })).statusCode, 409);
  const staleShadow = await admin.post(SHADOW_PATH, { shadow: "no", was: shadowWas });
  assert.equal(staleShadow.statusCode, 409);
  assert.equal((await save(admin, { budget: "4" })).statusCode, 303);
  const stale = await admin.post(PATH, { ...DEFAULTS, explore: "no", was });
  assert.equal(stale.statusCode, 409);
  assert.match(stale.body, /settings changed after this page was opened, or you switched/);
  const { shadow, explore, budget } = await stored();
  assert.deepEqual({ shadow, explore, budget }, { shadow: true, explore: null, budget: 4 });
});

test("a form from another site is refused", async () => {
  const { admin, stored } = await shop();
  const foreign = { "sec-fetch-site": "cross-site" };
  const was = await wasOf(admin, PATH);
  assert.equal((await admin.post(PATH, { ...DEFAULTS, budget: "1", was }, foreign)).statusCode, 403);
  const shadowWas = await wasOf(admin, SHADOW_PATH);
  assert.equal((await admin.post(SHADOW_PATH, { shadow: "yes", was: shadowWas }, foreign)).statusCode, 403);
  assert.deepEqual([(await stored()).budget, (await stored()).shadow], [8, false]);
});
