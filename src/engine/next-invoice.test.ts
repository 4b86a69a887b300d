import assert from "node:assert/strict";
import { test } from "node:test";
import { findNextInvoiceTime } from "./next-invoice.ts";

const buildInvoices = (subscriptionId: string, ...days: string[]) =>
  days.map((day) => ({ subscriptionId, at: new Date(`${day}T09:00:00Z`) }));
const nextInvoiceDate = (invoices: ReturnType<typeof buildInvoices>, after: string) => {
  const at = findNextInvoiceTime(invoices, Date.parse(`${after}T09:00:00Z`));
  return at === null ? null : new Date(at).toISOString().slice(0, 10);
};

test("the next invoice comes after the same interval as between the last two, in any order", () => {
  assert.equal(
    nextInvoiceDate(buildInvoices("weekly", "2026-03-16", "2026-03-02", "2026-03-09"), "2026-03-17"),
    "2026-03-23",
  );
});

test("the earliest invoice counts among several subscriptions, without those of unknown period", () => {
  const invoices = [
    ...buildInvoices("monthly", "2026-02-10", "2026-03-10"),
    ...buildInvoices("weekly", "2026-03-04", "2026-03-11"),
    ...buildInvoices("new", "2026-03-12"),
  ];
  assert.equal(nextInvoiceDate(invoices, "2026-03-12"), "2026-03-18");
  assert.equal(nextInvoiceDate(buildInvoices("new", "2026-03-12"), "2026-03-12"), null);
});

test("an invoice that did not come when due is not awaited", () => {
  const invoices = buildInvoices("weekly", "2026-03-04", "2026-03-11");
  assert.equal(nextInvoiceDate(invoices, "2026-03-17"), "2026-03-18");
  assert.equal(nextInvoiceDate(invoices, "2026-03-18"), null);
});

test("an invoice that corrects another one within a day implies no period", () => {
  const correction = { subscriptionId: "monthly", at: new Date("2026-03-10T08:00:00Z") };
  const invoices = [...buildInvoices("monthly", "2026-02-10", "2026-03-10"), correction];
  assert.equal(nextInvoiceDate(invoices, "2026-03-11"), "2026-04-07");
});
