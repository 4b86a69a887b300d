/** ISO 4217, as far as this runtime knows it. */
const KNOWN: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Three capital letters that ISO 4217 does not know: they are taken as they are, and somebody should look. */
export const isUnknownCurrency = (code: string) => !KNOWN.has(code);

// Not from Intl, which says how prices are usually written: no decimals for HUF, IDR, COP and others, where ISO 4217 has two.
const DIGITS: ReadonlyMap<string, number> = new Map([
  ..."BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0] as const),
  ..."BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3] as const),
  ..."CLF UYW".split(" ").map((code) => [code, 4] as const),
]);

/** How many decimals the minor unit of a currency stands for (ISO 4217); 2 for codes that nobody knows. */
export const minorDigits = (code: string) => DIGITS.get(code) ?? 2;

/** "EUR 1,049.00" of an amount in minor units. */
export function moneyWords(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  const [whole, fraction] = (amount / 10 ** digits).toFixed(digits).split(".");
  return `${currency} ${whole!.replace(/\B(?=(\d{3})+$)/g, ",")}${fraction ? `.${fraction}` : ""}`;
}
