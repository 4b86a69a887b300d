/** Optional fields are present only if this world has them. */
export interface Charge {
  at: Date;
  approved: boolean;
  paymentMethodType: string;
  networkDeclineCode?: string;
  networkAdviceCode?: string;
  cardBrand?: string;
  cardFunding?: string;
  /** ISO 3166 alpha-2. */
  cardCountry?: string;
  cardIssuer?: string;
  cardFingerprint?: string;
}

export interface Bill {
  id: string;
  customerId: string;
  subscriptionId: string;
  merchantKey: string;
  amount: number;
  currency: string;
  planId: string;
  billingPeriod: number;
  billingPeriodUnit: "DAY" | "WEEK" | "MONTH" | "YEAR";
  subscriptionCreatedAt: Date;
  createdAt: Date;
  windowDays: number;
  first: Charge;
}

/** Anyone can write a world and pass it to `dunlin simulate --world`. */
export interface World {
  readonly name: string;
  /** Restarts the world: about a year's invoices in order of time, paid ones too. 10% to 15% of first charges are declined. */
  bills(seed: number, customers: number): Iterable<Bill>;
  /**
   * Charges now and applies the effects. Calls come in order of time, but the next invoice may exist. Draws are keyed by seed,
   * invoice and time, so policies have the same luck.
   */
  charge(bill: Bill, at: Date): Charge;
  /** For the oracle: in the present state, before any draw. May account for failed attempts at `tried`. */
  approval(bill: Bill, at: Date, tried?: readonly Date[]): number;
  /**
   * Whether a local day, counted since 1970, is the customer's pay day; null if unknown. Measures an engine's loss by inferring
   * them.
   */
  payDays?(bill: Bill): ((day: number) => boolean) | null;
}

export type CreateWorld = (options?: Record<string, unknown>) => World;

/** Throws a RangeError. */
export function refuseUnknownOptions(options: Record<string, unknown>, names: readonly string[]) {
  const unknownName = Object.keys(options).find((name) => !names.includes(name));
  if (unknownName !== undefined)
    throw new RangeError(`no option is named ${unknownName}; the options are ${names.join(", ")}`);
}

/**
 * @param shares  options that must be at most 1
 * @throws RangeError if an option is unknown or out of range
 */
export function parseNumberOptions<Name extends string>(
  options: Record<string, unknown> | undefined,
  defaults: Readonly<Record<Name, number>>,
  shares: readonly NoInfer<Name>[] = [],
): Record<Name, number> {
  const given = options ?? {};
  refuseUnknownOptions(given, Object.keys(defaults));
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError(`option ${name} takes a number`);
    if (value < 0) throw new RangeError(`option ${name} takes a number of at least 0, not ${value}`);
    if (value > 1 && (shares as readonly string[]).includes(name))
      throw new RangeError(`option ${name} is a share, from 0 to 1, not ${value}`);
  }
  return { ...defaults, ...given };
}
