import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../domain/durations.ts";
import type { CandidateTime } from "./candidate-times.ts";
import { buildCase, PAID_ON_THE_25TH, soonAfterFailure } from "./decide-learned.fixture.ts";
import { buildDecisionContext } from "./decision-context.ts";
import { findZone } from "./local-time.ts";
import {
  buildRetryDecision,
  describeFailure,
  describeRenewal,
  explainTime,
  isRetryOfRenewableCard,
} from "./reasons.ts";
import type { DeclineGroup } from "./rules/decline-groups.ts";
import type { InterpretedDecline } from "./rules/interpret-decline.ts";

test("the reasons give both numbers, and blame no rule, when the time left fits fewer retries than allowed", () => {
  const [{ ledger, ...rest }] = buildCase(PAID_ON_THE_25TH, { paymentMethodType: "paypal", network: null });
  const facts = { ...rest, ledger: ledger.slice(0, 1) };
  const situation = buildDecisionContext(facts, soonAfterFailure(facts));
  const end = +facts.windowEndsAt;
  const retry = (hoursLeft: number) =>
    buildRetryDecision(situation, end - hoursLeft * HOUR_MS, [], null, hoursLeft / 2);
  const words = (hoursLeft: number) =>
    retry(hoursLeft)
      .reasons.at(-1)!
      .replace(/ may be made.*?\./, "");
  assert.match(words(3), /^After this one, 1 more retry .* PayPal allows/);
  assert.equal(
    retry(1.5).reasons.at(-1),
    "After this one, 1 more retry would be allowed, but there is no time for it before the window ends on Sat 9 May.",
  );
  const { reasons } = buildRetryDecision(
    buildDecisionContext(buildCase(PAID_ON_THE_25TH)[0], soonAfterFailure(facts)),
    end - 26 * HOUR_MS,
    [],
    null,
    2.4,
  );
  assert.match(
    reasons.at(-1)!,
    /^After this one, 4 more retries would be allowed, but there is time for about 2 of them before .*\.$/,
  );
});

test("every decline group has its own words for a failed attempt, unless the code has better ones", () => {
  const failed = (group: DeclineGroup, words: string | null = null) =>
    describeFailure("The last attempt", { group, words, codes: [] } as unknown as InterpretedDecline);
  const expected: Record<DeclineGroup, string> = {
    REVOKED: "The last attempt failed: the customer revoked the payment.",
    FRAUD: "The last attempt failed: fraud is suspected.",
    HARD_CARD: "The last attempt failed: the card or account can no longer be charged.",
    INVALID_DATA: "The last attempt failed: the card or account data is wrong.",
    EXPIRED: "The last attempt failed: the card has expired or was replaced.",
    AUTH_REQUIRED: "The last attempt failed: the bank wants the customer to confirm.",
    LIMIT: "The last attempt failed: a spending limit was reached.",
    FUNDS: "The last attempt failed: there was not enough money.",
    ISSUER_DOWN: "The last attempt failed: the bank could not be reached.",
    GENERIC: "The last attempt failed: the bank gave no clear reason.",
    UNKNOWN: "The last attempt failed without a reason.",
  };
  for (const [group, words] of Object.entries(expected)) assert.equal(failed(group as DeclineGroup), words);
  assert.equal(failed("FUNDS", "the mandate ended"), "The last attempt failed: the mandate ended.");
});

test("each reason for a time has its own words, with the time", () => {
  const place = { zone: findZone("Europe/Berlin")!, country: "DE" };
  const at = Date.parse("2026-04-15T07:02:00Z");
  const payDay = { weight: 1, words: "the 15th" };
  const wordings: Record<CandidateTime["why"], RegExp> = {
    pay_day: /^Wed 15 April is a likely pay day in Germany \(the 15th\), so the next retry is on that morning/,
    day_turn: /^Limits usually reset at midnight, /,
    month_turn: /^Limits usually reset with a new month, /,
    outage: /^Such faults usually end within hours, /,
    new_card: /^The first retry with it comes about an hour later: /,
    last_chance: /^Better times were missed and the recovery window ends soon, /,
    morning: /^The remaining retries are spaced evenly over the remaining days, each in the local morning: /,
    after_quiet: /^The next hour that allows a retry is used: /,
    even: /^The remaining retries are spaced evenly over the remaining time: /,
  };
  for (const [why, words] of Object.entries(wordings)) {
    const reason = explainTime({ at, why, payDay } as CandidateTime, at, place);
    assert.match(reason, words);
    assert.match(reason, /Wed 15 April, 09:02 \(Europe\/Berlin\)\.$/);
  }
});

test("a retry of a card that banks renew is recognized in its reasons, also in those of earlier builds", () => {
  const expired = {
    group: "EXPIRED",
    words: null,
    codes: { networkDeclineCode: "54" },
  } as unknown as InterpretedDecline;
  const [facts] = buildCase(PAID_ON_THE_25TH);
  const [awaited, unasked] = (["awaited", "unasked"] as const).map(
    (cardChange) => describeRenewal({ ...facts, cardChange }, expired)!,
  );
  assert.equal(
    awaited,
    "The customer is asked for another card. Banks sometimes renew such cards without telling the merchant, so Dunlin retries the current card too.",
  );
  assert.match(unasked!, /^Banks sometimes .* so Dunlin retries the current card\.$/);
  const former = "Banks renew such cards without notice, and nobody hears of it, so this one is tried as well.";
  for (const reason of [awaited!, unasked!, former]) assert.ok(isRetryOfRenewableCard(["It failed.", reason]), reason);
  assert.ok(!isRetryOfRenewableCard(["The last attempt failed: the card has expired (code 54)."]));
});
