import { cardBrandName, paymentMethodName } from "../domain/payment-method-names.ts";
import { interpretDecline } from "../engine/rules/interpret-decline.ts";
import type { SumDimension } from "../tables/recovery-sums.ts";

/** In the page's order. */
export const BREAKDOWN_DIMENSIONS = [
  ...(["reason", "code", "method", "country", "issuer", "plan", "amount", "attempt", "hour", "cohort"] as const),
] as const;
export type BreakdownDimension = (typeof BREAKDOWN_DIMENSIONS)[number];

export const DIMENSION_NAMES: Readonly<Record<BreakdownDimension, string>> = {
  reason: "Decline reason",
  code: "Decline code",
  method: "Card network",
  country: "Card country",
  issuer: "Issuer",
  plan: "Plan",
  amount: "Amount",
  attempt: "Attempt number",
  hour: "Weekday and hour",
  cohort: "Month of failure",
};

const REASON_NAMES: Readonly<Record<string, string>> = {
  FUNDS: "Insufficient funds",
  GENERIC: "Declined without a reason",
  EXPIRED: "Expired card",
  LIMIT: "Over the card's limit",
  ISSUER_DOWN: "Bank not available",
  HARD_CARD: "Card or account blocked or closed",
  INVALID_DATA: "Wrong card data",
  AUTH_REQUIRED: "Customer must confirm",
  FRAUD: "Suspected fraud",
  REVOKED: "Customer revoked the authorization",
  UNKNOWN: "Unknown code",
};
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** For people, such as "Insufficient funds" for FUNDS. Unknown values say so. */
export function valueLabel(dimension: SumDimension | BreakdownDimension, value: string): string {
  if (value === "") return dimension === "reason" ? "No decline was pushed" : "Unknown";
  switch (dimension) {
    case "reason":
      return REASON_NAMES[value] ?? value;
    case "method":
      return cardBrandName(value) || paymentMethodName(value);
    case "country":
      return (/^[A-Z]{2}$/.test(value) ? countryNames.of(value) : undefined) ?? value;
    case "code":
      return codeLabel(value);
    case "attempt":
      return ordinalRetry(Number(value));
    case "hour":
      return `${WEEKDAYS[Math.floor(Number(value) / 24)]}, ${String(Number(value) % 24).padStart(2, "0")}:00`;
    default:
      return value;
  }
}

/** "51, there was not enough money". A code without a meaning of its own stays alone. */
function codeLabel(code: string): string {
  const codes = { networkDeclineCode: code, networkAdviceCode: null, gatewayCode: code, declineCategory: null };
  const { words } = interpretDecline(codes, { network: null, paymentMethodType: "card", cardCountry: null });
  return words === null ? code : `${code}, ${words}`;
}

function ordinalRetry(number: number): string {
  const suffix = number % 100 >= 11 && number % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${suffix} retry`;
}

const BAND_ENDS: Readonly<Record<string, number>> = { "1": 2, "2": 5, "5": 10 };

/** An amount band's lower and upper bound in major units. The upper one is exclusive. */
export function bandOf(value: string): [from: number, to: number] {
  const from = Number(value);
  if (from === 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(from) + 1e-9);
  return [from, BAND_ENDS[String(Math.round(from / power))]! * power];
}
