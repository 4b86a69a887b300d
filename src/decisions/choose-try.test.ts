import assert from "node:assert/strict";
import { test } from "node:test";
import { dayPartColumn } from "../model/layout.ts";
import { type Learned, newLearned } from "../model/learned.ts";
import { chanceOf } from "../model/observe.ts";
import { learnTrim, trimmed, trimOf } from "../model/trim.ts";
import { keepsLimit } from "../rules/plan-limits.ts";
import { BANK, belief, DAY, HOUR, learned, question, START } from "./choose-try.fixture.ts";
import { chooseTry, HOPELESS_HALF_TRIES, HOPELESS_TRIED_SHARE, type TryQuestion } from "./choose-try.ts";
import { EXPLORED_SHARE, LOT_COST_MAX } from "./draw-first.ts";
import { HOUR_DRAWN_SHARE } from "./hours.ts";
import { outlookOf } from "./outlook.ts";
import { worthOfNext } from "./plan-tries.ts";

/** A model that has seen so many tries after the code of `belief`. */
function familiar(tries: number): Learned {
  const seen = learned.seen.slice();
  seen[0] = tries;
  return { ...learned, seen };
}
test("the moment is allowed, inside the window and not at once, and the same when it is asked again", () => {
  for (const reason of ["FUNDS", "GENERIC", "UNKNOWN", "LIMIT", "ISSUER_DOWN", "EXPIRED"] as const) {
    for (const days of [1, 7, 14, 28, 60]) {
      const allow = (at: number) => new Date(at).getUTCDay() !== 3;
      const asked = question({ key: `${reason}${days}`, windowEndsAt: START + days * DAY, allow });
      const chosen = chooseTry(learned, belief(reason), asked);
      const again = chooseTry(learned, belief(reason), asked);
      assert.deepEqual({ ...again, weighed: null }, { ...chosen, weighed: null });
      if (!chosen) continue;
      const soonest = START + (reason === "EXPIRED" ? 20 : 2) * HOUR;
      assert.ok(chosen.at >= soonest && chosen.at < asked.windowEndsAt && allow(chosen.at));
      assert.ok(chosen.chance > 0 && chosen.chance < 1 && chosen.weighed.plan.worth > 0);
      assert.ok(chosen.next.every((at) => at > chosen.at));
    }
  }
});

test("a bank that was down is tried within three days, a card that is gone not at all", () => {
  assert.ok(chooseTry(learned, belief("ISSUER_DOWN"), question({ key: "outage" }))!.at < START + 3 * DAY);
  const dear = question({ stakes: { worthAt: () => 1, cost: 0.05 } });
  assert.equal(chooseTry(familiar(10_000), belief("REVOKED"), dear), null);
});

test("fewer retries are planned when retries often succeed, and fewer still for a small invoice, because each must bring more", () => {
  const planned = (usual: number, dollars = 24) => {
    const { next } = chooseTry(
      { ...learned, tries: Float64Array.of(usual, 1000) },
      belief("FUNDS"),
      question({ triesLeft: 20, dollars }),
    )!;
    return next.length;
  };
  assert.ok(planned(0.6) < planned(0), `${planned(0.6)} and ${planned(0)}`);
  const [small, large, least] = [planned(0.6, 15), planned(0.6, 400), planned(0.6, 1)];
  assert.ok(small < large && large <= planned(0), `${small}, ${large} and ${planned(0)}`);
  assert.ok(least > 0, "the smallest bills are tried too");
  assert.ok(planned(0.6, 1e6) < planned(0), "of the largest bill, too, a part is asked");
});

test("nothing is chosen where nothing is allowed, no try is left or the window is over", () => {
  assert.equal(chooseTry(learned, belief("FUNDS"), question({ allow: () => false })), null);
  assert.equal(chooseTry(learned, belief("FUNDS"), question({ triesLeft: 0 })), null);
  assert.equal(chooseTry(learned, belief("FUNDS"), question({ windowEndsAt: START + HOUR })), null);
});

test("about three in a hundred first moments are drawn by lot, with the chance of it written down", () => {
  let drawn = 0;
  for (let n = 0; n < 3000; n++) {
    const chosen = chooseTry(learned, belief("FUNDS"), question({ key: `case-${n}`, windowEndsAt: START + 3 * DAY }))!;
    if (!chosen.drawn) {
      const least = 1 - EXPLORED_SHARE - HOUR_DRAWN_SHARE;
      assert.ok(chosen.hourDrawn || chosen.propensity > least, `${chosen.propensity}`);
      continue;
    }
    drawn++;
    assert.ok(chosen.propensity > 0 && chosen.propensity < EXPLORED_SHARE + HOUR_DRAWN_SHARE);
  }
  assert.ok(Math.abs(drawn / 3000 - EXPLORED_SHARE) < 0.012, `${drawn}`);
  const second = belief("FUNDS");
  second.tries = 1;
  for (let n = 0; n < 300; n++) assert.equal(chooseTry(learned, second, question({ key: `case-${n}` }))!.drawn, false);
});

