import type { Dice } from "../fuzz/dice.ts";
import { mutated } from "../fuzz/mutations.ts";
import { TEXTS } from "../fuzz/traps.ts";

/** One thing that a merchant does. `walk`: list with these parameters, so many pages; `page`: go on from there. */
export type Operation =
  | { push: string; body: Buffer; headers?: Record<string, string> }
  | { walk: Record<string, string>; pagesMax: number }
  | { page: string; pagesMax: number };

const DAY = 86_400_000;
const INVOICES = 40;
/** Most look at the first pages, as people do; who always walked to the end would do nothing else after a few thousand things. */
const pages = (dice: Dice) => (dice.once(50) ? Number.POSITIVE_INFINITY : dice.upTo(8) + 1);
const id = (dice: Dice, of: string) => `${of}_${dice.upTo(INVOICES)}`;
const json = (name: string, records: readonly object[]) => ({
  push: name,
  body: Buffer.from(JSON.stringify({ [name]: records })),
});

/** What a billing system does: both merchants use the same ids, on purpose. */
export function ordinary(dice: Dice, nowMs: number): Operation {
  const at = new Date(nowMs - dice.upTo(2) * dice.upTo(DAY)).toISOString();
  const record = { customerId: id(dice, "cus"), amount: 1000 + dice.upTo(9000), currency: dice.pick(["EUR", "USD"]) };
  const kind = dice.upTo(10);
  if (kind < 4) {
    const state = dice.pick(["UNPAID", "UNPAID", "UNPAID", "PAID", "VOIDED"]);
    const invoice = () => ({ ...record, id: id(dice, "inv"), subscriptionId: id(dice, "sub"), createdAt: at });
    const count = 1 + dice.upTo(3);
    return json(
      "invoices",
      Array.from({ length: count }, () => ({ ...invoice(), state: `INVOICE_STATE_${state}` })),
    );
  }
  if (kind < 7) {
    const state = dice.once(5) ? "PAID" : "FAILED";
    const codes = { networkDeclineCode: dice.pick(["51", "05", "54", "14"]), cardBrand: "visa", cardCountry: "DE" };
    const names = { id: `tx_${dice.upTo(500)}`, invoiceId: id(dice, "inv"), cardFingerprint: id(dice, "card") };
    return json("transactions", [
      { ...record, ...codes, ...names, state: `TRANSACTION_STATE_${state}`, createdAt: at, paymentMethodType: "card" },
    ]);
  }
  if (kind < 8) {
    const state = dice.pick(["ACTIVE", "ACTIVE", "PAST_DUE", "CANCELED"]);
    return json("subscriptions", [
      { ...record, id: id(dice, "sub"), state: `SUBSCRIPTION_STATE_${state}`, createdAt: at },
    ]);
  }
  const orderBy = dice.pick(["created_at", "updated_at", "executed_at"]);
  const walk: Record<string, string> = { orderBy, orderDirection: dice.pick(["asc", "desc"]) };
  if (dice.once(3)) walk.invoiceId = id(dice, "inv");
  if (dice.once(4)) walk.currency = "EUR";
  return { walk: { ...walk, pageSize: dice.pick(["7", "100"]) }, pagesMax: pages(dice) };
}

/** What somebody does who wants to be seen by another: the same, broken bodies, and other people's page tokens. */
export function hostile(
  dice: Dice,
  nowMs: number,
  bodies: readonly { name: string; text: string }[],
  tokens: string[],
): Operation {
  const kind = dice.upTo(10);
  if (kind < 5) return ordinary(dice, nowMs);
  if (kind < 8) {
    const { name, text } = dice.pick(bodies);
    const { bytes, headers } = mutated(text, dice);
    return { push: name, body: bytes, ...(headers && { headers }) };
  }
  if (kind < 9 && tokens.length > 0) return { page: dice.pick(tokens), pagesMax: pages(dice) };
  return { walk: { customerId: dice.pick(TEXTS).toWellFormed().slice(0, 300) }, pagesMax: pages(dice) };
}
