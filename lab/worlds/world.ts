/** One authorization and the issuer's answer. Optional fields are what this world happens to know. */
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
  /** Minor units of `currency`. */
  amount: number;
  currency: string;
  planId: string;
  billingPeriod: number;
  billingPeriodUnit: "DAY" | "WEEK" | "MONTH" | "YEAR";
  subscriptionCreatedAt: Date;
  createdAt: Date;
  windowDays: number;
  /** By the merchant, at `createdAt`. */
  first: Charge;
}

/** Customers and issuers made of code. Anybody can write one and hand it to `dunlin simulate --world`. */
export interface World {
  readonly name: string;
  /** All bills of about a year, paid ones too, in time order; starts the world anew. 10 to 15 % of first charges are declined. */
  bills(seed: number, customers: number): Iterable<Bill>;
  /** Charge now: the issuer's answer, with its effects on the world. Calls come in order of time, but the bill after this moment may have been made already; coins are keyed by seed, bill and moment, so that policies are compared on the same luck. */
  charge(bill: Bill, at: Date): Charge;
  /** For the oracle: the chance of approval at this moment in the world's present state, before any coin (and after trying in vain at `tried`, where the world can say). */
  approval(bill: Bill, at: Date, tried?: readonly Date[]): number;
  /**
   * Where money comes on pay days: tells which local days, counted since 1970, are those of the bill's customer; null where nobody could say. For measuring what an engine
   * that must infer them loses; a world may leave it out.
   */
  payDays?(bill: Bill): ((day: number) => boolean) | null;
}

/** What a world module exports as `world`. */
export type CreateWorld = (options?: Record<string, unknown>) => World;

/** Throws a RangeError when a world is given an option that it does not have. */
export function refuseUnknownOptions(options: Record<string, unknown>, known: readonly string[]) {
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined) throw new RangeError(`no option is named ${stranger}: there are ${known.join(", ")}`);
}

/**
 * A world's options, all of them numbers, with what is usual for those that are not given.
 *
 * @param shares  those that are shares of something; the others have no upper end
 * @throws RangeError  of an option that the world does not have, or that is no such number
 */
export function parseNumberOptions<Name extends string>(
  options: Record<string, unknown> | undefined,
  usual: Readonly<Record<Name, number>>,
  shares: readonly NoInfer<Name>[] = [],
): Record<Name, number> {
  const given = options ?? {};
  refuseUnknownOptions(given, Object.keys(usual));
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError(`option ${name} takes a number`);
    if (value < 0) throw new RangeError(`option ${name} takes a number from 0 on, not ${value}`);
    if (value > 1 && (shares as readonly string[]).includes(name))
      throw new RangeError(`option ${name} is a share, from 0 to 1, not ${value}`);
  }
  return { ...usual, ...given };
}
