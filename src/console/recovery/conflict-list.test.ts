import assert from "node:assert/strict";
import { test } from "node:test";
import { describeConflict, parseStoredConflict } from "../../recovery/conflict-wording.ts";
import { htmlText } from "../html.ts";
import { conflictList, conflictNotice } from "./conflict-list.ts";

const foundAt = new Date("2026-03-02T10:00:00Z");
const conflict = (kind: string, facts: Record<string, unknown>, invoiceId = "inv_1") => ({
  invoiceId,
  kind,
  facts,
  foundAt,
});
const unpaid = conflict("paid_but_unpaid", {
  paid: 4900,
  currency: "EUR",
  paidAt: "2026-03-01T09:00:00.000Z",
  unpaidAt: "2026-03-02T09:00:00.000Z",
});

test("each conflict shows the contradiction and what to do", () => {
  const words = (each: typeof unpaid) =>
    describeConflict(parseStoredConflict(each), (at) => at.toISOString().slice(0, 10));
  assert.match(
    words(unpaid),
    /EUR 49\.00 have covered the invoice since 2026-03-01, but a version from 2026-03-02 reports/,
  );
  assert.match(
    words(conflict("two_currencies", { currency: "EUR", paid: 4900, paidCurrency: "USD" })),
    /in EUR, but a payment of USD 49\.00 was reported for it/,
  );
  assert.match(
    words(conflict("paid_too_much", { amount: 49, paid: 4900, currency: "EUR" })),
    /EUR 49\.00 is larger than the invoice of EUR 0\.49/,
  );
});

test("invoices that need review are listed with links, and further ones are counted", () => {
  assert.equal(conflictList([], 0, "UTC"), null);
  const list = htmlText(conflictList([unpaid], 3, "UTC")!);
  assert.match(list, /3 invoices need review/);
  assert.match(list, /<li><a [^>]*href="\/invoices\/inv_1"[^>]*>[\s\S]*EUR 49\.00 have covered/);
  assert.match(list, /2 more are not shown/);
  assert.equal(conflictNotice(undefined, "UTC"), null);
  assert.match(htmlText(conflictNotice(unpaid, "UTC")!), /This invoice needs review/);
});
