import { inWords, type Reason } from "../world/declines.ts";
import { type BookedInvoice, type RecoveredBy, recoveredBy, retriesOf } from "./ledger.ts";
import { cut, LINE_WIDTH, listed, moneyOf } from "./lines.ts";

export interface Tally {
  failed: number;
  failedAmount: number;
  recovered: number;
  recoveredAmount: number;
  open: number;
  givenUp: number;
}

/** What became of the invoices whose first charge failed. Amounts are kept by currency and never added across. */
export interface Summary {
  charged: number;
  total: Omit<Tally, "failedAmount" | "recoveredAmount">;
  byCurrency: Map<string, Tally>;
  byReason: Map<Reason, Tally>;
  /** Recovered invoices by who did it, and for retries by which one. */
  byWay: Map<RecoveredBy, number>;
  byRetry: Map<number, number>;
}

/** Counts the books. */
export function summarize(invoices: readonly BookedInvoice[]): Summary {
  const failed = invoices.filter(({ attempts }) => attempts[0] && attempts[0].reason !== null);
  const recovered = failed.filter(({ state }) => state === "PAID");
  const retried = recovered.filter((invoice) => recoveredBy(invoice) === "retry");
  return {
    charged: invoices.length,
    total: tallyOf(failed),
    byCurrency: tallies(failed, ({ currency }) => currency),
    byReason: tallies(failed, ({ attempts }) => attempts[0]!.reason!),
    byWay: counts(recovered.map((invoice) => recoveredBy(invoice)!)),
    byRetry: counts(retried.map(retriesOf)),
  };
}

function tallyOf(invoices: readonly BookedInvoice[]): Tally {
  const of = (state: BookedInvoice["state"]) => invoices.filter((invoice) => invoice.state === state);
  const sum = (some: readonly BookedInvoice[]) => some.reduce((total, { amount }) => total + amount, 0);
  return {
    failed: invoices.length,
    failedAmount: sum(invoices),
    recovered: of("PAID").length,
    recoveredAmount: sum(of("PAID")),
    open: of("UNPAID").length,
    givenUp: of("UNCOLLECTIBLE").length,
  };
}

const tallies = <K>(invoices: readonly BookedInvoice[], keyOf: (invoice: BookedInvoice) => K) =>
  new Map([...Map.groupBy(invoices, keyOf)].map(([key, group]) => [key, tallyOf(group)]));

const counts = <K>(keys: readonly K[]) =>
  new Map([...Map.groupBy(keys, (key) => key)].map(([key, all]) => [key, all.length]));

const WAYS: Record<RecoveredBy, string> = {
  retry: "Dunlin's retries",
  card_change: "a new card Dunlin asked for",
  own_retry: "own retries",
  customer: "customers by themselves",
};

/** The summary as lines for a terminal of 100 columns. */
export function summaryLines(summary: Summary, title: string): string[] {
  const { total } = summary;
  const row = (name: string, tally: Omit<Tally, "failedAmount" | "recoveredAmount">, money: string[] = []) =>
    `  ${name.padEnd(28)}${cell(tally.failed)}${cell(tally.recovered)}${shareOf(tally).padStart(8)}` +
    `${cell(tally.open)}${cell(tally.givenUp)}${money.map((text) => text.padStart(15)).join("")}`;
  const bySize = <K>(map: Map<K, Tally>) => [...map].sort(([, a], [, b]) => b.failed - a.failed);
  const ways = (Object.keys(WAYS) as RecoveredBy[]).filter((way) => summary.byWay.has(way));
  const retries = [...summary.byRetry].sort(([a], [b]) => a - b).map(([retry, count]) => `retry ${retry}: ${count}`);
  return [
    `── ${title} `.padEnd(LINE_WIDTH, "─"),
    `  ${`${summary.charged} invoices charged`.padEnd(28)}${HEADINGS}`,
    ...bySize(summary.byCurrency).map(([currency, tally]) =>
      row(currency, tally, [moneyOf(tally.failedAmount, currency), moneyOf(tally.recoveredAmount, currency)]),
    ),
    row("all", total),
    ...bySize(summary.byReason).map(([reason, tally]) => row(inWords(reason), tally)),
    ...(ways.length > 0
      ? listed(
          "  recovered by",
          ways.map((way) => `${WAYS[way]}: ${summary.byWay.get(way)}`),
        )
      : []),
    ...(retries.length > 0 ? listed("  Dunlin's retries that succeeded:", retries) : []),
    "─".repeat(LINE_WIDTH),
  ].map(cut);
}

const HEADINGS =
  ["failed", "recov.", "share", "open", "lost"].map((text) => text.padStart(8)).join("") +
  ["failed money", "recovered"].map((text) => text.padStart(15)).join("");
const cell = (count: number) => String(count).padStart(8);
const shareOf = ({ failed, recovered }: { failed: number; recovered: number }) =>
  failed === 0 ? "–" : `${Math.round((100 * recovered) / failed)}%`;
