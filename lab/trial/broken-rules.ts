import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import type { Charge } from "../worlds/world.ts";
import type { Attempt } from "./policy.ts";
import type { TrialRetry } from "./run-trial.ts";

const timeOf = ({ charge }: Attempt) => charge.at.getTime();

// Written a second time from the published rules, to reveal errors in src/engine/rules.
const VISA_NEVER = "04 07 12 14 15 41 43 46 57 R0 R1 R3".split(" ");
const REVOKED = "R0 R1 R3".split(" ");
const NEVER_ON_ANY_CARD = ["03", "21"];
const MASTERCARD_NEVER = [...NEVER_ON_ANY_CARD, "05", "22", "41", "42"];
/** Not reloadable: "few" declines, counted here as three. */
const LIMITED_ADVICE = { advice: "40", declines: 3 };
const LIKE_VISA = ["visa", "amex", "americanexpress", "discover", "diners", "dinersclub"];
const MASTERCARD_WAIT_HOURS: Readonly<Record<string, number>> = {
  "02": 72,
  "24": 1,
  "25": 24,
  "26": 48,
  "27": 96,
  "28": 144,
  "29": 192,
  "30": 240,
};
const REPRESENTABLE: Readonly<Record<string, readonly string[]>> = {
  sepa_debit: ["AM04", "MS03"],
  ach_debit: ["R01", "R09"],
  bacs_debit: ["0"],
};
/** Any other text is no scheme's code. */
const SCHEME_CODE: Readonly<Record<string, RegExp>> = {
  sepa_debit: /^[A-Z]{2}\d{2}$/,
  ach_debit: /^R\d{2}$/,
  bacs_debit: /^[0-9A-Z]$/,
};
const DEBIT_NAMES: Readonly<Record<string, string>> = {
  us_bank_account: "ach_debit",
  ach: "ach_debit",
  ach_direct_debit: "ach_debit",
  sepa: "sepa_debit",
  sepa_core: "sepa_debit",
  sepa_cor1: "sepa_debit",
  sepa_direct_debit: "sepa_debit",
  sepa_debit_account: "sepa_debit",
  sepadirectdebit: "sepa_debit",
  bacs: "bacs_debit",
  bacs_direct_debit: "bacs_debit",
  directdebit_gb: "bacs_debit",
};
const debitSchemeOf = ({ paymentMethodType: type }: Charge) => DEBIT_NAMES[type.toLowerCase()] ?? type.toLowerCase();
const DEBIT_DAYS: Readonly<Record<string, number>> = { sepa_debit: 42, ach_debit: 180, bacs_debit: 31 };

/** Judges the charges, not the guard: each once, with all earlier ones on the same card or invoice. */
export function countBrokenRules(retries: readonly TrialRetry[]): number {
  let broken = 0;
  for (const { open, charge } of retries) {
    const at = charge.at.getTime();
    const earlier = listAttemptsOfAll(open, charge).filter((attempt) => timeOf(attempt) < at);
    const onCard = earlier.filter((attempt) => isSameCard(attempt.charge, charge));
    const sameAmount = onCard.filter(({ bill }) => bill.amount === open.bill.amount).map((attempt) => attempt.charge);
    const onBill = earlier.filter(({ bill }) => bill.id === open.bill.id).map((attempt) => attempt.charge);
    const { cardFingerprint } = charge;
    const approvedAt = Math.max(
      0,
      ...onCard.filter((attempt) => cardFingerprint !== undefined && attempt.charge.approved).map(timeOf),
    );
    // Expires after a month if the card was approved since.
    const isOver = (attempt: Attempt) =>
      attempt.bill.id !== open.bill.id &&
      timeOf(attempt) < approvedAt &&
      timeOf(attempt) <= at - 30 * DAY_MS &&
      !REVOKED.includes(codeOf(attempt.charge)) &&
      adviceOf(attempt.charge) !== "21";
    const blockingCharges = onCard.filter((attempt) => !isOver(attempt)).map((attempt) => attempt.charge);
    const isBroken = isCard(charge)
      ? breaksCardRule(
          charge,
          onCard.map((attempt) => attempt.charge),
          sameAmount,
          blockingCharges,
        )
      : charge.paymentMethodType === "paypal"
        ? onBill.length >= PAYPAL_ATTEMPTS
        : breaksDebitRule(charge, onBill);
    if (isBroken) broken++;
  }
  return broken;
}

