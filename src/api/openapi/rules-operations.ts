import { WEEKDAYS } from "../../domain/recovery-rule.ts";
import { ApiError } from "../../http/errors.ts";
import { RULE_LIMITS, type RuleField } from "../../merchants/parse-recovery-rules.ts";
import { RULES_PATH, TEST_PATH } from "../../rules-api/paths.ts";
import { readRulesOf } from "../../rules-api/recovery-rules-routes.ts";
import { refusalResponses } from "./error-responses.ts";
import type { DocumentPart } from "./field-schema.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs, REQUEST_ID } from "./response-headers.ts";

const CLEAN_TEXT = "^[^\\x00-\\x1f\\x7f-\\x9f]*$";
const integer = ([minimum, maximum]: readonly [number, number], description: string): DocumentPart => ({
  ...{ type: "integer", format: maximum > 2 ** 31 ? "int64" : "int32", minimum, maximum, description },
});
const list = (items: DocumentPart, description: string): DocumentPart => ({
  ...{ type: "array", minItems: 1, maxItems: RULE_LIMITS.values, items, description },
});
const identifiers = (description: string, itemDescription: string): DocumentPart =>
  list(
    { type: "string", minLength: 1, maxLength: RULE_LIMITS.idChars, pattern: CLEAN_TEXT, description: itemDescription },
    description,
  );

const RULE_PROPERTIES: Readonly<Record<RuleField, DocumentPart>> = {
  id: {
    ...{ type: "string", format: "uuid", maxLength: 36 },
    description: "The id of the rule. Absent: a new rule, which gets an id.",
  },
  name: {
    ...{ type: "string", minLength: 1, maxLength: RULE_LIMITS.nameChars, pattern: CLEAN_TEXT },
    description: "For people: reasons and explanations name the rule by it.",
  },
  planIds: identifiers("Condition: the plan of the subscription is one of these.", "A plan id."),
  businessEntities: identifiers("Condition: the entity of the invoice is one of these.", "A business entity."),
  cardCountries: list(
    { type: "string", pattern: "^[A-Z]{2}$", maxLength: 2, description: "ISO 3166 alpha-2." },
    "Condition: the country of the card is one of these. It may become known with an attempt.",
  ),
  currencies: list(
    { type: "string", pattern: "^[A-Z]{3}$", maxLength: 3, description: "ISO 4217." },
    "Condition: the currency is one of these.",
  ),
  amountFrom: integer(
    RULE_LIMITS.amount,
    "Condition: the amount of the invoice, in minor units, is at least this. Needs exactly one currency.",
  ),
  amountTo: integer(RULE_LIMITS.amount, "Condition: the amount of the invoice is at most this."),
  customerIds: identifiers("Condition: the customer is one of these.", "Your id of a customer."),
  leaveOut: {
    type: "boolean",
    description: "Whether Dunlin never acts on the invoice. Then no other outcome is given. Default: false.",
  },
  windowDays: integer(RULE_LIMITS.windowDays, "Outcome: the recovery window. Absent: the setting of the merchant."),
  budget: integer(RULE_LIMITS.budget, "Outcome: the maximum number of retries. Absent: the setting of the merchant."),
  leadMinutes: integer(
    RULE_LIMITS.leadMinutes,
    "Outcome: how long before its ideal time a retry is requested. Absent: the setting of the merchant.",
  ),
  quietWeekdays: list(
    { type: "string", enum: [...WEEKDAYS], description: "A weekday." },
    "Outcome: no retry is planned on these weekdays, on the customer's clock.",
  ),
  quietDates: list(
    {
      ...{
        type: "string",
        maxLength: 22,
        pattern: "^([0-9]{4}-)?[0-9]{2}-[0-9]{2}(\\.\\.([0-9]{4}-)?[0-9]{2}-[0-9]{2})?$",
      },
      description: "A date or a range: `12-25` and `12-24..01-01` each year, `2026-12-24..2027-01-01` once.",
    },
    "Outcome: no retry is planned on these dates.",
  ),
  quietFromHour: integer(RULE_LIMITS.hour, "Outcome: no retry is planned from this hour of the customer's clock."),
  quietToHour: integer(
    RULE_LIMITS.hour,
    "Outcome: up to this hour, 1 to 20 hours later, also across midnight. At this hour retries are allowed again.",
  ),
};

const ruleList = (schema: string, description: string): DocumentPart => ({
  ...{ type: "array", maxItems: RULE_LIMITS.rules, description, items: { $ref: `#/components/schemas/${schema}` } },
});
const totalProperties: DocumentPart = {
  openCases: { type: "integer", format: "int32", minimum: 0, description: "Open cases." },
  amounts: {
    ...{ type: "array", maxItems: 1000, description: "The money of these cases." },
    items: {
      ...{ type: "object", required: ["currency", "amount"] },
      properties: {
        currency: { type: "string", pattern: "^[A-Z]{3}$", maxLength: 3, description: "ISO 4217." },
        amount: { ...integer(RULE_LIMITS.amount, "Minor units that are left to pay.") },
      },
    },
  },
};

