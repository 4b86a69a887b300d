import type { SourcePatch } from "../patched-copy.ts";

interface PlantedBug {
  name: string;
  patches: readonly SourcePatch[];
}

const BALANCE = "src/recovery/balance.ts";
/** The files that compare versions: of subscriptions and transactions, and of invoices. */
const BATCH = "src/postgres/batch-sql.ts";
const INVOICES = "src/tables/invoices.ts";

const plantedBug = (name: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  patches: [{ file, find, replace }],
});

/** Mistakes about the latest version and the amount owed. Random lives must find each. */
export const PLANTED_LIVES_BUGS: readonly PlantedBug[] = [
  {
    name: "the later arrival wins between two versions of one date",
    patches: [
      {
        file: BATCH,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
        find: "or array_position(${states}, excluded.state) < array_position(${states}, stored.state)) then false",
        replace: ") then false",
      },
      {
        file: INVOICES,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
        find: "or array_position(${STATES}, excluded.state) < array_position(${STATES}, stored.state)) then false",
        replace: ") then false",
      },
    ],
  },
  {
    name: "the first arrival stays between two versions of one date",
    patches: [BATCH, INVOICES].map((file) => ({
      file,
      find: "excluded.updated_at < coalesce(",
      replace: "excluded.updated_at <= coalesce(",
    })),
  },
  {
    name: "a version without a date changes nothing",
    patches: [
      {
        file: BATCH,
        find: "else (${compared.map(",
        replace: "else excluded.version_at is null and (${compared.map(",
      },
      {
        file: INVOICES,
        find: "else (\n         stored.state,",
        replace: "else excluded.version_at is null and (\n         stored.state,",
      },
    ],
  },
  plantedBug(
    "parts are not added up",
    BALANCE,
    "payments.reduce((sum, { amount }) => sum + amount, 0);",
    "Math.max(0, ...payments.map(({ amount }) => amount));",
  ),
  plantedBug("the amount due of a version is not read", BALANCE, "if (amountDue !== undefined) return amountDue;", ""),
  plantedBug(
    "a payment of the second in which the invoice was made does not count",
    BALANCE,
    "t.updatedAt >= createdAt",
    "t.updatedAt > createdAt",
  ),
  plantedBug(
    "an unpaid version counts for more than payments",
    BALANCE,
    'return state === "UNPAID" ? Math.min(unpaidAmount, amount - sumAmounts(payments)) : unpaidAmount;',
    "return unpaidAmount;",
  ),
  plantedBug(
    "a payment that leaves nothing ends no case",
    "src/recovery/review-invoices.ts",
    "balance.unpaidAmount === 0 && !balance.conflict",
    "balance.unpaidAmount < 0 && !balance.conflict",
  ),
  plantedBug(
    "a canceled subscription stops nothing",
    "src/recovery/ends.ts",
    'subscription?.state === "CANCELED"',
    'subscription?.state === "ACTIVE"',
  ),
  {
    name: "a version that is older wins",
    patches: [BATCH, INVOICES].map((file) => ({
      file,
      find: "excluded.updated_at < coalesce(stored.version_at, stored.updated_at)",
      replace: "false",
    })),
  },
  plantedBug(
    "payments after a version that says what is left are not taken off",
    BALANCE,
    "due === null ? amount - sum : amountLeftAfter(due, invoice, payments)",
    "due ?? amount - sum",
  ),
];
