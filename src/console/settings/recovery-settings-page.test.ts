import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

test("a form sets shadow mode and exploration for permitted roles, and the audit log names the person", async () => {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const [admin, developer] = [
    await at.browser(await at.person("admin", merchant)),
    await at.browser(await at.person("developer", merchant)),
  ];
  const path = "/settings/recovery";
  const stored = async () => {
    const { shadow, explore } = (await findMerchant(at.db, merchant.id))!;
    return { shadow, explore };
  };
  assert.match((await admin.get("/shadow")).body, /href="\/settings\/recovery">Turn it on/);
  assert.doesNotMatch((await developer.get("/shadow")).body, /settings\/recovery/);
  assert.equal((await developer.get(path)).statusCode, 403);
  assert.equal((await developer.post(path, { shadow: "yes", explore: "no" })).statusCode, 403);
  assert.equal((await admin.post(path, { shadow: "maybe", explore: "no" })).statusCode, 400);
  assert.deepEqual(await stored(), { shadow: false, explore: null });

  assert.equal(
    (await admin.post(path, { shadow: "yes", explore: "no", was: `${merchant.id} no auto` })).headers.location,
    `${path}?done=saved`,
  );
  assert.deepEqual(await stored(), { shadow: true, explore: false });
  const page = (await admin.get(`${path}?done=saved`)).body;
  assert.match(page, /Saved\.[\s\S]*value="yes" selected>On[\s\S]*value="no" selected>Never/);
  assert.match((await admin.get("/shadow")).body, /Shadow mode is on/);
  const [written] = await listAuditEntries(at.db, merchant.id, {}, 1);
  assert.equal(written!.actor, admin.person.email);
  assert.deepEqual(written!.details, { shadow: "no → yes", explore: "after 500 outcomes → no" });
});

test("shadow mode cannot be turned on while an experiment runs", async () => {
  const owner = await at.as("owner");
  const plan = { name: "Holdout", share: "50", calibrationDays: "0", primary: "count", currency: "" };
  assert.equal((await owner.post("/experiments", { ...plan, margin: "3", maturityDays: "30" })).statusCode, 303);
  const refused = await owner.post("/settings/recovery", {
    shadow: "yes",
    explore: "auto",
    was: `${at.merchant.id} no auto`,
  });
  assert.equal(refused.statusCode, 409);
  assert.match(refused.body, /An experiment is running\. Stop it before you turn on shadow mode/);
  assert.equal((await findMerchant(at.db, at.merchant.id))!.shadow, false);
});

test("a form opened before the settings or the merchant changed changes nothing", async () => {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const admin = await at.browser(await at.person("admin", merchant));
  const path = "/settings/recovery";
  const was = /name="was" value="([^"]+)"/.exec((await admin.get(path)).body)![1]!;
  assert.equal((await admin.post(path, { shadow: "yes", explore: "auto", was })).statusCode, 303);
  const former = `${at.merchant.id} yes auto`;
  assert.equal((await admin.post(path, { shadow: "no", explore: "auto", was: former })).statusCode, 409);
  const stale = await admin.post(path, { shadow: "no", explore: "no", was });
  assert.equal(stale.statusCode, 409);
  assert.match(stale.body, /settings changed after this page was opened, or you switched/);
  const { shadow, explore } = (await findMerchant(at.db, merchant.id))!;
  assert.deepEqual({ shadow, explore }, { shadow: true, explore: null });
});
