import type Stripe from "stripe";
import { chargeCard } from "../../../simulator/world/charge-card.ts";
import { type Customer, createCard, createCustomer } from "../../../simulator/world/customer.ts";
import { DECLINES, type Reason } from "../../../simulator/world/decline-reasons.ts";
import { keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { CardFacts, DeclineFacts } from "./objects.ts";
import type { AskBank } from "./payments.ts";

/** The world's customers behind the account's, and the cards that they have had. */
export interface WorldBank {
  askBank: AskBank;
  /** Ties an account's customer to one in the world. */
  addCustomer(id: string, customer: Customer): void;
  customerOf(id: string): Customer | undefined;
  /** Notes that a payment method is the customer's card of this generation. */
  addMethod(methodId: string, generation: number, since: Date): void;
}

const DEBIT_DAYS = 4;

/** Declines charges as the simulator's worlds do. Methods that it does not know are approved. */
export function createWorldBank(): WorldBank {
  const customers = new Map<string, Customer>();
  const methods = new Map<string, { generation: number; sinceMs: number }>();
  return {
    addCustomer: (id, customer) => void customers.set(id, customer),
    customerOf: (id) => customers.get(id),
    addMethod: (methodId, generation, since) => void methods.set(methodId, { generation, sinceMs: since.getTime() }),
    askBank({ customer, method, at }) {
      const known = customers.get(customer.id);
      const onFile = methods.get(method.id);
      if (!known || !onFile) return { kind: "approved" };
      const answer = chargeCard(known, onFile, at);
      const decline = answer.approved ? null : declineFacts(answer.reason, answer.adviceCode);
      if (method.type !== "card") return { kind: "pending", days: DEBIT_DAYS, decline };
      return decline ? { kind: "declined", decline } : { kind: "approved" };
    },
  };
}

/** Codes that Stripe reports in place of `card_declined`. */
const OWN_CODES: ReadonlySet<string> = new Set([
  "expired_card",
  "incorrect_number",
  "processing_error",
  "authentication_required",
]);

export function declineFacts(reason: Reason, networkAdviceCode: string | null = null): DeclineFacts {
  const { gatewayCode, networkCode, words, hard } = DECLINES[reason];
  return {
    code: OWN_CODES.has(gatewayCode) ? gatewayCode : "card_declined",
    declineCode: gatewayCode,
    message: `Your payment was declined: ${words}.`,
    networkDeclineCode: networkCode,
    networkAdviceCode,
    adviceCode: hard ? "do_not_try_again" : "try_again_later",
    isSent: true,
  };
}

/** A world customer's card, as Stripe shows it. */
export function cardFactsOf(customer: Customer, generation: number): CardFacts | null {
  const card = createCard(customer, generation);
  return (
    card && {
      brand: card.brand,
      country: customer.country,
      expMonth: card.expiryMonth,
      expYear: card.expiryYear,
      fingerprint: card.fingerprint,
      funding: card.funding.toLowerCase(),
      iin: card.bin,
      issuer: customer.issuer,
      last4: card.last4,
    }
  );
}

/** A customer from the world, first billed at this time. */
export const worldCustomer = (seed: number, number: number, firstBill: Date): Customer =>
  createCustomer(seed, number, firstBill.getTime());

export const methodTypeOf = ({ method }: Customer): "card" | "sepa_debit" | "us_bank_account" =>
  method === "ach_debit" ? "us_bank_account" : (method as "card" | "sepa_debit");

/** Test cards by the names that Stripe documents, such as `pm_card_visa_chargeDeclinedInsufficientFunds`. */
const TEST_CARDS: Readonly<Record<string, { brand: string; reason: Reason | null }>> = {
  pm_card_visa: { brand: "visa", reason: null },
  pm_card_mastercard: { brand: "mastercard", reason: null },
  pm_card_chargeDeclined: { brand: "visa", reason: "do_not_honor" },
  pm_card_visa_chargeDeclinedInsufficientFunds: { brand: "visa", reason: "insufficient_funds" },
  pm_card_chargeDeclinedInsufficientFunds: { brand: "visa", reason: "insufficient_funds" },
  pm_card_visa_chargeDeclinedLostCard: { brand: "visa", reason: "lost" },
  pm_card_visa_chargeDeclinedStolenCard: { brand: "visa", reason: "stolen" },
  pm_card_chargeCustomerFail: { brand: "visa", reason: "do_not_honor" },
  pm_card_visa_chargeDeclinedExpiredCard: { brand: "visa", reason: "expired" },
  pm_card_chargeDeclinedProcessingError: { brand: "visa", reason: "system_error" },
  pm_card_authenticationRequired: { brand: "visa", reason: "authentication" },
};

export function testCardOf(token: string): { card: CardFacts; reason: Reason | null } | null {
  const test = TEST_CARDS[token];
  if (!test) return null;
  const draw = keyedRandom(1, token).toString(36).slice(2, 12);
  const card = {
    ...{ brand: test.brand, country: "US", expMonth: 12, expYear: 2034, funding: "credit", issuer: "Double Bank" },
    ...{ fingerprint: `fp_${draw}`, iin: test.brand === "visa" ? "424242" : "555555", last4: "4242" },
  };
  return { card, reason: test.reason };
}

/** A bank that declines the documented test cards, and asks another one about all others. */
export const withTestCards =
  (reasons: ReadonlyMap<string, Reason>, others: AskBank): AskBank =>
  (request) => {
    const reason = reasons.get(request.method.id);
    return reason === undefined ? others(request) : { kind: "declined", decline: declineFacts(reason) };
  };

export type MethodReasons = Map<Stripe.PaymentMethod["id"], Reason>;
