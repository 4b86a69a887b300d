/** ISO 4217, as far as this runtime knows it. */
const KNOWN_CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Three capital letters that ISO 4217 does not know: they are taken as they are, and somebody should look. */
export const isUnknownCurrency = (code: string) => !KNOWN_CURRENCIES.has(code);

// Not from Intl, which says how prices are usually written: no decimals for HUF, IDR, COP and others, where ISO 4217 has two.
const MINOR_DIGITS: ReadonlyMap<string, number> = new Map([
  ..."BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0] as const),
  ..."BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3] as const),
  ..."CLF UYW".split(" ").map((code) => [code, 4] as const),
]);

/** How many decimals the minor unit of a currency stands for (ISO 4217); 2 for codes that nobody knows. */
export const minorDigitsOf = (code: string) => MINOR_DIGITS.get(code) ?? 2;

/** An amount, or a difference, in minor units: a number, which is rounded to whole ones, or text of a sum that may be larger than one can hold. */
export type MinorUnits = number | bigint | string;

/** The amount in major units, as a plain decimal: 123456 of USD is "1234.56". Exact at any size. */
export function formatMajorUnits(minor: MinorUnits, currency: string): string {
  const digits = minorDigitsOf(currency);
  const whole = BigInt(typeof minor === "number" ? Math.round(minor) : minor);
  const sign = whole < 0n ? "-" : "";
  const text = String(whole < 0n ? -whole : whole).padStart(digits + 1, "0");
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** "EUR 1,049.00" of an amount in minor units. */
export function formatMoneyText(minor: MinorUnits, currency: string): string {
  const [whole, fraction] = formatMajorUnits(minor, currency).split(".");
  return `${currency} ${whole!.replace(/\B(?=(\d{3})+$)/g, ",")}${fraction ? `.${fraction}` : ""}`;
}

const currencySigns = new Map<string, { wide: string; narrow: string }>();

/** "CA$" and "$" of CAD, in capitals; the code itself where nothing else is known. */
function currencySignsOf(code: string) {
  const known = currencySigns.get(code);
  if (known) return known;
  const [wide, narrow] = (["symbol", "narrowSymbol"] as const).map((currencyDisplay) => {
    const parts = new Intl.NumberFormat("en", { style: "currency", currency: code, currencyDisplay }).formatToParts(0);
    return parts.find(({ type }) => type === "currency")!.value.toUpperCase();
  });
  const found = { wide: wide!, narrow: narrow! };
  currencySigns.set(code, found);
  return found;
}

/** Whether people write this beside amounts of a currency: "USD", "US$" and "$", which others have, too. */
export function isCurrencySign(sign: string, code: string): boolean {
  const written = sign.toUpperCase().replace(/\.$/, "");
  if (!/^[A-Z]{3}$/.test(code)) return false;
  const { wide, narrow } = currencySignsOf(code);
  const isNarrow = written.endsWith(narrow) && code.startsWith(written.slice(0, -narrow.length));
  return written === code || written === wide || isNarrow;
}
