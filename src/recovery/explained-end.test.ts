import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { explain } from "./explain.ts";
import { explanationOf } from "./explanation.ts";
import { HOUR, openStage, START } from "./stage.fixture.ts";

// What is said of an invoice that nothing more is decided about.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const explained = async () => (await explain(stage.db, merchantId, "inv_1", stage.now()))!;
const answers = async () =>
  new Map(explanationOf(await explained()).map(({ question, answer }) => [question, answer.join("\n")]));

test("an invoice that was paid at its first attempt is said once to be, instead of an answer to each question", async () => {
  await stage.invoice({ state: "PAID", updatedAt: new Date(START.getTime() + HOUR) });
  await stage.transaction({ state: "PAID" });
  const said = await answers();
  assert.deepEqual([...said.keys()], ["What happened so far?", "Why was nothing decided?"]);
  assert.equal(
    said.get("Why was nothing decided?"),
    "It was paid at the first attempt, so there was nothing to decide.",
  );
});

test("once a case is over, why the last try came when it did is still said, and no try is promised any more", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const sent = await stage.untilSent();
  const { reasons } = (await explained()).decisions.findLast(({ kind }) => kind === "retry")!.account;
  assert.match((await answers()).get("Why a card change?")!, /The present one may still work/);
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const said = await answers();
  assert.equal(said.get("Why a card change?"), "No other card was asked for.");
  const hour = said.get("Why this hour?")!;
  assert.match(hour, /^The last retry was planned on .*\nThe retry is for .*\nAt /s);
  for (const reason of reasons) assert.ok(hour.includes(reason), `${reason}: ${hour}`);
});

test("where another hour had a higher chance than the chosen one, why it was not chosen is said, and only there", async () => {
  const likelier: boolean[] = [];
  for (let n = 0; n < 40; n++) {
    await stage.enter().then(({ id }) => {
      merchantId = id;
    });
    stage.wait(n * 17 * HOUR);
    await stage.invoice({ customerId: `cus_${n}` });
    await stage.transaction({ customerId: `cus_${n}`, networkDeclineCode: ["51", "61", "91", "05"][n % 4]! });
    await stage.decide();
    const [{ account, chance }] = (await explained()).decisions as [
      Awaited<ReturnType<typeof explained>>["decisions"][0],
    ];
    const has =
      ![account.drawn, account.hourDrawn, account.spread].includes(true) &&
      account.hours.some((hour) => hour.chance >= chance! + 0.01);
    assert.equal(/An hour with a higher chance was not chosen/.test((await answers()).get("Why this hour?")!), has);
    likelier.push(has);
  }
  assert.ok(new Set(likelier).size === 2, likelier.join());
});
