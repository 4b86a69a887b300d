import { mutateBody } from "../fuzz/body-mutations.ts";
import { NAUGHTY_TEXTS } from "../fuzz/naughty-texts.ts";
import type { SeededRandom } from "../fuzz/seeded-random.ts";

/** One operation of a merchant. `walk`: list so many pages with these parameters; `page`: continue from that token. */
export type MerchantOperation =
  | { push: string; body: Buffer; headers?: Record<string, string> }
  | { walk: Record<string, string>; pagesMax: number }
  | { page: string; pagesMax: number };

const DAY = 86_400_000;
const INVOICES = 40;
/** Most walks read only the first pages, as people do. Complete walks would dominate after a few thousand operations. */
const pageCount = (dice: SeededRandom) => (dice.once(50) ? Number.POSITIVE_INFINITY : dice.upTo(8) + 1);
const randomId = (dice: SeededRandom, of: string) => `${of}_${dice.upTo(INVOICES)}`;
const ingestRequest = (name: string, records: readonly object[]) => ({
  push: name,
  body: Buffer.from(JSON.stringify({ [name]: records })),
});

/** Returns an operation of a billing system. Both merchants use the same ids on purpose. */
export function ordinaryOperation(dice: SeededRandom, nowMs: number): MerchantOperation {
  const at = new Date(nowMs - dice.upTo(2) * dice.upTo(DAY)).toISOString();
  const record = {
    customerId: randomId(dice, "cus"),
    amount: 1000 + dice.upTo(9000),
    currency: dice.pick(["EUR", "USD"]),
  };
  const kind = dice.upTo(10);
  if (kind < 4) {
    const state = dice.pick(["UNPAID", "UNPAID", "UNPAID", "PAID", "VOIDED"]);
    const invoice = () => ({
      ...record,
      id: randomId(dice, "inv"),
      subscriptionId: randomId(dice, "sub"),
      createdAt: at,
    });
    const count = 1 + dice.upTo(3);
    return ingestRequest(
      "invoices",
      Array.from({ length: count }, () => ({ ...invoice(), state: `INVOICE_STATE_${state}` })),
    );
  }
  if (kind < 7) {
    const state = dice.once(5) ? "PAID" : "FAILED";
    const codes = { networkDeclineCode: dice.pick(["51", "05", "54", "14"]), cardBrand: "visa", cardCountry: "DE" };
    const names = {
      id: `tx_${dice.upTo(500)}`,
      invoiceId: randomId(dice, "inv"),
      cardFingerprint: randomId(dice, "card"),
    };
    return ingestRequest("transactions", [
      { ...record, ...codes, ...names, state: `TRANSACTION_STATE_${state}`, createdAt: at, paymentMethodType: "card" },
    ]);
  }
  if (kind < 8) {
    const state = dice.pick(["ACTIVE", "ACTIVE", "PAST_DUE", "CANCELED"]);
    return ingestRequest("subscriptions", [
      { ...record, id: randomId(dice, "sub"), state: `SUBSCRIPTION_STATE_${state}`, createdAt: at },
    ]);
  }
  const orderBy = dice.pick(["created_at", "updated_at", "executed_at"]);
  const walk: Record<string, string> = { orderBy, orderDirection: dice.pick(["asc", "desc"]) };
  if (dice.once(3)) walk.invoiceId = randomId(dice, "inv");
  if (dice.once(4)) walk.currency = "EUR";
  return { walk: { ...walk, pageSize: dice.pick(["7", "100"]) }, pagesMax: pageCount(dice) };
}

/** Returns an operation of an attacker: ordinary ones, broken bodies, and other merchants' page tokens. */
export function hostileOperation(
  dice: SeededRandom,
  nowMs: number,
  bodies: readonly { name: string; text: string }[],
  tokens: string[],
): MerchantOperation {
  const kind = dice.upTo(10);
  if (kind < 5) return ordinaryOperation(dice, nowMs);
  if (kind < 8) {
    const { name, text } = dice.pick(bodies);
    const { bytes, headers } = mutateBody(text, dice);
    return { push: name, body: bytes, ...(headers && { headers }) };
  }
  if (kind < 9 && tokens.length > 0) return { page: dice.pick(tokens), pagesMax: pageCount(dice) };
  return { walk: { customerId: dice.pick(NAUGHTY_TEXTS).toWellFormed().slice(0, 300) }, pagesMax: pageCount(dice) };
}
