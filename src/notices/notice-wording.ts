import { formatMoneyText } from "../domain/currency.ts";
import type { AlertKind } from "../domain/notice.ts";
import type { LostInvoice } from "../tables/recovery-rates.ts";
import type { RateChange } from "./rate-fall.ts";

/** For the settings of people and chats. */
export const ALERT_LABELS: Readonly<Record<AlertKind, string>> = {
  endpoint: "The endpoint fails or recovers",
  ingest: "Pushes stop or resume",
  connector: "The connector fails or recovers",
  given_up: "Dunlin gives up an event",
  large_lost: "A large invoice is not recovered",
  rate_fell: "The recovery rate falls",
};

/** The same text goes to mails and chats. */
export interface NoticeText {
  title: string;
  detail: string;
  /** A path of the console. */
  href: string;
}

type EndingKind = Extract<AlertKind, "endpoint" | "ingest" | "connector" | "given_up">;

export const ENDED_TEXTS: Readonly<Record<EndingKind, NoticeText>> = {
  endpoint: {
    title: "Your endpoint answers again",
    detail: "Dunlin sends the waiting events.",
    href: "/deliveries",
  },
  ingest: { title: "Your system pushes records again", detail: "Records arrive as usual.", href: "/requests" },
  connector: { title: "The connector works again", detail: "It reports, and no step fails.", href: "/connection" },
  given_up: {
    title: "No event is given up any more",
    detail: "All events that Dunlin had given up were sent again.",
    href: "/deliveries",
  },
};

const LISTED_INVOICES_MAX = 20;

export function describeLostInvoices(lost: readonly LostInvoice[]): NoticeText {
  const { length } = lost;
  const lines = lost
    .slice(0, LISTED_INVOICES_MAX)
    .map(({ invoiceId, amount, currency }) => `${invoiceId}: ${formatMoneyText(amount, currency)}`);
  if (length > LISTED_INVOICES_MAX) lines.push(`${length - LISTED_INVOICES_MAX} more`);
  return {
    title: length === 1 ? "A large invoice was not recovered" : `${length} large invoices were not recovered`,
    detail: `Recovery ended without a payment:\n${lines.join("\n")}`,
    href: "/invoices?outcome=lost",
  };
}

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
const count = (n: number) => new Intl.NumberFormat("en-US").format(n);

export const describeRateFall = ({ earlier, recent, low, high }: RateChange): NoticeText => ({
  title: "The recovery rate fell",
  detail: `Dunlin recovered ${percent(recent.rate)} of the ${count(recent.cases)} invoices that failed in 4 weeks, and ${percent(earlier.rate)} of the ${count(earlier.cases)} of the 12 weeks before. With 99% confidence it fell by ${(-100 * high).toFixed(1)} to ${(-100 * low).toFixed(1)} percentage points. Newer invoices are left out, because they may still be paid.`,
  href: "/overview",
});

export const describeTest = (merchantName: string): NoticeText => ({
  title: `This is a test from Dunlin for ${merchantName}`,
  detail: "Alerts arrive here.",
  href: "/settings/notifications",
});
