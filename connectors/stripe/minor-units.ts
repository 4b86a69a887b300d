/** Stripe counts these in hundredths, ISO 4217 in whole units. */
const STRIPE_HUNDREDTHS: ReadonlySet<string> = new Set(["ISK", "UGX"]);
/** Stripe counts these in whole units, ISO 4217 in hundredths. */
const STRIPE_WHOLE: ReadonlySet<string> = new Set(["MGA"]);

/** Converts Stripe's amount to minor units by ISO 4217, as Dunlin takes it. @param currency  in capitals */
export function toMinorUnits(amount: number, currency: string): number {
  if (STRIPE_HUNDREDTHS.has(currency)) return Math.round(amount / 100);
  return STRIPE_WHOLE.has(currency) ? amount * 100 : amount;
}
