import { describeConflict, parseStoredConflict } from "../../recovery/conflict-wording.ts";
import type { InvoiceConflict } from "../../tables/invoice-conflicts.ts";
import { invoiceLink } from "../deliveries/delivery-list-page.ts";
import { type Html, html } from "../html.ts";
import { formNotice } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { formatTime } from "../show/time-format.ts";

export const CONFLICTS_SHOWN = 20;

export function conflictList(conflicts: readonly InvoiceConflict[], total: number, zone: string): Html | null {
  if (total === 0) return null;
  const more = total - conflicts.length;
  return formNotice(
    "warn",
    html`<h2>${total === 1 ? "1 invoice needs" : `${formatCount(total)} invoices need`} review</h2>
<p>Their data is contradictory, so Dunlin requests no payment until the data changes.</p>
<ul>${conflicts.map((conflict) => html`<li>${invoiceLink(conflict.invoiceId)}: ${conflictText(conflict, zone)}</li>`)}</ul>${
      more > 0 && html`<p>${formatCount(more)} more are not shown.</p>`
    }`,
  );
}

export const conflictNotice = (conflict: InvoiceConflict | undefined, zone: string): Html | null =>
  conflict
    ? formNotice("warn", html`<span><strong>This invoice needs review.</strong> ${conflictText(conflict, zone)}</span>`)
    : null;

const conflictText = (conflict: InvoiceConflict, zone: string) =>
  describeConflict(parseStoredConflict(conflict), (at) => formatTime(at, zone));
