import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case } from "../../domain/case.ts";
import { findZone } from "../../engine/local-time.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { htmlText } from "../html.ts";
import { recoveryTrack } from "./recovery-track.ts";

const HOUR = 3_600_000;
const from = new Date("2026-03-01T08:00:00Z");
const windowEndsAt = new Date(+from + 28 * 24 * HOUR);
const clock = { zone: findZone("UTC")!, readerZone: "UTC" };

/** The labels of the wide and of the narrow drawing. */
function labelsOf(endedAt: Date | null) {
  const recoveryCase = {
    ...{ arm: "dunlin", unpaidAt: from, windowEndsAt, budget: 8, endedAt },
    endReason: endedAt && "stopped_by_hand",
  } as Case;
  const explained = {
    ...{ case: recoveryCase, now: endedAt ?? new Date(+from + 240 * HOUR) },
    ...{ transactions: [], actions: [], decisions: [], earlierCases: [], requests: [] },
  } as unknown as ExplainedCase;
  const track = htmlText(recoveryTrack(explained, recoveryCase, 1, clock));
  return ["wide", "narrow"].map((kind) => {
    const drawing = track.split(`only-${kind}"`)[1]!.split("</div>")[0]!.split("only-narrow")[0]!;
    return [...drawing.matchAll(/x="([\d.]+)%" y="74" text-anchor="(\w+)">([^<]*)<\/text><text[^>]*>([^<]*)</g)].map(
      ([, x, anchor, date, name]) => ({ x: Number(x), anchor, date, name }),
    );
  });
}

test("the ends of recovery and of the window have one label when they are close", () => {
  for (const hours of [0, 1, 24]) {
    const drawings = labelsOf(new Date(+windowEndsAt - hours * HOUR));
    for (const labels of drawings)
      assert.deepEqual(
        labels.map(({ name }) => name),
        ["unpaid", "window ends"],
        `${hours} hours`,
      );
  }
  const [wide] = labelsOf(new Date(+windowEndsAt - 14 * 24 * HOUR));
  assert.deepEqual(
    wide!.map(({ name }) => name),
    ["unpaid", "window ends", "ended"],
  );
});

test("the label of the window's end ends at the drawing's edge, and the first label begins at it or is centered", () => {
  for (const labels of labelsOf(null)) {
    assert.deepEqual(labels.at(-1), { x: 100, anchor: "end", date: "29 Mar", name: "window ends" });
    assert.equal(labels[0]!.name, "unpaid");
  }
});

test("a legend names the card icon, which often has no room for a label", () => {
  const recoveryCase = { arm: "dunlin", unpaidAt: from, windowEndsAt, budget: 8, endedAt: null } as Case;
  const asked = { type: "CARD_CHANGE", status: "EXPIRED", decidedAt: from, idealRetryTime: from };
  const explained = {
    ...{ case: recoveryCase, now: windowEndsAt, actions: [asked] },
    ...{ transactions: [], decisions: [], earlierCases: [], requests: [] },
  } as unknown as ExplainedCase;
  assert.match(
    htmlText(recoveryTrack(explained, recoveryCase, 1, clock)),
    /class="legend chart-legend"><span><svg[\s\S]*c-card[\s\S]*<\/svg>another card or payment method asked for: expired</,
  );
});
