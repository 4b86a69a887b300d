import { conflictOf, conflictWords } from "../../recovery/conflict-words.ts";
import type { InvoiceConflict } from "../../store/invoice-conflicts.ts";
import { invoiceLink } from "../deliveries/list.ts";
import { type Html, html } from "../html.ts";
import { notice } from "../show/fields.ts";
import { momentText } from "../show/moments.ts";
import { count } from "../show/money.ts";

/** As many as a person looks through; more are counted. */
export const CONFLICTS_SHOWN = 20;

/** Invoices whose facts contradict each other, each with what does. Nothing is asked for on them meanwhile. */
export function conflictList(conflicts: readonly InvoiceConflict[], total: number, zone: string): Html | null {
  if (total === 0) return null;
  const more = total - conflicts.length;
  return notice(
    "warn",
    html`<h2>${total === 1 ? "1 invoice needs" : `${count(total)} invoices need`} a look</h2>
<p>Facts about them contradict each other, so Dunlin asks for no payment until one of the facts changes.</p>
<ul>${conflicts.map((conflict) => html`<li>${invoiceLink(conflict.invoiceId)}: ${wordsOf(conflict, zone)}</li>`)}</ul>${
      more > 0 && html`<p>${count(more)} more are not shown.</p>`
    }`,
  );
}

/** The same of one invoice, on its own page. */
export const conflictNotice = (conflict: InvoiceConflict | undefined, zone: string): Html | null =>
  conflict ? notice("warn", html`<strong>This invoice needs a look.</strong> ${wordsOf(conflict, zone)}`) : null;

const wordsOf = (conflict: InvoiceConflict, zone: string) =>
  conflictWords(conflictOf(conflict), (at) => momentText(at, zone));
