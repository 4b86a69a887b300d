import { describeReason, type Reason } from "../world/decline-reasons.ts";
import { type BookedInvoice, countRetries, findRecoveredBy, type RecoveredBy } from "./merchant-books.ts";
import { formatMoney, LINE_WIDTH, truncateLine, wrapList } from "./terminal-lines.ts";

export interface Tally {
  failed: number;
  failedAmount: number;
  recovered: number;
  recoveredAmount: number;
  open: number;
  givenUp: number;
}

export interface Summary {
  charged: number;
  total: Omit<Tally, "failedAmount" | "recoveredAmount">;
  byCurrency: Map<string, Tally>;
  byReason: Map<Reason, Tally>;
  byWay: Map<RecoveredBy, number>;
  byRetry: Map<number, number>;
}

export function summarize(invoices: readonly BookedInvoice[]): Summary {
  const failed = invoices.filter(({ attempts }) => attempts[0] && attempts[0].reason !== null);
  const recovered = failed.filter(({ state }) => state === "PAID");
  const retried = recovered.filter((invoice) => findRecoveredBy(invoice) === "retry");
  return {
    charged: invoices.length,
    total: tallyInvoices(failed),
    byCurrency: tallyByKey(failed, ({ currency }) => currency),
    byReason: tallyByKey(failed, ({ attempts }) => attempts[0]!.reason!),
    byWay: countByKey(recovered.map((invoice) => findRecoveredBy(invoice)!)),
    byRetry: countByKey(retried.map(countRetries)),
  };
}

function tallyInvoices(invoices: readonly BookedInvoice[]): Tally {
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

const tallyByKey = <K>(invoices: readonly BookedInvoice[], keyOf: (invoice: BookedInvoice) => K) =>
  new Map([...Map.groupBy(invoices, keyOf)].map(([key, group]) => [key, tallyInvoices(group)]));

const countByKey = <K>(keys: readonly K[]) =>
  new Map([...Map.groupBy(keys, (key) => key)].map(([key, all]) => [key, all.length]));

const RECOVERED_BY_WORDING: Record<RecoveredBy, string> = {
  retry: "Dunlin's retries",
  card_change: "a new card Dunlin asked for",
  own_retry: "own retries",
  customer: "customers, unasked",
};

export function formatSummary(summary: Summary, title: string): string[] {
  const { total } = summary;
  const row = (name: string, tally: Omit<Tally, "failedAmount" | "recoveredAmount">, money: string[] = []) =>
    `  ${name.padEnd(28)}${formatCell(tally.failed)}${formatCell(tally.recovered)}${formatRecoveredShare(tally).padStart(8)}` +
    `${formatCell(tally.open)}${formatCell(tally.givenUp)}${money.map((text) => text.padStart(15)).join("")}`;
  const bySize = <K>(map: Map<K, Tally>) => [...map].sort(([, a], [, b]) => b.failed - a.failed);
  const ways = (Object.keys(RECOVERED_BY_WORDING) as RecoveredBy[]).filter((way) => summary.byWay.has(way));
  const retries = [...summary.byRetry].sort(([a], [b]) => a - b).map(([retry, count]) => `retry ${retry}: ${count}`);
  return [
    `── ${title} `.padEnd(LINE_WIDTH, "─"),
    `  ${`${summary.charged} invoices charged`.padEnd(28)}${HEADINGS}`,
    ...bySize(summary.byCurrency).map(([currency, tally]) =>
      row(currency, tally, [formatMoney(tally.failedAmount, currency), formatMoney(tally.recoveredAmount, currency)]),
    ),
    row("all", total),
    ...bySize(summary.byReason).map(([reason, tally]) => row(describeReason(reason), tally)),
    ...(ways.length > 0
      ? wrapList(
          "  recovered by",
          ways.map((way) => `${RECOVERED_BY_WORDING[way]}: ${summary.byWay.get(way)}`),
        )
      : []),
    ...(retries.length > 0 ? wrapList("  Dunlin's retries that succeeded:", retries) : []),
    "─".repeat(LINE_WIDTH),
  ].map(truncateLine);
}

const HEADINGS =
  ["failed", "recov.", "share", "open", "lost"].map((text) => text.padStart(8)).join("") +
  ["failed money", "recovered"].map((text) => text.padStart(15)).join("");
const formatCell = (count: number) => String(count).padStart(8);
const formatRecoveredShare = ({ failed, recovered }: { failed: number; recovered: number }) =>
  failed === 0 ? "–" : `${Math.round((100 * recovered) / failed)}%`;
