import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { type Database, prepared } from "../postgres/database.ts";
import { decisionsOfCase, latestDecisions } from "../tables/decisions.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});
const CASE_IDS = prepared("case_ids", "select id from cases where merchant_id = $1 order by opened_at, id");
const caseIds = async () => (await stage.db.run<{ id: string }>(CASE_IDS, [merchantId])).rows.map(({ id }) => id);
const decisions = async () => decisionsOfCase(stage.db, merchantId, (await caseIds())[0]!);

/** Returns the names of the statements in one round of decisions. */
async function listStatementsOfRound(): Promise<string[]> {
  const names: string[] = [];
  const { db } = stage;
  const counted: Database = {
    ...db,
    run: (statement, values) => {
      names.push(statement.name);
      return db.run(statement, values);
    },
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          run: (statement, values) => {
            names.push(statement.name);
            return tx.run(statement, values);
          },
        }),
      ),
  };
  await stage.decide(counted);
  return names;
}

async function pushUnpaidInvoices(count: number, from: number) {
  for (let n = from; n < from + count; n++) {
    await stage.invoice({ id: `inv_${n}`, customerId: `cus_${n}` });
    await stage.transaction({ invoiceId: `inv_${n}`, customerId: `cus_${n}`, cardFingerprint: `fp_${n}` });
  }
}

test("a hundred cases are decided in the same statements as one", async () => {
  await pushUnpaidInvoices(1, 0);
  const one = await listStatementsOfRound();
  await pushUnpaidInvoices(100, 1);
  const statements = await listStatementsOfRound();
  assert.deepEqual(statements, one);
  assert.equal((await latestDecisions(stage.db, merchantId, await caseIds())).size, 101);
});

test("a decision is stored with its success probability and its propensity", async () => {
  await pushUnpaidInvoices(40, 0);
  await stage.decide();
  const ids = await caseIds();
  const decisions = (await Promise.all(ids.map((id) => decisionsOfCase(stage.db, merchantId, id)))).flat();
  assert.equal(decisions.length, 40);
  for (const { engine, kind, chance, propensity, idealTime, account } of decisions) {
    assert.deepEqual([engine, kind], ["learned", "retry"]);
    assert.ok(chance! > 0 && chance! < 1 && propensity! > 0 && propensity! <= 1);
    assert.ok(idealTime! > START);
    assert.ok(propensity! > 0.5 || account.drawn || account.hourDrawn, "only a draw makes a choice improbable");
  }
});

test("the plan stays and no decision is added when the facts are the same, even if the model has learned", async () => {
  await pushUnpaidInvoices(1, 0);
  await stage.decide();
  const [before] = await stage.actions();
  stage.wait(HOUR);
  await stage.invoice({ id: "inv_0", customerId: "cus_0" });
  await stage.decide();
  assert.deepEqual((await stage.actions())[0], before);
  assert.equal((await decisions()).length, 1);
  stage.wait(HOUR);
  await stage.transaction({
    invoiceId: "inv_0",
    customerId: "cus_0",
    cardFingerprint: "fp_0",
    networkDeclineCode: "91",
  });
  await stage.decide();
  const [first, second] = await decisions();
  assert.deepEqual([first!.number, second!.number], [1, 2]);
  assert.match(second!.account.changed.join(), /\(code 91\)/);
});

test("the static engine decides when the merchant chose it, or when the model cannot be read", async () => {
  merchantId = (await stage.enter(true, { engine: "static" })).id;
  await pushUnpaidInvoices(1, 0);
  await stage.decide();
  const [chosen] = await decisions();
  assert.deepEqual([chosen!.engine, chosen!.chance, chosen!.account.fallback], ["static", null, null]);
});

test("the static policy decides, reports it, and still sends when the model is damaged", async () => {
  merchantId = (await stage.enter()).id;
  await stage.db.run(
    prepared("damage", "insert into learned_models values ('00000000-0000-0000-0000-000000000000', '0:0', 9, $1)"),
    [START],
  );
  await pushUnpaidInvoices(1, 0);
  await stage.decide();
  const [decision] = await decisions();
  assert.equal(decision!.engine, "static");
  assert.match(decision!.account.fallback!, /layout 0:0/);
  assert.equal((await stage.untilSent()).status, "SENT");
  await stage.db.run(prepared("mend", "delete from learned_models"));
});

test("a plan is remade from the current time, within the rules, when its time passed hours ago", async () => {
  await pushUnpaidInvoices(1, 0);
  await stage.decide();
  const [planned] = await stage.actions();
  stage.at(planned!.ideal.getTime() + DAY);
  await stage.decide();
  const [later] = await stage.actions();
  assert.ok(later!.ideal.getTime() >= stage.now().getTime() - MINUTE, "it lies ahead");
  assert.equal((await decisions()).length, 2);
});

