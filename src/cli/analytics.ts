import { parseAnalyticsQuery, toAnalyticsJson } from "../analytics/analytics-route.ts";
import { BREAKDOWN_DIMENSIONS } from "../analytics/dimension-labels.ts";
import { type RecoveryBreakdownRow, readRecoveryBreakdown } from "../analytics/read-breakdown.ts";
import { formatMoneyText } from "../domain/currency.ts";
import { ApiError } from "../http/errors.ts";
import { type Command, EXIT_CODES, formatTable, type OptionValues, UsageError, withDatabase } from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

const PARAMETERS = ["by", "from", "to", "currency", "reason", "country", "plan"] as const;

export const analytics: Command = {
  name: "analytics",
  usage: `[--by DIMENSION] [--from TIME] [--to TIME] [--currency C] [--reason R] [--country C] [--plan P] [--merchant M] [--json]
  --by D         ${BREAKDOWN_DIMENSIONS.join(", ")} (default: reason)
  --from TIME    invoices that failed from then on (default: 84 days before --to)
  --to TIME      until then (default: now); invoices that may still be paid are left out
  --currency C   only invoices in this currency; likewise --reason, --country and --plan
  --merchant M   not needed if there is only one merchant
  --json         the sums as the API returns them`,
  summary: "Show recovery by decline reason, card, plan, amount or retry",
  options: {
    ...Object.fromEntries(PARAMETERS.map((name) => [name, { type: "string" }])),
    ...{ merchant: { type: "string" }, json: { type: "boolean" } },
  },
  positionals: [],
  examples: ["npx dunlin analytics", "npx dunlin analytics --by country --from 2026-10-01T00:00:00Z --json"],
  run: (context, values) =>
    withDatabase(context, async ({ db, tenantDb, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const now = ports.now();
      const found = await readRecoveryBreakdown(tenantDb.of(merchantId), merchantId, readQuery(values, now), now);
      if (values.json) context.print(JSON.stringify(toAnalyticsJson(found)));
      else if (found.rows.length === 0)
        context.print(`Nothing to show: an invoice counts ${found.maturityDays} days after it failed.`);
      else {
        const cells = [HEADINGS, ...found.rows.map(tableRow)];
        const [headings, ...rows] = found.rows.some(isInvoices)
          ? cells
          : cells.map((row) => row.slice(0, MONEY_COLUMN));
        for (const line of formatTable(headings!, rows)) context.print(line);
      }
      return EXIT_CODES.ok;
    }),
};

function readQuery(values: OptionValues, now: Date) {
  const given = PARAMETERS.filter((name) => values[name] !== undefined);
  try {
    const params = new URLSearchParams(given.map((name) => [name, String(values[name])]));
    const currency = params.get("currency");
    if (currency !== null) params.set("currency", currency.toUpperCase());
    return parseAnalyticsQuery(params, now, (name) => `--${name}`);
  } catch (error) {
    if (error instanceof ApiError) throw new UsageError(`${error.message}.`);
    throw error;
  }
}

const HEADINGS = ["", "COUNT", "RECOVERED", "RATE", "FAILED", "MONEY RECOVERED"];
/** The first one. Retries have no amounts. */
const MONEY_COLUMN = HEADINGS.indexOf("FAILED");
const isInvoices = ({ currency }: RecoveryBreakdownRow) => currency !== undefined;
const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
const tableRow = (row: RecoveryBreakdownRow) => [
  row.label,
  String(row.count),
  String(row.recovered),
  row.interval
    ? `${percent(row.recovered / row.count)} (${percent(row.interval.low)} to ${percent(row.interval.high)})`
    : "",
  row.currency ? formatMoneyText(row.failedAmount!, row.currency) : "",
  row.currency ? formatMoneyText(row.recoveredAmount!, row.currency) : "",
];
