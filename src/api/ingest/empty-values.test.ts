import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, INVOICE, read, refusal, TRANSACTION } from "./batch.fixture.ts";
import type { RecordKind } from "./batch.ts";
import { INVOICES } from "./invoice.ts";
import { SUBSCRIPTIONS } from "./subscription.ts";
import { TRANSACTIONS } from "./transaction.ts";

/** Each kind, and a record that has what it must have. */
const KINDS: readonly [RecordKind<never>, Record<string, unknown>][] = [
  [SUBSCRIPTIONS as RecordKind<never>, { ...INVOICE, state: "SUBSCRIPTION_STATE_ACTIVE" }],
  [INVOICES as RecordKind<never>, INVOICE],
  [TRANSACTIONS as RecordKind<never>, { ...TRANSACTION, customerId: undefined }],
];

/** Bodies that one reader takes, and the other one. A second kind of space or an unknown field is none for the walk. */
const bodiesOf = (name: string, record: Record<string, unknown>) => [
  bytes({ [name]: [record] }),
  bytes({ [name]: [{ ...record, unknown: "é" }] }),
];

test("an empty text or null in an optional field means absent, in every optional field of every kind", () => {
  let fields = 0;
  for (const [kind, record] of KINDS) {
    const [least] = read(kind, bytes({ [kind.name]: [record] }));
    for (const [name, { required }] of kind.fields) {
      if (required) continue;
      fields++;
      for (const value of ["", null])
        for (const body of bodiesOf(kind.name, { ...record, [name]: value }))
          assert.deepEqual(read(kind, body), [least], `${kind.name} ${name} ${value}`);
    }
  }
  assert.ok(fields > 35);
});

test("a cardFunding of UNKNOWN means absent, and does not refuse the batch", () => {
  const record = { ...TRANSACTION, cardBrand: "visa" };
  const { name } = TRANSACTIONS;
  const [least] = read(TRANSACTIONS, bytes({ [name]: [record] }));
  const unknown = { ...record, cardFunding: "CARD_FUNDING_UNKNOWN" };
  for (const body of bodiesOf(name, unknown)) assert.deepEqual(read(TRANSACTIONS, body), [least]);
  const mixed = [unknown, { ...record, cardFunding: "CARD_FUNDING_CHARGE" }, unknown, record, record];
  assert.deepEqual(
    read(TRANSACTIONS, bytes({ [name]: mixed })).map(({ cardFunding }) => cardFunding),
    [undefined, "CHARGE", undefined, undefined, undefined],
  );
});

test("an empty text or null in a required field is refused", () => {
  for (const [kind, record] of KINDS)
    for (const [name, { required }] of kind.fields) {
      if (!required) continue;
      for (const value of ["", null])
        for (const body of bodiesOf(kind.name, { ...record, [name]: value }))
          assert.match(
            refusal(() => read(kind, body)),
            new RegExp(`^${kind.name}\\[0\\]\\.${name} must be `),
          );
    }
});
