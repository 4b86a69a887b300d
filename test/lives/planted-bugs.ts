import type { SourcePatch } from "../patched-copy.ts";

interface PlantedBug {
  name: string;
  patches: readonly SourcePatch[];
}

const BALANCE = "src/recovery/balance.ts";
const BATCH = "src/postgres/batch-sql.ts";

const plantedBug = (name: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  patches: [{ file, find, replace }],
});

/** Mistakes about which version is the truth and what is owed. Random lives must find each. */
export const PLANTED_LIVES_BUGS: readonly PlantedBug[] = [
  plantedBug(
    "the later arrival wins between two versions of one date",
    BATCH,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    ' or ${stateRankSql(order, "excluded.state")} < ${stateRankSql(order, `${table}.state`)})',
    ")",
  ),
  plantedBug(
    "the first arrival stays between two versions of one date",
    BATCH,
    "(excluded.updated_at < ",
    "(excluded.updated_at <= ",
  ),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
  plantedBug("a version without a date changes nothing", BATCH, "else (${list(", "else ${isDated} and (${list("),
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
    'return state === "UNPAID" ? Math.min(left, amount - sumAmounts(payments)) : left;',
    "return left;",
  ),
  plantedBug(
    "a payment that leaves nothing ends no case",
    "src/recovery/review-invoices.ts",
    "balance.left === 0 && !balance.conflict",
    "balance.left < 0 && !balance.conflict",
  ),
  plantedBug(
    "a canceled subscription stops nothing",
    "src/recovery/ends.ts",
    'subscription?.state === "CANCELED"',
    'subscription?.state === "ACTIVE"',
  ),
  plantedBug(
    "a version that is older wins",
    BATCH,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    "(excluded.updated_at < ${storedVersionDateSql(table)} or ",
    "(false or ",
  ),
  plantedBug(
    "payments after a version that says what is left are not taken off",
    BALANCE,
    "due === null ? amount - sum : amountLeftAfter(due, invoice, payments)",
    "due ?? amount - sum",
  ),
];