export const RULES_SCHEMAS: Readonly<Record<string, DocumentPart>> = {
  RecoveryRule: {
    ...{ type: "object", required: ["name"], additionalProperties: false, properties: RULE_PROPERTIES },
    description:
      "A recovery rule: it holds for an invoice that fits all its conditions. Outcomes that are absent come from the merchant's settings.",
  },
  RecoveryRuleList: {
    ...{ type: "object", required: ["rules"], description: "The recovery rules." },
    properties: { rules: ruleList("RecoveryRule", "In order: the first rule that fits an invoice decides.") },
  },
  RecoveryRulesReply: {
    ...{ type: "object", required: ["requestId", "rules"], description: "The rules are stored." },
    properties: { requestId: REQUEST_ID, rules: ruleList("RecoveryRule", "As stored, with their ids.") },
  },
  RuleTotal: {
    ...{ type: "object", required: ["name", "openCases", "amounts"], description: "The part of a rule." },
    properties: { name: RULE_PROPERTIES.name, ...totalProperties },
  },
  RecoveryRulesTest: {
    ...{ type: "object", required: ["openCases", "planChanges", "rules", "others", "notes"] },
    description: "The effect of a list of rules on the open cases. Nothing was changed.",
    properties: {
      openCases: { type: "integer", format: "int32", minimum: 0, description: "All open cases." },
      planChanges: {
        ...{ type: "integer", format: "int32", minimum: 0 },
        description:
          "Cases that would end, whose window or budget would change, or whose planned retry lies in a quiet time.",
      },
      rules: ruleList("RuleTotal", "The part of each rule, in order."),
      others: {
        ...{ type: "object", required: ["openCases", "amounts"], description: "Cases that no rule fits." },
        properties: totalProperties,
      },
      notes: {
        ...{ type: "array", items: { type: "string" } },
        description: 'Such as "rule 3 never applies: rule 1 fits every invoice". Empty if every rule can apply.',
      },
    },
  },
};

const FRANCE = { name: "France", cardCountries: ["FR"], windowDays: 28, budget: 8, quietWeekdays: ["SUNDAY"] };
const ANNUAL = {
  name: "Annual Team",
  planIds: ["annual_team"],
  currencies: ["EUR"],
  amountFrom: 50_000,
  leaveOut: true,
};
const RULES_EXAMPLE = {
  rules: [ANNUAL, { ...FRANCE, quietDates: ["12-24..01-01"], quietFromHour: 22, quietToHour: 7 }],
};
const IDS = ["019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77", "019c7a11-9e20-7b3c-8a54-6f0e2d9b1c78"];
const STORED_EXAMPLE = {
  rules: RULES_EXAMPLE.rules.map((rule, index) => ({ id: IDS[index], leaveOut: false, ...rule })),
};
const TEST_EXAMPLE = {
  ...{ openCases: 214, planChanges: 12 },
  rules: [
    { name: "Annual Team", openCases: 5, amounts: [{ currency: "EUR", amount: 435_000 }] },
    { name: "France", openCases: 31, amounts: [{ currency: "EUR", amount: 129_000 }] },
  ],
  others: { openCases: 178, amounts: [{ currency: "EUR", amount: 1_299_700 }] },
  notes: [],
};

const REFUSED: Readonly<Record<string, unknown>> = {
  noList: {},
  noObject: [],
  wrongWindow: { rules: [{ name: "a", windowDays: 0 }] },
  unknownField: { rules: [{ name: "a", window: 7 }] },
  amountWithoutCurrency: { rules: [{ name: "a", amountFrom: 5 }] },
  wrongDate: { rules: [{ name: "a", quietDates: ["30-02"] }] },
};

function refusalOf(value: unknown): string {
  try {
    readRulesOf(value);
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
  throw new Error(`an example of refused rules was accepted: ${JSON.stringify(value)}`);
}

const jsonContent = (schema: string, examples: Readonly<Record<string, unknown>>): DocumentPart => ({
  "application/json": {
    schema: { $ref: `#/components/schemas/${schema}` },
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  },
});
const success = (description: string, schema: string, example: unknown): DocumentPart => ({
  200: { description, headers: headerRefs(...AUTHENTICATED_HEADERS), content: jsonContent(schema, { done: example }) },
});
const badRequests = () => Object.fromEntries(Object.entries(REFUSED).map(([name, value]) => [name, refusalOf(value)]));

const operation = (part: DocumentPart, description: string, permission: string): DocumentPart => ({
  tags: ["Recovery rules"],
  ...part,
  description: `An addition to the interface. ${description}\n\nNeeds the permission \`${permission}\`.`,
  parameters: [CALLER_REQUEST_ID],
});
const requestBody: DocumentPart = {
  required: true,
  content: jsonContent("RecoveryRuleList", { twoRules: RULES_EXAMPLE, noRules: { rules: [] } }),
};

export const buildRulesPaths = (): DocumentPart => ({
  [RULES_PATH]: {
    get: {
      ...operation(
        { operationId: "listRecoveryRules", summary: "Read the recovery rules" },
        "Returns the whole list in order.",
        "read:recovery_rules",
      ),
      responses: {
        ...success("The rules.", "RecoveryRuleList", STORED_EXAMPLE),
        ...refusalResponses("ingest", null, false),
      },
    },
    put: {
      ...operation(
        { operationId: "replaceRecoveryRules", summary: "Replace the recovery rules" },
        "Replaces the whole list at once, or nothing if a rule is invalid; the message names the rule by its index and the field. Dunlin decides all open cases again by the new rules. Each keeps the attempts that it has had.",
        "manage:recovery_rules",
      ),
      requestBody,
      responses: {
        ...success("Stored, durably.", "RecoveryRulesReply", {
          requestId: (REQUEST_ID.examples as readonly string[])[0],
          ...STORED_EXAMPLE,
        }),
        ...refusalResponses("ingest", badRequests()),
      },
    },
  },
  [TEST_PATH]: {
    post: {
      ...operation(
        { operationId: "testRecoveryRules", summary: "Test recovery rules" },
        "Returns what a list of rules would change in the open cases, and changes nothing.",
        "read:recovery_rules",
      ),
      requestBody,
      responses: {
        ...success("The effect.", "RecoveryRulesTest", TEST_EXAMPLE),
        ...refusalResponses("ingest", badRequests()),
      },
    },
  },
});
