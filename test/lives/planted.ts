import type { Patch } from "../planted-copy.ts";

interface Planted {
  name: string;
  patches: readonly Patch[];
}

const BALANCE = "src/recovery/balance.ts";
const BATCH = "src/store/batch.ts";

const one = (name: string, file: string, find: string, replace: string): Planted => ({
  name,
  patches: [{ file, find, replace }],
});

/** Mistakes about which version is the truth and what is owed. Random lives must find each. */
export const PLANTED_IN_LIVES: readonly Planted[] = [
  one(
    "the later arrival wins between two versions of one date",
    BATCH,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    ' or ${rankOf(order, "excluded.state")} < ${rankOf(order, `${table}.state`)})',
    ")",
  ),
  one(
    "the first arrival stays between two versions of one date",
    BATCH,
    "(excluded.updated_at < ",
    "(excluded.updated_at <= ",
  ),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
  one("a version without a date changes nothing", BATCH, "else (${list(", "else ${isDated} and (${list("),
  one(
    "parts are not added up",
    BALANCE,
    "payments.reduce((sum, { amount }) => sum + amount, 0);",
    "Math.max(0, ...payments.map(({ amount }) => amount));",
  ),
  one("the amount due of a version is not read", BALANCE, "if (amountDue !== undefined) return amountDue;", ""),
  one(
    "a payment of the second in which the invoice was made does not count",
    BALANCE,
    "t.updatedAt >= createdAt",
    "t.updatedAt > createdAt",
  ),
  one(
    "an unpaid version counts for more than payments",
    BALANCE,
    'return state === "UNPAID" ? Math.min(left, amount - sumOf(payments)) : left;',
    "return left;",
  ),
  one(
    "a payment that leaves nothing ends no case",
    "src/recovery/review.ts",
    "balance.left === 0 && !balance.conflict",
    "balance.left < 0 && !balance.conflict",
  ),
  one(
    "a canceled subscription stops nothing",
    "src/recovery/ends.ts",
    'subscription?.state === "CANCELED"',
    'subscription?.state === "ACTIVE"',
  ),
  one(
    "a version that is older wins",
    BATCH,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    "(excluded.updated_at < ${storedAt(table)} or ",
    "(false or ",
  ),
  one(
    "a version without a date makes dated ones look old",
    BATCH,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    "`coalesce(${table}.version_at, ${table}.updated_at)`",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    "`${table}.updated_at`",
  ),
  one(
    "payments after a version that says what is left are not taken off",
    BALANCE,
    "due === null ? amount - sum : leftSince(due, invoice, payments)",
    "due ?? amount - sum",
  ),
];
