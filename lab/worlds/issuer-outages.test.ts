import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutages, downChance, findOutageCode, type IssuerOutages } from "./issuer-outages.ts";
import { createRandomStream } from "./random-stream.ts";

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const RATES = { perMonth: 4, medianMs: HOUR_MS, utcOffsetHours: 1 };
/** Whether a charge meets an outage. Over many charges, their luck is evenly spread. */
let charges = 0;
const isDown = (uptime: IssuerOutages, at: number) => findOutageCode(uptime, at, (++charges * 0.618034) % 1) !== null;
const outagesByIssuer = Array.from({ length: 60 }, (_, issuer) =>
  createOutages(3, issuer, 0, YEAR_MS, RATES, createRandomStream()),
);

test("an issuer is down for its expected share of charges, and issuers have independent outages", () => {
  let down = 0;
  let checkedCount = 0;
  for (const uptime of outagesByIssuer)
    for (let at = 0; at < YEAR_MS; at += HOUR_MS) {
      checkedCount++;
      down += Number(isDown(uptime, at));
    }
  const foreseen = outagesByIssuer[0]!.usuallyDown;
  assert.ok(Math.abs(down / checkedCount - foreseen) < 0.15 * foreseen, `${down / checkedCount}, foreseen ${foreseen}`);
  assert.notDeepEqual(outagesByIssuer[0]!.outages, outagesByIssuer[1]!.outages);
});

test("the remaining length of an outage is predicted from its age alone, and right on average", () => {
  for (const [ageMs, moreMs] of [
    [0.25 * HOUR_MS, HOUR_MS],
    [2 * HOUR_MS, 3 * HOUR_MS],
  ] as const) {
    let foreseen = 0;
    let lasted = 0;
    let count = 0;
    for (const uptime of outagesByIssuer)
      for (const { startsAt, endsAt } of uptime.outages) {
        if (endsAt <= startsAt + ageMs) continue;
        count++;
        foreseen += downChance(uptime, startsAt + ageMs, startsAt + ageMs + moreMs);
        lasted += Number(isDown(uptime, startsAt + ageMs + moreMs));
      }
    assert.ok(Math.abs(foreseen - lasted) / count < 0.06, `${foreseen} foreseen, ${lasted} of ${count} lasted`);
  }
});
