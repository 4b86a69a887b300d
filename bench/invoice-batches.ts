import { randomBytes, randomInt } from "node:crypto";
import type { Invoice, InvoiceState } from "../src/domain/invoice.ts";

export const BATCH = 200;
/** `history`: all new and paid. `changes`: half are newer versions, and 1% unpaid. */
export type Mix = "history" | "changes";

const UNPAID_SHARE = 0.01;
const DAY_MS = 86_400_000;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz";

/** A rising time, then random characters. */
function newId(prefix: string, serial: number) {
  const chance = [...randomBytes(14)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return `${prefix}_${(serial >> 4).toString(36).padStart(6, "0")}${chance}`;
}

export function newerVersionOf(invoice: Invoice): Invoice {
  const state: InvoiceState = invoice.state === "PAID" ? "REFUNDED" : "PAID";
  return { ...invoice, state, updatedAt: new Date(invoice.updatedAt.getTime() + 60_000) };
}

export function createInvoiceMaker(nowMs: number) {
  const known: Invoice[] = [];
  let serial = 0;

  function newInvoice(unpaid: boolean): Invoice {
    const id = newId("in", ++serial);
    const customer = randomInt(1, 1_000_000);
    const updatedMs = nowMs - randomInt(2 * DAY_MS);
    return {
      id,
      state: unpaid ? "UNPAID" : "PAID",
      customerId: `cus_${customer.toString(36).padStart(5, "0")}Nf8kQz2Lw`,
      subscriptionId: `sub_${(customer * 7).toString(36).padStart(6, "0")}Hd3RtYp`,
      amount: randomInt(500, 100_000),
      currency: "EUR",
      createdAt: new Date(updatedMs - randomInt(DAY_MS)),
      updatedAt: new Date(updatedMs),
    };
  }

  function batch(mix: Mix, fresh: boolean): Invoice[] {
    return Array.from({ length: BATCH }, (_, index) => {
      const old = mix === "changes" && !fresh && index % 2 === 1 ? known.pop() : undefined;
      return old ? newerVersionOf(old) : newInvoice(mix === "changes" && Math.random() < UNPAID_SHARE);
    });
  }

  return {
    /** @param fresh  new ones only, whatever the mix */
    batches(mix: Mix, count: number, fresh: boolean): Invoice[][] {
      const made = Array.from({ length: count }, () => batch(mix, fresh));
      if (mix === "changes") {
        for (const invoice of made.flat()) if (invoice.state !== "REFUNDED") known.push(invoice);
        // Spreads changes over the table.
        for (let i = known.length - 1; i > 0; i--) {
          const other = randomInt(i + 1);
          [known[i], known[other]] = [known[other]!, known[i]!];
        }
      }
      return made;
    },
  };
}

export const requestBodyOf = (batch: readonly Invoice[]) =>
  JSON.stringify({ invoices: batch.map((invoice) => ({ ...invoice, state: `INVOICE_STATE_${invoice.state}` })) });
