const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const LINE_WIDTH = 100;

/** `2026-03-04 09:12`, in UTC. */
export const formatMinute = (at: Date) => at.toISOString().slice(0, 16).replace("T", " ");

/** `Fri 6 Mar 09:10`, in UTC. */
export const formatDay = (at: Date) =>
  `${WEEKDAYS[at.getUTCDay()]} ${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.toISOString().slice(11, 16)}`;

/** `EUR 49.00`. `amount`: minor units; every currency here has two decimals. */
export const formatMoney = (amount: number, currency: string) =>
  `${currency} ${(amount / 100).toFixed(2).replace(/\B(?=(\d{3})+\.)/g, ",")}`;

/** Never wider than a terminal of 100 columns. */
export function formatInvoiceLine(at: Date, invoice: { id: string; amount: number; currency: string }, what: string) {
  return truncateLine(
    `${formatMinute(at)}  ${invoice.id}  ${formatMoney(invoice.amount, invoice.currency).padStart(10)}  ${what}`,
  );
}

/** Cuts before a word, because half a number would be a different one. */
export const truncateLine = (text: string) =>
  text.length <= LINE_WIDTH ? text : `${text.slice(0, LINE_WIDTH - 1).replace(/(?<=.{40})[\s,:]+\S*$/, "")}…`;

/** Wraps parts after their heading, without cutting any. */
export function wrapList(heading: string, parts: readonly string[]): string[] {
  const lines = [heading];
  for (const [n, part] of parts.entries()) {
    const words = n === parts.length - 1 ? part : `${part},`;
    const longer = `${lines.at(-1)} ${words}`;
    if (longer.length <= LINE_WIDTH) lines[lines.length - 1] = longer;
    else lines.push(`    ${words}`);
  }
  return lines;
}
