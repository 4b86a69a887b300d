import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import type { CardNetwork } from "./card-networks.ts";
import { SOURCES } from "./sources.ts";

/**
 * What is neither a card nor a bank debit, and still has a limit. How to try again is the merchant's to say: of some the wallet itself
 * makes the tries.
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
          // An invoice is what one cycle is billed with, however long it is.
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

/** The rules of a wallet, under whatever name its gateway has for it; undefined: it is none whose rules are known. */
export const findWallet = (paymentMethodType: string): CardNetwork | undefined =>
  walletByType.get(paymentSchemeOf(paymentMethodType));

/** From now on a wallet has these rules, in the whole process. @see override.ts */
export const setWallet = (type: string, wallet: CardNetwork) => walletByType.set(paymentSchemeOf(type), wallet);
