/** ISO 4217, as far as this runtime knows it. */
const KNOWN: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Three capital letters that ISO 4217 does not know: they are taken as they are, and somebody should look. */
export const isUnknownCurrency = (code: string) => !KNOWN.has(code);
