import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { keyedRandom } from "../../simulator/world/keyed-random.ts";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { CaseTraits } from "../domain/case-traits.ts";
import { prepared } from "../postgres/database.ts";
import { deleteCases, type RecoverySum, type SumDimension, saveCaseTraits, sumRecovery } from "./recovery-sums.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const MERCHANTS = 60;
const CASES_MAX = 30;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const ENDS = [null, "paid", "window_over", "hopeless", "voided", "settled"] as const;
const DIMENSIONS: readonly SumDimension[] = [
  ...(["all", "reason", "code", "method", "country", "issuer", "plan", "amount", "ended", "attempt", "hour"] as const),
];
/** Midnights around both changes of clocks, and in zones that are not whole hours off. */
const BOUNDS = [
  ["2026-03-27T23:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z", "2026-04-05T22:00Z"],
  ["2026-03-07T05:00Z", "2026-03-08T05:00Z", "2026-03-09T04:00Z", "2026-04-01T04:00Z"],
  ["2026-03-15T18:30Z", "2026-03-16T18:30Z", "2026-03-16T18:45Z", "2026-04-11T13:15Z"],
  ["2026-03-01T00:00Z", "2026-04-01T00:00Z", "2026-05-01T00:00Z"],
].map((times) => times.map((time) => new Date(time)));

interface StoredCase {
  id: string;
  unpaid_at: Date;
  ended_at: Date | null;
  outcome: string;
  amount: number;
  currency: string;
  traits: CaseTraits;
}