test("a bank is avoided for some hours when other customers found it down, and other banks are not", async () => {
  const planAt = async () => (await stage.actions())[0]!;
  const otherAttempts = async (cardIssuer: string) => {
    for (const other of ["cus_8", "cus_9"])
      await stage.transaction({
        invoiceId: `inv_of_${other}`,
        customerId: other,
        cardFingerprint: `fp_${other}`,
        networkDeclineCode: "91",
        cardIssuer,
      });
  };
  for (const [theirs, isMoved] of [
    ["N26", true],
    ["ING", false],
  ] as const) {
    merchantId = (await stage.enter()).id;
    await stage.invoice();
    await stage.transaction({ cardIssuer: "N26" });
    await stage.decide();
    const planned = await planAt();
    stage.at(planned.ideal.getTime() - HOUR);
    await otherAttempts(theirs);
    const downAt = stage.now().getTime();
    stage.wait(11 * MINUTE);
    await stage.decide();
    const now = await planAt();
    assert.equal(now.ideal.getTime() >= downAt + 3 * HOUR, isMoved, theirs);
    const last = (await decisions()).at(-1)!;
    assert.equal(/bank appears to be down/.test(last.account.known.join(" ")), isMoved);
    assert.equal(/Dunlin retries there after/.test(last.account.reasons.join(" ")), isMoved);
    assert.equal(last.kind, "retry");
  }
});

test("an outage is detected on the route of such cards when no bank is named", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "91" });
  const otherAttempts = { networkDeclineCode: "91", cardFingerprint: undefined };
  for (const customerId of ["cus_2", "cus_3", "cus_4"])
    await stage.transaction({ ...otherAttempts, invoiceId: customerId, customerId });
  const answered = { state: "PAID" as const, cardBrand: "amex", cardFingerprint: undefined };
  for (const customerId of ["cus_5", "cus_6", "cus_7", "cus_8"])
    await stage.transaction({ ...answered, invoiceId: customerId, customerId });
  await stage.decide();
  const [planned] = await stage.actions();
  assert.ok(planned!.ideal.getTime() >= stage.now().getTime() + 3 * HOUR);
  assert.match((await decisions()).at(-1)!.account.known.join(" "), /bank appears to be down/);
});

test("a few failures on other cards are no outage on this card's route when others succeed", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "91" });
  const otherAttempts = { networkDeclineCode: "91", cardCountry: "FR", cardIssuer: "BNP" };
  for (const customerId of ["cus_7", "cus_8"])
    await stage.transaction({ ...otherAttempts, invoiceId: customerId, customerId, cardFingerprint: customerId });
  for (const customerId of ["cus_3", "cus_4", "cus_5", "cus_6"])
    await stage.transaction({ state: "PAID", invoiceId: customerId, customerId, cardFingerprint: customerId });
  await stage.decide();
  assert.doesNotMatch((await decisions()).at(-1)!.account.known.join(" "), /bank appears to be down/);
});

test("attempts blocked by the gateway do not indicate an outage", async () => {
  for (const overrides of [{}, { paymentGatewayStatus: "not_sent_to_network" }]) {
    merchantId = (await stage.enter()).id;
    await stage.invoice();
    await stage.transaction({ networkDeclineCode: "91" });
    for (const customerId of ["cus_2", "cus_3", "cus_4"])
      await stage.transaction({
        ...{ networkDeclineCode: "91", invoiceId: customerId, customerId, cardFingerprint: customerId },
        ...overrides,
      });
    await stage.decide();
    const isOutage = /bank appears to be down/.test((await decisions()).at(-1)!.account.known.join(" "));
    assert.equal(isOutage, !("paymentGatewayStatus" in overrides));
  }
});

test("several invoices of one customer, or payments approved in the end, are no outage, and the static engine checks for none", async () => {
  const others = ["a", "b", "c"];
  const theirs = others.map((customerId) => ({ invoiceId: customerId, customerId }));
  const own = others.map((invoiceId) => ({ invoiceId, customerId: "cus_1" }));
  for (const [otherAttempts, isOutage, engine, cardIssuer] of [
    [theirs, true, "learned", undefined],
    [theirs, true, "learned", ""],
    [theirs, false, "static", undefined],
    [own, false, "learned", undefined],
    [theirs.map((each) => ({ ...each, state: "PAID" as const })), false, "learned", undefined],
  ] as const) {
    merchantId = (await stage.enter(true, { engine })).id;
    await stage.invoice({ customerId: "cus_1" });
    await stage.transaction({ networkDeclineCode: "91", customerId: "cus_1", cardIssuer });
    for (const each of otherAttempts)
      await stage.transaction({ networkDeclineCode: "91", cardFingerprint: each.customerId, ...each });
    await stage.decide();
    const { known } = (await decisions()).at(-1)!.account;
    assert.equal(/bank appears to be down/.test(known.join(" ")), isOutage, JSON.stringify([otherAttempts, engine]));
  }
});
