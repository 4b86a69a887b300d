const KNOWN_CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Accepted, but a person should check them. */
export const isUnknownCurrency = (code: string) => !KNOWN_CURRENCIES.has(code);

// Intl gives HUF, IDR, COP and others no decimals, as in common usage.
const MINOR_DIGITS: ReadonlyMap<string, number> = new Map([
  ..."BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0] as const),
  ..."BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3] as const),
  ..."CLF UYW".split(" ").map((code) => [code, 4] as const),
]);

/** ISO 4217; 2 for unknown codes. */
export const minorDigitsOf = (code: string) => MINOR_DIGITS.get(code) ?? 2;

/** Numbers are rounded. Text may hold a sum beyond their range. */
export type MinorUnits = number | bigint | string;

/** "1234.56" for 123456 in USD. Exact at any size. */
export function formatMajorUnits(minor: MinorUnits, currency: string): string {
  const digits = minorDigitsOf(currency);
  const whole = BigInt(typeof minor === "number" ? Math.round(minor) : minor);
  const sign = whole < 0n ? "-" : "";
  const text = String(whole < 0n ? -whole : whole).padStart(digits + 1, "0");
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Lower bound of the amount's band in major units: 0, 1, 2, 5, 10, 20, 50, 100 and so on. */
export function findAmountBand(minor: number, currency: string): string {
  const major = minor / 10 ** minorDigitsOf(currency);
  if (major < 1) return "0";
  const power = 10 ** Math.floor(Math.log10(major) + 1e-9);
  return String((major >= 5 * power ? 5 : major >= 2 * power ? 2 : 1) * power);
}

/** "EUR 1,049.00" */
export function formatMoneyText(minor: MinorUnits, currency: string): string {
  const [whole, fraction] = formatMajorUnits(minor, currency).split(".");
  return `${currency} ${whole!.replace(/\B(?=(\d{3})+$)/g, ",")}${fraction ? `.${fraction}` : ""}`;
}

const currencySigns = new Map<string, { wide: string; narrow: string }>();

/** "CA$" and "$" for CAD; the code without a sign. */
function currencySignsOf(code: string) {
  const cached = currencySigns.get(code);
  if (cached) return cached;
  const [wide, narrow] = (["symbol", "narrowSymbol"] as const).map((currencyDisplay) => {
    const parts = new Intl.NumberFormat("en", { style: "currency", currency: code, currencyDisplay }).formatToParts(0);
    return parts.find(({ type }) => type === "currency")!.value.toUpperCase();
  });
  const found = { wide: wide!, narrow: narrow! };
  currencySigns.set(code, found);
  return found;
}

/** "USD", "US$", or "$", which is ambiguous. */
export function isCurrencySign(sign: string, code: string): boolean {
  const written = sign.toUpperCase().replace(/\.$/, "");
  if (!/^[A-Z]{3}$/.test(code)) return false;
  const { wide, narrow } = currencySignsOf(code);
  const isNarrow = written.endsWith(narrow) && code.startsWith(written.slice(0, -narrow.length));
  return written === code || written === wide || isNarrow;
}
