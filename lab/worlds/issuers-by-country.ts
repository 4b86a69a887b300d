/**
 * Issuers of each country, the most usual one first, with how usual they are.
 *
 * @param each  how many a country has
 * @param issuerOf  makes one: `number` differs for all issuers, `rank` within the country
 */
export const createIssuersByCountry = <Country, Issuer>(
  countries: readonly (readonly [Country, number])[],
  each: number,
  issuerOf: (country: Country, number: number, rank: number) => Issuer,
): ReadonlyMap<Country, readonly (readonly [Issuer, number])[]> =>
  new Map(
    countries.map(([country], place) => [
      country,
      Array.from(
        { length: each },
        (_, rank) => [issuerOf(country, place * each + rank, rank), 1 / (1 + rank)] as const,
      ),
    ]),
  );
