/**
 * With weights, the most common issuer first.
 *
 * @param each  issuers per country
 * @param issuerOf  `number` is unique, `rank` counts within the country
 */
export const createIssuersByCountry = <Country, Issuer>(
  countries: readonly (readonly [Country, number])[],
  each: number,
  issuerOf: (country: Country, number: number, rank: number) => Issuer,
): ReadonlyMap<Country, readonly (readonly [Issuer, number])[]> =>
  new Map(
    countries.map(([country], index) => [
      country,
      Array.from(
        { length: each },
        (_, rank) => [issuerOf(country, index * each + rank, rank), 1 / (1 + rank)] as const,
      ),
    ]),
  );
