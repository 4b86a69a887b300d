import { ANALYTICS_DAYS_MAX, ANALYTICS_FILTERS, type AnalyticsFilterName } from "../../analytics/analytics-route.ts";
import { BREAKDOWN_DIMENSIONS } from "../../analytics/dimension-labels.ts";
import { currency } from "../../ingest/record-fields.ts";
import { refusalResponses } from "./error-responses.ts";
import { type DocumentPart, fieldSchema } from "./field-schema.ts";
import { enumSchema, timestampSchema } from "./list-operation.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs } from "./response-headers.ts";

const text = (maxLength: number, description: string): DocumentPart => ({
  type: "string",
  maxLength,
  pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]*$",
  description,
});
const count = (description: string): DocumentPart => ({
  type: "integer",
  format: "int64",
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description,
});
const share = (description: string): DocumentPart => ({ type: "number", minimum: 0, maximum: 1, description });
const amount = (description: string): DocumentPart => ({
  type: "string",
  maxLength: 30,
  pattern: "^[0-9]+$",
  description: `${description} In minor units, as text because a sum may be too large for a JSON number.`,
});

const ROW_SCHEMA: DocumentPart = {
  type: "object",
  required: ["value", "label", "count", "recovered"],
  properties: {
    value: text(255, "The value of the dimension; empty if it is unknown."),
    label: text(255, "The value in words, for people."),
    currency: fieldSchema(currency, "ISO 4217 code. Absent for retries."),
    count: count("Invoices that failed. For `attempt` and `hour`: retries that were made."),
    recovered: count("Those that were paid after an instruction of Dunlin. For retries: those that were approved."),
    rate: share("`recovered` of `count`."),
    rateLow: share("The lower end of the rate's 95% interval, which is wider where customers have several invoices."),
    rateHigh: share("The upper end of the interval."),
    failedAmount: amount("The amounts that failed."),
    recoveredAmount: amount("The amounts that were recovered."),
  },
};

export const ANALYTICS_SCHEMAS: Readonly<Record<string, DocumentPart>> = {
  RecoveryBreakdown: {
    type: "object",
    description: "Recovery by one dimension. Each sum equals the invoices behind it.",
    required: ["by", "from", "to", "maturityDays", "rows"],
    properties: {
      by: enumSchema("", BREAKDOWN_DIMENSIONS, "The dimension."),
      from: timestampSchema("Invoices that first failed from then on."),
      to: timestampSchema("Exclusive. Earlier than asked if younger invoices may still be paid."),
      maturityDays: count("An invoice counts this many days after it failed."),
      rows: {
        type: "array",
        maxItems: 100_000,
        description: "One row for each value and currency. Amounts, attempts, hours and months are in their order.",
        items: ROW_SCHEMA,
      },
    },
  },
};

const FILTER_WORDS: Readonly<Record<AnalyticsFilterName, string>> = {
  reason: "Only invoices whose first decline has this reason, such as `FUNDS`.",
  code: "Only invoices whose first decline has this code, such as `51`.",
  method: "Only invoices whose first decline was on this card network or payment method, such as `visa`.",
  country: "Only invoices whose first decline was on a card from this country, such as `DE`.",
  issuer: "Only invoices whose first decline was on a card of this issuer.",
  plan: "Only invoices of subscriptions with this plan.",
  amount: "Only invoices in the band of amounts that begins here, in major units: 0, 1, 2, 5, 10, 20, 50 and so on.",
  currency: "Only invoices in this currency, such as `EUR`.",
};
const parameter = (name: string, schema: DocumentPart): DocumentPart => {
  const { description, ...rest } = schema;
  return { name, in: "query", required: false, description, schema: rest };
};

const EXAMPLE: DocumentPart = {
  by: "reason",
  from: "2026-11-16T00:00:00.000Z",
  to: "2027-02-05T00:00:00.000Z",
  maturityDays: 35,
  rows: [
    {
      ...{ value: "FUNDS", label: "Insufficient funds", currency: "EUR", count: 742, recovered: 546 },
      ...{ failedAmount: "3184000", recoveredAmount: "2231000", rate: 0.7358, rateLow: 0.7028, rateHigh: 0.7664 },
    },
  ],
};

export const buildAnalyticsOperation = (): DocumentPart => ({
  tags: ["Analytics"],
  operationId: "getRecoveryAnalytics",
  summary: "Recovery by reason, card, plan or retry",
  description: `An addition to the interface. Sums what failed and what Dunlin recovered, as the console's page Analytics does. Invoices of a holdout are left out, and so are invoices that are younger than \`maturityDays\`. An empty filter stands for an unknown value. Amounts of different currencies are never added. A span has at most ${ANALYTICS_DAYS_MAX} days.\n\nNeeds the permission \`read:analytics\`.`,
  parameters: [
    CALLER_REQUEST_ID,
    parameter("by", {
      ...enumSchema("", BREAKDOWN_DIMENSIONS, "The dimension. Default: `reason`."),
      default: "reason",
    }),
    parameter("from", timestampSchema("Invoices that first failed from then on. Default: 84 days before `to`.")),
    parameter("to", timestampSchema("Exclusive. Default: now.")),
    parameter(
      "timeZone",
      text(64, "For the months of `cohort`: an IANA name such as `Europe/Berlin`. Default: `UTC`."),
    ),
    ...ANALYTICS_FILTERS.map((name) =>
      parameter(
        name,
        name === "currency" ? fieldSchema(currency, FILTER_WORDS.currency) : text(255, FILTER_WORDS[name]),
      ),
    ),
  ],
  responses: {
    200: {
      description: "The sums.",
      headers: headerRefs(...AUTHENTICATED_HEADERS),
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/RecoveryBreakdown" },
          examples: { reasons: { value: EXAMPLE } },
        },
      },
    },
    ...refusalResponses("list", null),
  },
});
