// Creates a year of ended cases in three currencies, whose sums a test can compute itself.

import { findAmountBand } from "../../src/domain/currency.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import type { Ports } from "../../src/domain/ports.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { saveCaseTraits } from "../../src/tables/recovery-sums.ts";
import { openConsoleStage } from "./console-server.ts";

export interface EndedCase {
  id: string;
  invoiceId: string;
  customerId: string;
  currency: "EUR" | "USD" | "JPY";
  /** In minor units. */
  amount: number;
  failedAt: Date;
  endedAt: Date;
  outcome: "recovered" | "paid" | "lost";
  /** Null: no decline was pushed. */
  reason: string | null;
  country: string | null;
  /** Hours of the week. */
  tries: { hourOfWeek: number; isPaid: boolean }[];
}

const CASES = 960;
/** The youngest of those that count: the window of 28 days is over, and a week more. */
const YOUNGEST_DAYS = 36;
const SPAN_DAYS = 400;
/** Of the youngest cases, which ended but do not count yet. */
const YOUNG_CASES = 60;

const REASONS = [
  ["FUNDS", "51"],
  ["GENERIC", "05"],
  ["EXPIRED", "54"],
  ["ISSUER_DOWN", "91"],
  [null, null],
] as const;
const COUNTRIES = ["DE", "US", "JP", "FR", null];
const CURRENCIES = ["EUR", "EUR", "USD", "EUR", "JPY", "USD", "EUR"] as const;
/** Most retries fall into these hours, which have enough to be shaded. The others have fewer. */
const BUSY_HOURS = [9, 33, 110];
const quietHour = (n: number) => (n % 12) * 14;

function createCase(n: number, ports: Ports): EndedCase & { code: string | null } {
  const isYoung = n >= CASES;
  const days = isYoung ? 12 + ((n - CASES) % 20) : YOUNGEST_DAYS + (n * SPAN_DAYS) / CASES;
  const failedAt = new Date(ports.now().getTime() - days * DAY_MS - ((n * 7) % 24) * HOUR_MS);
  const dice = (n * 37) % 100;
  const outcome = dice < 52 + (n % 3) * 6 ? "recovered" : dice < 72 ? "paid" : "lost";
  const [reason, code] = REASONS[(n * 3) % 5]!;
  const length = 1 + (n % 3);
  return {
    id: ports.newId(),
    invoiceId: `ended_${String(n).padStart(4, "0")}`,
    customerId: `ended_cus_${n % 211}`,
    currency: CURRENCIES[n % CURRENCIES.length]!,
    amount: 350 + ((n * 7919) % 40_000),
    failedAt,
    endedAt: new Date(failedAt.getTime() + (1 + (n % 11)) * DAY_MS),
    ...{ outcome, reason, code, country: COUNTRIES[(n * 2 + (n >> 3)) % 5]! },
    tries: Array.from({ length }, (_, index) => ({
      hourOfWeek: n % 9 === 0 ? quietHour(n / 9 + index) : BUSY_HOURS[(n + index) % 3]!,
      isPaid: outcome === "recovered" && index === length - 1,
    })),
  };
}

const INSERT_INVOICES = prepared(
  "test_ended_invoices",
  `insert into invoices (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
   select $1, i.id, i.state, i.customer_id, i.amount, i.currency, i.at, i.at
   from unnest($2::text[], $3::text[], $4::text[], $5::int8[], $6::text[], $7::timestamptz[])
     as i (id, state, customer_id, amount, currency, at)`,
);
const INSERT_CASES = prepared(
  "test_ended_cases",
  `insert into cases (merchant_id, id, invoice_id, customer_id, unpaid_at, window_ends_at, budget, opened_at, arm, amount, currency,
     ended_at, end_reason, recovered, paid_at)
   select $1, c.id, c.invoice_id, c.customer_id, c.at, c.at + interval '28 days', 8, c.at, 'dunlin', c.amount, c.currency,
     c.ended_at, case when c.outcome = 'lost' then 'window_over' else 'paid' end, c.outcome = 'recovered',
     case when c.outcome <> 'lost' then c.ended_at end
   from unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::int8[], $7::text[], $8::timestamptz[], $9::text[])
     as c (id, invoice_id, customer_id, at, amount, currency, ended_at, outcome)`,
);

export async function fillEndedCases(db: Database, merchantId: string, ports: Ports): Promise<EndedCase[]> {
  const cases = Array.from({ length: CASES + YOUNG_CASES }, (_, n) => createCase(n, ports));
  const column = <Value>(of: (each: EndedCase) => Value) => cases.map(of);
  await db.run(INSERT_INVOICES, [
    merchantId,
    column(({ invoiceId }) => invoiceId),
    column(({ outcome }) => (outcome === "lost" ? "UNPAID" : "PAID")),
    column(({ customerId }) => customerId),
    column(({ amount }) => amount),
    column(({ currency }) => currency),
    column(({ failedAt }) => failedAt),
  ]);
  await db.run(INSERT_CASES, [
    merchantId,
    column(({ id }) => id),
    column(({ invoiceId }) => invoiceId),
    column(({ customerId }) => customerId),
    column(({ failedAt }) => failedAt),
    column(({ amount }) => amount),
    column(({ currency }) => currency),
    column(({ endedAt }) => endedAt),
    column(({ outcome }) => outcome),
  ]);
  const traits = cases.map(({ id, reason, code, country, amount, currency, tries }, n) => ({
    ...{ id, declineGroup: reason, declineCode: code, cardCountry: country, tries },
    ...{ paymentMethod: n % 2 ? "visa" : "mastercard", cardIssuer: n % 4 ? "Harbor Bank" : null },
    ...{ planId: n % 5 ? "monthly" : "annual", amountBand: findAmountBand(amount, currency) },
  }));
  await db.transaction((tx) => saveCaseTraits(tx, merchantId, traits));
  return cases;
}

/** A console with these cases and no script, for a reader in UTC: its weeks have no change of clocks, so tests can compute them. */
export async function openEndedCasesStage() {
  const stage = await openConsoleStage({ isEmpty: true });
  const { db } = stage.database;
  await db.run(prepared("", "update people set zone = 'UTC'"));
  const cases = await fillEndedCases(db, stage.merchant.id, stage.ports);
  const owner = await stage.as("owner", { javaScriptEnabled: false });
  return { stage, cases, owner, page: await owner.newPage() };
}