test("a moment that is drawn by lot costs the plan little, whatever the chance of the try", () => {
  let elsewhere = 0;
  for (const reason of ["FUNDS", "GENERIC", "ISSUER_DOWN"] as const) {
    for (let n = 0; n < 2000; n++) {
      const { at, drawn, propensity, weighed } = chooseTry(learned, belief(reason), question({ key: `case-${n}` }))!;
      if (!drawn) continue;
      const { forecast, plan, stakes } = weighed;
      const slot = forecast.slots.indexOf(at);
      if (slot === plan.slots[0]) continue;
      elsewhere++;
      const worth = worthOfNext(forecast, plan, stakes)[plan.picked.indexOf(slot)]!;
      assert.ok(
        worth >= (1 - LOT_COST_MAX) * plan.worth && worth <= plan.worth + 1e-9,
        `${reason} ${worth} of ${plan.worth}`,
      );
      assert.ok(propensity < EXPLORED_SHARE + HOUR_DRAWN_SHARE, `${propensity}`);
    }
  }
  assert.ok(elsewhere > 60, `${elsewhere}`);
});

test("one in twenty cases not worth retrying is retried, more after a rare code, and its propensity is recorded", () => {
  for (const [seen, share] of [
    [0, 1],
    [HOPELESS_HALF_TRIES, 0.5],
    [10_000, HOPELESS_TRIED_SHARE],
  ] as const) {
    const model = familiar(seen);
    let tried = 0;
    for (let n = 0; n < 2000; n++) {
      const dear = question({ key: `case-${n}`, stakes: { worthAt: () => 1, cost: 0.1 } });
      const chosen = chooseTry(model, belief("REVOKED"), dear);
      if (!chosen) continue;
      tried++;
      assert.ok(chosen.hopeless && chosen.propensity <= share && chosen.weighed.plan.worth > 0);
      const least = share * (1 - EXPLORED_SHARE - HOUR_DRAWN_SHARE);
      if (!chosen.drawn && !chosen.hourDrawn) assert.ok(chosen.propensity >= least, `${chosen.propensity}`);
    }
    assert.ok(Math.abs(tried / 2000 - share) < 0.03, `${tried} of ${share}`);
  }
  const dearest = question({ stakes: { worthAt: () => 1, cost: 0.2 } });
  assert.equal(chooseTry(familiar(0), belief("REVOKED"), dearest), null, "a dear try");
});

test("without exploring the plan's next moment is chosen for certain, and hopeless cases are tried until enough tries were seen", () => {
  for (const reason of ["FUNDS", "GENERIC", "ISSUER_DOWN"] as const)
    for (let n = 0; n < 300; n++) {
      // A model that has seen no first tries would make many of them sooner.
      const chosen = chooseTry(newLearned(), belief(reason), question({ key: `case-${n}`, explores: false }))!;
      const { forecast, plan } = chosen.weighed;
      assert.deepEqual([chosen.drawn, chosen.hourDrawn, chosen.propensity], [false, false, 1]);
      assert.equal(chosen.at, forecast.slots[plan.slots[0]!]);
    }
  for (let n = 0; n < 300; n++) {
    const dear = question({ key: `case-${n}`, explores: false, stakes: { worthAt: () => 1, cost: 0.1 } });
    const tried = [0, HOPELESS_HALF_TRIES - 1, HOPELESS_HALF_TRIES].map((seen) =>
      chooseTry(familiar(seen), belief("REVOKED"), dear),
    );
    assert.deepEqual(
      tried.map((chosen) => chosen && [chosen.hopeless, chosen.propensity]),
      [[true, 1], [true, 1], null],
    );
  }
});

test("cards of an issuer that approves more at one hour are retried at that hour", () => {
  const trusting = { ...newLearned() };
  const of = belief("GENERIC");
  trusting.mean[BANK + dayPartColumn(5)] = 1;
  const hours = (model: Learned) =>
    Array.from({ length: 100 }, (_, n) => {
      const chosen = chooseTry(model, belief("GENERIC"), question({ key: `case ${n}` }))!;
      return chosen.drawn || chosen.hourDrawn ? null : new Date(chosen.at + of.clock.offsetMs).getUTCHours();
    }).filter((hour) => hour !== null);
  assert.deepEqual(new Set(hours(trusting)), new Set([5]));
  assert.ok(!hours(learned).includes(5));
});

