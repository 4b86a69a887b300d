import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import type { CardNetwork } from "./card-networks.ts";
import { SOURCES } from "./sources.ts";

/**
 * Neither cards nor bank debits, but limited. The merchant decides how to retry: some wallets make the retries themselves.
 *
 * @see docs/sources.md#paypal
 */
const walletByType = new Map<string, CardNetwork>([
  [
    "paypal",
    {
      name: "PayPal",
      dialect: "common",
      limits: [
        {
          attemptsMax: 3,
          // PayPal limits the attempts per billing cycle, however long. One invoice bills one cycle.
          windowMs: Number.POSITIVE_INFINITY,
          counts: "invoice",
          words: "two attempts after the first in a billing cycle",
          source: SOURCES.paypal,
        },
      ],
      barsCategory1: false,
      readsAdvice: false,
      source: SOURCES.paypal,
    },
  ],
]);
export const WALLETS: ReadonlyMap<string, CardNetwork> = walletByType;

/** Undefined if Dunlin has no rules for it. */
export const findWallet = (paymentMethodType: string): CardNetwork | undefined =>
  walletByType.get(paymentSchemeOf(paymentMethodType));

/**
 * For the whole process.
 *
 * @see rule-overrides.ts
 */
export const setWallet = (type: string, wallet: CardNetwork) => walletByType.set(paymentSchemeOf(type), wallet);
