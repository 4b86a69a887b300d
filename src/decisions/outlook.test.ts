import assert from "node:assert/strict";
import { test } from "node:test";
import { belief, learned, question, START } from "./choose-try.fixture.ts";
import { chooseTry } from "./choose-try.ts";
import { outlookOf } from "./outlook.ts";

test("the plan is worth as much beside even tries as its moment among the days, and even tries are worth more only where something was drawn", () => {
  const kinds = new Map<string, number>();
  for (let n = 0; n < 400; n++) {
    const kase = belief(n % 4 === 0 ? "HARD_CARD" : "FUNDS");
    const asked = question({
      key: `case-${n}`,
      dollars: 3 + n,
      stakes: { worthAt: () => 1, cost: 0.003 + 0.12 / (3 + n) },
    });
    const chosen = chooseTry(learned, kase, asked);
    if (!chosen) continue;
    const { days, even } = outlookOf(learned, kase, asked, chosen, START);
    const { tries, worth, planWorth } = even!;
    const day = days.find(({ at }) => +at === chosen.at);
    if (day) assert.ok(Math.abs(day.worth - planWorth) < 2e-4, `${day.worth} and ${planWorth}`);
    const kind = chosen.hopeless ? "hopeless" : chosen.drawn || chosen.hourDrawn ? "drawn" : "planned";
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (kind === "planned") assert.ok(worth < planWorth + 0.005, `${n}: ${tries.length} ${worth} and ${planWorth}`);
  }
  assert.ok(["hopeless", "drawn", "planned"].every((kind) => kinds.has(kind)));
});
