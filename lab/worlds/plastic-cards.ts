import { chooseWeighted, keyedUniform } from "./keyed-uniform.ts";
import type { Charge } from "./world.ts";

export const ISSUERS_PER_COUNTRY = 6;

export interface PlasticCard {
  /** Unique across countries. */
  issuer: number;
  nightFactor: number;
  /** Approved if `code` is null. `draw` decides about advice. */
  charge(at: number, code: string | null, draw: number): Charge;
}

/** On Mastercard's network. Most issuers add none. */
const ADVICE: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  "51": [
    ["25", 2],
    ["26", 2],
    ["27", 1],
    ["", 7],
  ],
  "05": [
    ["02", 2],
    ["", 8],
  ],
  "54": [
    ["01", 5],
    ["", 5],
  ],
};

/** Poor customers have debit and prepaid cards more often. */
export function createCard(seed: number, number: number, country: string, isPoor: boolean): PlasticCard {
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 6);
  const brand = chooseWeighted(draw(51), [
    ["visa", 56],
    ["mastercard", 36],
    ["amex", country === "US" && !isPoor ? 10 : 2],
    ["discover", country === "US" ? 3 : 0],
  ]);
  const issuer =
    country.charCodeAt(0) * 256 + country.charCodeAt(1) + 65_536 * Math.floor(draw(52) * ISSUERS_PER_COUNTRY);
  const funding = chooseWeighted(draw(53), [
    ["debit", isPoor ? 78 : 42],
    ["credit", isPoor ? 10 : 55],
    ["prepaid", isPoor ? 12 : 3],
  ]);
  const common = {
    paymentMethodType: "card",
    cardBrand: brand,
    cardFunding: funding,
    cardCountry: country,
    cardIssuer: `${country} bank ${issuer >> 16}`,
    cardFingerprint: `card-${number}`,
  };
  return {
    issuer,
    nightFactor: 0.94 + 0.06 * keyedUniform(seed, issuer, 54, 6),
    charge(at, code, chance) {
      const charge: Charge = { at: new Date(at), approved: code === null, ...common };
      if (code === null) return charge;
      const advice = brand === "mastercard" && ADVICE[code] ? chooseWeighted(chance, ADVICE[code]!) : "";
      return { ...charge, networkDeclineCode: code, ...(advice ? { networkAdviceCode: advice } : {}) };
    },
  };
}