const listAttemptsOfAll = ({ bill, attempts, byCard }: TrialRetry["open"], { cardFingerprint = "" }: Charge) => [
  ...attempts,
  ...(byCard.get(cardFingerprint) ?? []).filter((attempt) => attempt.bill.customerId !== bill.customerId),
];

function isSameCard(a: Charge, b: Charge): boolean {
  if (a.cardFingerprint || b.cardFingerprint) return a.cardFingerprint === b.cardFingerprint;
  const [brand, another] = [brandOf(a), brandOf(b)];
  return brand === another || brand === "" || another === "";
}

const isCard = (charge: Charge) => {
  const { paymentMethodType: type, cardBrand } = charge;
  return type === "card" || (Boolean(cardBrand) && type !== "paypal" && !REPRESENTABLE[debitSchemeOf(charge)]);
};
const brandOf = ({ cardBrand }: Charge) =>
  (cardBrand ?? "")
    .toLowerCase()
    .replace(/[^a-z]/g, "")
    .replace(/^(mc|maestro)$/, "mastercard");
const codeOf = ({ networkDeclineCode }: Charge) => (networkDeclineCode ?? "").trim().toUpperCase();
const adviceOf = ({ networkAdviceCode }: Charge) => (networkAdviceCode ?? "").trim().padStart(2, "0");
/** Including the first. */
const PAYPAL_ATTEMPTS = 3;

function breaksCardRule(
  charge: Charge,
  onCard: readonly Charge[],
  sameAmount: readonly Charge[],
  blockingCharges: readonly Charge[],
): boolean {
  const at = charge.at.getTime();
  const declined = onCard.filter(({ approved }) => !approved);
  const declines = blockingCharges.filter(({ approved }) => !approved);
  const countWithin = (charges: readonly Charge[], ms: number) =>
    charges.filter((charge) => !charge.approved && at - charge.at.getTime() <= ms).length;
  const isMastercard = brandOf(charge) === "mastercard";
  if (!isMastercard && declines.some((charge) => VISA_NEVER.includes(codeOf(charge)))) return true;
  const takesAdvice = !LIKE_VISA.includes(brandOf(charge));
  const neverCodes = takesAdvice ? MASTERCARD_NEVER : NEVER_ON_ANY_CARD;
  if (declines.some((charge) => neverCodes.includes(adviceOf(charge)))) return true;
  if (countWithin(sameAmount, 30 * DAY_MS) >= (isMastercard ? 35 : 20)) return true;
  if (!takesAdvice) return false;
  if (countWithin(onCard, DAY_MS) >= 10) return true;
  if (declined.filter((charge) => adviceOf(charge) === LIMITED_ADVICE.advice).length >= LIMITED_ADVICE.declines)
    return true;
  return declined.some((charge) => at - charge.at.getTime() < (MASTERCARD_WAIT_HOURS[adviceOf(charge)] ?? 0) * HOUR_MS);
}

function breaksDebitRule(charge: Charge, onBill: readonly Charge[]): boolean {
  const type = debitSchemeOf(charge);
  const codes = REPRESENTABLE[type];
  if (!codes) return false;
  if (onBill.map(codeOf).some((code) => SCHEME_CODE[type]!.test(code) && !codes.includes(code))) return true;
  if (type !== "bacs_debit" && onBill.length >= 3) return true;
  return onBill.length > 0 && charge.at.getTime() - onBill[0]!.at.getTime() > DEBIT_DAYS[type]! * DAY_MS;
}
