import assert from "node:assert/strict";
import { test } from "node:test";
import { createDice, type Dice } from "../../../test/fuzz/dice.ts";
import { mutated } from "../../../test/fuzz/mutations.ts";
import { bodiesOfSchemas } from "../../../test/fuzz/traps.ts";
import type { Invoice } from "../../domain/invoice.ts";
import type { Column } from "../../store/batch.ts";
import { idsOf, type Packed } from "../../store/packed.ts";
import { createPacker } from "../../store/packer.ts";
import { isPlain } from "../json/read-json.ts";
import { INVOICE, TRANSACTION, VISA } from "./batch.fixture.ts";
import { type RecordKind, readAny } from "./batch.ts";
import { INVOICES } from "./invoice.ts";
import { SUBSCRIPTIONS } from "./subscription.ts";
import { TRANSACTIONS } from "./transaction.ts";
import { createWalk } from "./walk-batch.ts";

const AT = "2026-01-15T10:00:00Z";
const UUID = "4111e7f9-4111-4111-8111-111111111111";

/** Each kind, and a record that has all of its fields. */
const WHOLE: [RecordKind<unknown>, Record<string, unknown>][] = [
  [
    SUBSCRIPTIONS,
    {
      ...{ id: "sub_1", state: "SUBSCRIPTION_STATE_ACTIVE", customerId: UUID, businessEntity: "", planId: "gold" },
      ...{ amount: 0, currency: "EUR", createdAt: AT, updatedAt: AT, activatedAt: AT, canceledAt: AT, expiresAt: AT },
      ...{ billingPeriod: 1, billingPeriodUnit: "BILLING_PERIOD_UNIT_MONTH" },
    },
  ],
  [
    INVOICES,
    { ...INVOICE, subscriptionId: "a b-c", businessEntity: "Berlin GmbH", updatedAt: "2026-01-15t11:00:00.5+01:00" },
  ],
  [
    TRANSACTIONS,
    {
      ...{ ...TRANSACTION, updatedAt: AT, subscriptionId: "sub_1", businessEntity: "DE", recoveryActionId: UUID },
      ...{
        paymentMethodType: "card",
        paymentMethodId: "pm_1",
        paymentGatewayId: "gw_1",
        paymentGatewayName: "a gateway",
      },
      ...{ paymentGatewayType: "x", paymentGatewayStatus: "declined", paymentGatewayTransactionId: "ch_1" },
      ...{ paymentGatewayErrorCode: "51", paymentGatewayErrorMessage: "no money", networkDeclineCode: "51" },
      ...{ networkAdviceCode: "24", declineCategory: "DECLINE_CATEGORY_OTHER", cardBrand: "visa", cardBin: "411111" },
      ...{
        cardLast4: "1111",
        cardFingerprint: "f1",
        cardCountry: "DE",
        cardIssuer: "Bank",
        cardFunding: "CARD_FUNDING_DEBIT",
      },
      ...{ cardExpiryMonth: 12, cardExpiryYear: 2030, customerTimezone: "Europe/Berlin" },
      ...{ initiator: "TRANSACTION_INITIATOR_CUSTOMER", attemptNumber: 3, networkToken: true },
    },
  ],
];