const idOf = (merchant: number, number: number) =>
  `0190${merchant.toString(16).padStart(4, "0")}-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
const INSERT = prepared(
  "test_sums_case",
  `insert into cases (merchant_id, id, invoice_id, customer_id, unpaid_at, window_ends_at, budget, opened_at, arm, amount, currency)
   values ($1, $2::uuid, $2::uuid::text, 'cus_1', $3, $3::timestamptz + interval '28 days', 8, $3, $4, $5, $6)`,
);
const END = prepared(
  "test_sums_end",
  `update cases set ended_at = $3, end_reason = $4, recovered = $5, amount = $6 where merchant_id = $1 and id = $2 returning outcome`,
);

/** A merchant's cases in three rounds of changes, as steps make them, and a deletion. */
async function fillMerchant(number: number): Promise<{ merchantId: string; cases: StoredCase[] }> {
  const draw = (...keys: (string | number)[]) => keyedRandom(11, number, ...keys);
  const pick = <T>(values: readonly T[], ...keys: (string | number)[]): T =>
    values[Math.floor(draw(...keys) * values.length)]!;
  const merchantId = idOf(number, 0);
  const { db } = database;
  const cases: StoredCase[] = [];
  for (let index = 1; index <= 1 + draw("count") * CASES_MAX; index++) {
    const unpaidAt = new Date(Date.parse("2026-03-01T00:00Z") + Math.floor(draw("at", index) * 60 * DAY_MS));
    const [amount, currency] = [
      Math.floor(draw("amount", index) ** 4 * 1e9),
      pick(["EUR", "JPY", "KWD", "USD"], "currency", index),
    ];
    const id = idOf(number, index);
    const arm = draw("arm", index) < 0.1 ? "merchant" : "dunlin";
    await db.run(INSERT, [merchantId, id, unpaidAt, arm, amount, currency]);
    const traits = { ...NO_TRAITS };
    cases.push({ id, unpaid_at: unpaidAt, ended_at: null, outcome: "open", amount, currency, traits });
  }
  for (let round = 0; round < 3; round++) {
    const changed = cases.filter(({ id }) => draw("changes", round, id) < 0.7);
    for (const each of changed) {
      const key = (what: string) => [what, round, each.id] as const;
      each.traits = {
        declineGroup: pick([null, "FUNDS", "GENERIC"], ...key("group")),
        declineCode: pick([null, "51", "05"], ...key("code")),
        paymentMethod: pick(["visa", "sepa_debit"], ...key("method")),
        cardCountry: pick([null, "DE", "US"], ...key("country")),
        cardIssuer: pick([null, "Bank"], ...key("issuer")),
        planId: pick(["a", "b"], ...key("plan")),
        amountBand: pick(["0", "20"], ...key("band")),
        tries: Array.from({ length: Math.floor(draw(...key("tries")) * 4) }, (_, index) => ({
          hourOfWeek: Math.floor(draw(...key(`hour ${index}`)) * 168),
          isPaid: draw(...key(`paid ${index}`)) < 0.3,
        })),
      };
      const endReason = pick(ENDS, "end", each.id);
      if (endReason === null) continue;
      each.ended_at = new Date(each.unpaid_at.getTime() + Math.floor(draw("length", each.id) * 20 * DAY_MS));
      each.amount = Math.floor(each.amount * (0.5 + draw(...key("amount"))));
      const recovered = endReason !== "voided" && draw(...key("recovered")) < 0.5;
      const { rows } = await db.run<{ outcome: string }>(END, [
        merchantId,
        each.id,
        each.ended_at,
        endReason,
        recovered,
        each.amount,
      ]);
      each.outcome = rows[0]!.outcome;
    }
    await saveCaseTraits(
      db,
      merchantId,
      changed.map(({ id, traits }) => ({ id, ...traits })),
    );
  }
  const deleted = cases.filter(({ id }) => draw("deleted", id) < 0.1);
  await deleteCases(
    db,
    merchantId,
    deleted.map(({ id }) => id),
  );
  return { merchantId, cases: cases.filter((each) => !deleted.includes(each)) };
}

const NO_TRAITS: CaseTraits = {
  ...{ declineGroup: null, declineCode: null, paymentMethod: null, cardCountry: null, cardIssuer: null },
  ...{ planId: null, amountBand: null, tries: [] },
};

const TRAIT_OF: Partial<Record<SumDimension, keyof Omit<CaseTraits, "tries">>> = {
  ...{ reason: "declineGroup", code: "declineCode", method: "paymentMethod", country: "cardCountry" },
  ...{ issuer: "cardIssuer", plan: "planId", amount: "amountBand" },
};

/** The same sums from the rows alone. */
function sumRows(cases: readonly StoredCase[], dimension: SumDimension, bounds: readonly Date[]): RecoverySum[] {
  const sums = new Map<
    string,
    { span: number; value: string; currency: string; n: number; recovered: number; amount: bigint; got: bigint }
  >();
  const add = (span: number, value: string, currency: string, isRecovered: boolean, amount: number) => {
    const key = JSON.stringify([span, value, currency]);
    const sum = sums.get(key) ?? { span, value, currency, n: 0, recovered: 0, amount: 0n, got: 0n };
    sum.n++;
    sum.amount += BigInt(amount);
    if (isRecovered) {
      sum.recovered++;
      sum.got += BigInt(amount);
    }
    sums.set(key, sum);
  };
  for (const { traits, outcome, amount, currency, ...each } of cases) {
    if (!["recovered", "paid", "lost"].includes(outcome)) continue;
    const at = dimension === "ended" ? each.ended_at! : each.unpaid_at;
    const span = bounds.findLastIndex((bound) => bound <= at);
    if (span < 0 || span === bounds.length - 1) continue;
    if (dimension === "attempt" || dimension === "hour")
      for (const [index, { hourOfWeek, isPaid }] of traits.tries.entries())
        add(span, String(dimension === "hour" ? hourOfWeek : index + 1), "", isPaid, 0);
    else {
      const trait = TRAIT_OF[dimension];
      const value = dimension === "ended" ? outcome : trait ? (traits[trait] ?? "") : "";
      add(span, value, currency, outcome === "recovered", amount);
    }
  }
  return [...sums.values()]
    .map(({ amount, got, ...sum }) => ({ ...sum, amount: String(amount), recoveredAmount: String(got) }))
    .map((sum) => (sum.currency === "" ? { ...sum, amount: "0", recoveredAmount: "0" } : sum));
}

const sorted = (sums: readonly RecoverySum[]) => sums.map((sum) => JSON.stringify(sum, Object.keys(sum).sort())).sort();

test("sums equal the rows behind them on 60 random merchants, in every dimension, across time zones and changes of clocks", async () => {
  let compared = 0;
  for (let number = 1; number <= MERCHANTS; number++) {
    const { merchantId, cases } = await fillMerchant(number);
    for (const dimension of DIMENSIONS) {
      const bounds = BOUNDS[(number + DIMENSIONS.indexOf(dimension)) % BOUNDS.length]!;
      const found = await sumRecovery(database.db, merchantId, dimension, bounds);
      assert.deepEqual(sorted(found), sorted(sumRows(cases, dimension, bounds)), `merchant ${number}, ${dimension}`);
      compared += found.length;
      const filters = { country: "DE", currency: "EUR" };
      const kept = cases.filter(({ traits, currency }) => traits.cardCountry === "DE" && currency === "EUR");
      const filtered = await sumRecovery(database.db, merchantId, dimension, bounds, filters);
      assert.deepEqual(
        sorted(filtered),
        sorted(sumRows(kept, dimension, bounds)),
        `merchant ${number}, ${dimension}, filtered`,
      );
    }
  }
  assert.ok(compared > 1_500, `${compared} sums`);
});

test("an amount beyond the range of a number is summed exactly", async () => {
  const merchantId = idOf(4_000, 0);
  for (const index of [1, 2]) {
    const id = idOf(4_000, index);
    await database.db.run(INSERT, [merchantId, id, new Date("2026-03-05T10:00Z"), "dunlin", 1, "EUR"]);
    await database.db.run(END, [merchantId, id, new Date("2026-03-06T10:00Z"), "paid", true, "9007199254740993"]);
    await saveCaseTraits(database.db, merchantId, [{ id, ...NO_TRAITS }]);
  }
  const [sum] = await sumRecovery(database.db, merchantId, "all", BOUNDS[3]!);
  assert.deepEqual([sum!.n, sum!.recovered, sum!.amount], [2, 2, "18014398509481986"]);
});

test("a filter on an unknown value finds the cases without one", async () => {
  const merchantId = idOf(4_001, 0);
  const id = idOf(4_001, 1);
  await database.db.run(INSERT, [merchantId, id, new Date("2026-03-05T10:00Z"), "dunlin", 100, "EUR"]);
  await database.db.run(END, [
    merchantId,
    id,
    new Date(Date.parse("2026-03-05T10:00Z") + HOUR_MS),
    "window_over",
    false,
    100,
  ]);
  await saveCaseTraits(database.db, merchantId, [{ id, ...NO_TRAITS }]);
  const count = async (reason: string) =>
    (await sumRecovery(database.db, merchantId, "all", BOUNDS[3]!, { reason })).reduce((total, { n }) => total + n, 0);
  assert.deepEqual([await count(""), await count("FUNDS")], [1, 0]);
});
