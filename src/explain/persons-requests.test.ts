import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY, HOUR, MINUTE, openStage } from "../recovery/stage.fixture.ts";
import { explainInvoice } from "./answers.fixture.ts";
import { joinHeadline } from "./invoice-headline.ts";
import { summarizeInvoice } from "./invoice-summary.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
});
const explain = async () => {
  const explained = await explainInvoice(stage, merchantId, "inv_1");
  const { headline, lines } = summarizeInvoice(explained);
  return {
    ...explained,
    headline: joinHeadline(headline),
    waiting: lines.at(-1)!.sentence,
    lastDone: lines[0]!.sentence,
  };
};
const TIME = String.raw`\w{3} \d+ March, \d\d:\d\d`;

test("headline, summary and history name a postponement and its actor while it holds", async () => {
  const until = new Date(stage.now().getTime() + 9 * DAY);
  await stage.postpone(until);
  assert.match((await explain()).headline, new RegExp(` Retries are postponed until ${TIME} by the command line\\.$`));
  await stage.decide();
  const { headline, waiting, answerTo } = await explain();
  assert.match(
    headline,
    new RegExp(
      ` Retries are postponed until ${TIME} by the command line\\. The next attempt is planned for ${TIME}\\.$`,
    ),
  );
  assert.match(waiting, new RegExp(`^for its time\\. .* Retries are postponed until ${TIME} by the command line\\.$`));
  assert.match(
    answerTo("History"),
    new RegExp(`^${TIME} {2}Retries were postponed until ${TIME} by the command line\\.$`, "m"),
  );
  stage.at(+until + MINUTE);
  const later = await explain();
  assert.doesNotMatch(later.headline, /postponed/);
  assert.match(later.answerTo("History"), /Retries were postponed until/);
});

test("the history names the actor of a retry at once, and says that it was requested by hand", async () => {
  stage.wait(HOUR);
  await stage.retryNow();
  const history = (await explain()).answerTo("History");
  assert.match(history, /A retry at once was requested by the command line\.$/m);
  assert.match(history, new RegExp(`A retry on ${TIME} was requested by hand, and the request is on its way\\.$`, "m"));
});

test("what was done last is the effect of a request, not the request: gateways may date the effect earlier", async () => {
  stage.wait(HOUR);
  await stage.retryNow();
  const explained = await explainInvoice(stage, merchantId, "inv_1");
  const requests = explained.requests.map((request) => ({ ...request, at: new Date(+request.at + 1_000) }));
  assert.equal(requests.length, 1);
  const { lines } = summarizeInvoice({ ...explained, requests });
  assert.match(lines[0]!.sentence, /: A retry on .* was requested by hand/);
});

test("the history, the headline and the reason of the end name the actor of a stop", async () => {
  await stage.stopRecovery();
  const { headline, answerTo } = await explain();
  assert.match(headline, new RegExp(`^Recovery of EUR 49\\.00 was stopped by the command line on ${TIME}\\.`));
  assert.match(answerTo("History"), /Recovery was stopped by the command line\.$/m);
  assert.equal(
    answerTo("Why did it stop?"),
    "The case ended: the recovery of this invoice was stopped by the command line.",
  );
});

test("the history has the requests of this invoice only", async () => {
  await stage.invoice({ id: "inv_2" });
  await stage.decide();
  await stage.postpone(new Date(stage.now().getTime() + 2 * DAY), "inv_2");
  await stage.postpone(new Date(stage.now().getTime() + DAY));
  assert.deepEqual(
    (await explain()).requests.map(({ kind, actor }) => ({ kind, actor })),
    [{ kind: "postponed", actor: "command line" }],
  );
});