/** As they may stand in a body in place of a right one. */
const VALUES: readonly string[] = [
  ..."null true false tru nul {} [] 0 -0 -1 1.0 1e3 01 12 13 1x 2147483647 2147483648 999999999999999".split(" "),
  ...'1000000000000000 9007199254740991 9007199254740992 9007199254740993 99999999999999999999 1 "a'.split(" "),
  ...[
    ...["", "1", "a", "a\tb", "a\nb", "a\u0000b", "UTC", "utc", "US", "EURO", "Card", "0b", UUID],
    ...["x".repeat(255), "x".repeat(256), "x".repeat(4_000), "x".repeat(4_001)],
    ...[VISA, "4111 1111 1111 1111", "4111-1111-1111-1111", `${UUID} 4111-1111-1111-1111`],
    ...["2026-02-29T10:00:00Z", "2024-02-29T10:00:00z", "2026-01-15 10:00:00Z", "2026-01-15T10:00:00"],
    ...["2026-01-15T24:00:00Z", "1970-01-01T00:00:00+00:01", "1969-12-31T23:59:00-00:01", "2200-01-01T00:00:00Z"],
    ...[`2026-01-15T10:00:00.${"9".repeat(43)}Z`, `2026-01-15T10:00:00.${"9".repeat(44)}Z`],
    ...["2026-01-15T10:00:00.Z", "2026-01-15T10:00:00.12+0100", "2026-01-15T10:00:00-23:59"],
  ].map((text) => `"${text}"`),
];
const KEYS = ["id", "x", "__proto__", "amount ", VISA];
const SPACES = [" ", "\n  ", "\r\n\t", "\v"];

/** A body of a few records whose fields stand in any order: now and then one is missing, there twice, unknown or not as it must be. */
function someBody([kind, whole]: (typeof WHOLE)[number], dice: Dice): Buffer {
  const space = () => (dice.once(100) ? dice.pick(SPACES) : "");
  const records = Array.from({ length: dice.upTo(5) }, () => {
    const optional = dice.upTo(4);
    const names = kind.order
      .filter(([, { required }]) => (required ? !dice.once(200) : dice.once(optional + 1)))
      .map(([name]) => name);
    if (dice.once(2)) names.sort(() => dice.upTo(3) - 1);
    if (dice.once(50)) names.splice(dice.upTo(names.length), 0, dice.pick([...kind.fields.keys(), ...KEYS]));
    const fields = names.map((name) => {
      const value = dice.once(150) ? dice.pick(VALUES) : (JSON.stringify(whole[name]) ?? "1");
      return `${space()}"${name}"${space()}:${space()}${value}${space()}`;
    });
    return `{${fields.join()}}`;
  });
  return Buffer.from(`${space()}{"${kind.name}":${space()}[${records.join()}]${space()}}${space()}`);
}

/** What the general way makes of a body, or undefined when it refuses it. */
function read(kind: RecordKind<unknown>, body: Buffer) {
  try {
    return readAny(kind, body);
  } catch {
    return undefined;
  }
}

/** What is in a batch, wherever in memory it lies. */
const contentOf = ({ count, memory, starts }: Packed<unknown>) => ({
  count,
  elements: memory.toString("latin1", starts[0], starts.at(-1)),
  starts: [...starts],
});

/** Whether the walk read this body. If it did, then as the general way does. */
function walks(kind: RecordKind<unknown>, body: Buffer): boolean {
  const packed = isPlain(body) ? kind.walk(body) : undefined;
  if (packed) assert.deepEqual(contentOf(packed), contentOf(kind.pack(read(kind, body)!)), body.toString("latin1"));
  return packed !== undefined;
}

test("what the walk reads it reads as the general way does, and it leaves little to it", () => {
  const dice = createDice(5, "walk");
  let right = 0;
  let walked = 0;
  for (let round = 0; round < 6_000; round++) {
    const each = dice.pick(WHOLE);
    const body = someBody(each, dice);
    if (walks(each[0], body)) walked++;
    if (read(each[0], body)) right++;
  }
  assert.ok(right > 2_000 && walked > 0.8 * right, `${walked} of ${right}`);
});

test("whatever stands in a field, the walk reads it as the general way does or not at all", () => {
  for (const [kind, whole] of WHOLE) {
    const right = JSON.stringify(whole);
    for (const name of kind.fields.keys()) {
      for (const value of VALUES) {
        const record = JSON.stringify({ ...whole, [name]: "@" }).replace('"@"', () => value);
        walks(kind, Buffer.from(`{"${kind.name}":[${right},${record},${right}]}`));
      }
    }
  }
});