test("the chance of a moment is the same wherever it is said: of the choice, of its day and of its hour", () => {
  const corrected = { ...learned, trim: learned.trim.slice() };
  for (const reason of ["FUNDS", "GENERIC", "LIMIT"] as const)
    for (let n = 0; n < 50; n++) learnTrim(corrected, trimOf({ reason, tries: 1 }), 0.3, true);
  for (const reason of ["FUNDS", "GENERIC", "LIMIT"] as const)
    for (let n = 0; n < 20; n++) {
      const asked = question({ key: `case ${n}`, windowEndsAt: START + (14 + n) * DAY });
      // A later try is corrected by what came of later ones.
      const kase = { ...belief(reason), tries: n % 2 };
      const chosen = chooseTry(corrected, kase, asked)!;
      const said = trimmed(corrected, trimOf(kase), chanceOf(corrected, kase, chosen.at));
      assert.equal(chosen.chance, said);
      const { days, hours } = outlookOf(corrected, kase, asked, chosen, START, START);
      assert.ok([...days, ...hours].some(({ at }) => at.getTime() === chosen.at));
      for (const { at, chance } of [...days, ...hours]) {
        const alone = trimmed(corrected, trimOf(kase), chanceOf(corrected, kase, at.getTime()));
        assert.ok(Math.abs(chance - alone) < 1e-4, `${chance} and ${alone}`);
      }
    }
});

test("the plan that is shown begins with the moment that was chosen, drawn or not, and goes on as is said", () => {
  let drawn = 0;
  for (let n = 0; n < 60; n++) {
    const asked = question({ key: `case-${n}`, triesLeft: 4 + (n % 3) });
    const chosen = chooseTry(learned, belief("FUNDS"), asked)!;
    const { even } = outlookOf(learned, belief("FUNDS"), asked, chosen, START, START);
    assert.deepEqual(even!.plan.map(Number), [chosen.at, ...chosen.next]);
    assert.equal(even!.tries.length, asked.triesLeft);
    if (chosen.hourDrawn) drawn++;
  }
  assert.ok(drawn > 3, `${drawn}`);
});

test("fewer than six evenly spaced retries are also spread over the whole window", () => {
  const evenDays = (asked: TryQuestion, tries = 0) => {
    const kase = { ...belief("FUNDS"), tries };
    const { even } = outlookOf(learned, kase, asked, chooseTry(learned, kase, asked)!, START, START);
    return even!.tries.map((at) => (at.getTime() - START) / DAY);
  };
  const near = (days: readonly number[], wanted: readonly number[]) => {
    assert.equal(days.length, wanted.length);
    for (const [n, day] of days.entries()) assert.ok(Math.abs(day - wanted[n]!) <= 0.5, `${days}, not ${wanted}`);
  };
  near(evenDays(question({ triesLeft: 2 })), [14, 28]);
  near(evenDays(question({ triesLeft: 1 }), 2), [28 / 3, 56 / 3, 28].slice(0, 1));
});

test("a plan that is shown keeps the limits, also where its next try was drawn, or no try is worth making", () => {
  let drawn = 0;
  let hopeless = 0;
  for (let n = 0; n < 400; n++) {
    const kase = belief(n % 4 === 0 ? "HARD_CARD" : "FUNDS");
    const limit = { times: [START], attemptsMax: 2 + (n % 2), windowMs: (6 + (n % 9)) * DAY };
    const stakes = { worthAt: () => 1, cost: n % 4 === 0 ? 0.19 : 0.008 };
    const asked = question({ key: `case-${n}`, limits: [limit], stakes });
    const chosen = chooseTry(familiar(0), kase, asked);
    if (!chosen) continue;
    if (chosen.drawn || chosen.hourDrawn) drawn++;
    if (chosen.hopeless) hopeless++;
    const { even } = outlookOf(learned, kase, asked, chosen, START, START);
    for (const plan of [[chosen.at, ...chosen.next], even!.plan.map(Number), even!.tries.map(Number)])
      for (const [k, at] of plan.entries())
        assert.ok(keepsLimit(limit, plan.slice(0, k), at), `${n}: ${plan.map((each) => (each - START) / DAY)}`);
  }
  assert.ok(drawn > 50 && hopeless > 50, `${drawn}, ${hopeless}`);
});

test("a drawn hour never ends a case", () => {
  // One hundredth more, and nobody would be tried.
  for (let n = 0; n < 1000; n++) {
    const asked = question({ key: `case-${n}`, stakes: { worthAt: () => 1, cost: 0.39 } });
    assert.equal(chooseTry(learned, belief("FUNDS"), asked)!.hopeless, false);
  }
});