test("an identifier of any length, with any character anywhere, is read as the general way does, and mostly walked", () => {
  let walked = 0;
  for (let length = 1; length <= 12; length++)
    for (let place = 0; place < length; place++)
      for (let code = 1; code < 0x7f; code++) {
        const id = `${"a".repeat(place)}${String.fromCharCode(code)}${"z".repeat(length - place - 1)}`;
        if (walks(INVOICES, Buffer.from(JSON.stringify({ invoices: [{ ...INVOICE, customerId: id, id }] })))) walked++;
      }
  const allowed = 0x7f - 0x20 - 2; // but for a quote and a backslash, which are escaped
  assert.equal(walked, (allowed * 12 * 13) / 2);
  for (const length of [252, 253, 254, 255, 256, 257, 300]) {
    const id = "x".repeat(length);
    const body = Buffer.from(JSON.stringify({ invoices: [{ ...INVOICE, id }] }));
    assert.equal(walks(INVOICES, body), length <= 255);
  }
});

test("identifiers of any length fit into what was packed before, and those that are far too long are none for the walk", () => {
  const columns = INVOICES.pack([]).columns as readonly Column<Invoice>[];
  const walk = () => createWalk("invoices", INVOICES.order, createPacker(columns), 200);
  const bodyOf = (ids: readonly string[]) =>
    Buffer.from(JSON.stringify({ invoices: ids.map((id) => ({ ...INVOICE, id })) }));
  assert.equal(walk()(bodyOf(["x".repeat(10_000)])), undefined);
  for (let length = 200; length <= 255; length++) {
    const ids = Array.from({ length: 40 }, (_, n) => `${n}`.padEnd(length, "x"));
    assert.deepEqual(idsOf(walk()(bodyOf(ids))!), ids);
  }
});

test("moments as JavaScript writes them are walked, in every field that has one", () => {
  for (const [kind, whole] of WHOLE) {
    const usual = Object.entries(whole).map(([name, value]) => [
      name,
      value === AT ? "2026-01-15T10:00:00.250Z" : value,
    ]);
    for (const spaces of [0, 1])
      assert.ok(
        walks(kind, Buffer.from(JSON.stringify({ [kind.name]: [Object.fromEntries(usual), whole] }, null, spaces))),
      );
  }
});

test("hostile bodies are none for the walk, or read as the general way does", () => {
  const dice = createDice(6, "walk");
  const made = bodiesOfSchemas(300, 6);
  for (let round = 0; round < 6_000; round++) {
    const { name, text } = dice.pick(made);
    walks(WHOLE.find(([kind]) => kind.name === name)![0], mutated(text, dice).bytes);
  }
});

test("a body cut short anywhere is none for the walk", () => {
  for (const [kind, whole] of WHOLE) {
    const body = Buffer.from(JSON.stringify({ [kind.name]: [whole, whole] }));
    assert.ok(walks(kind, body));
    for (let end = 0; end < body.length; end++) assert.equal(kind.walk(body.subarray(0, end)), undefined);
  }
});

test("the walk takes 200 records and no more", () => {
  const body = (count: number) => Buffer.from(JSON.stringify({ invoices: Array(count).fill(INVOICE) }));
  assert.equal(INVOICES.walk(body(200))?.count, 200);
  assert.equal(INVOICES.walk(body(201)), undefined);
});

test("the walk looks for card numbers in groups in identifiers, in any form in names", () => {
  const body = (fields: object) => Buffer.from(JSON.stringify({ invoices: [{ ...INVOICE, ...fields }] }));
  assert.ok(INVOICES.walk(body({ id: VISA, subscriptionId: UUID })));
  assert.equal(INVOICES.walk(body({ id: "4111 1111 1111 1111" })), undefined);
  assert.equal(INVOICES.walk(body({ id: "4111-1111-1111-1111" })), undefined);
  assert.equal(INVOICES.walk(body({ businessEntity: VISA })), undefined);
});
