import assert from "node:assert/strict";
import { test } from "node:test";
import { INVOICE_KIND } from "./invoice-record.ts";
import { INVOICE, parseFixture, refusalMessage, TRANSACTION, toBytes } from "./parse-batch.fixture.ts";
import type { RecordKind } from "./parse-batch.ts";
import { SUBSCRIPTION_KIND } from "./subscription-record.ts";
import { TRANSACTION_KIND } from "./transaction-record.ts";

/** With only required fields. */
const KINDS: readonly [RecordKind<never>, Record<string, unknown>][] = [
  [SUBSCRIPTION_KIND as RecordKind<never>, { ...INVOICE, state: "SUBSCRIPTION_STATE_ACTIVE" }],
  [INVOICE_KIND as RecordKind<never>, INVOICE],
  [TRANSACTION_KIND as RecordKind<never>, { ...TRANSACTION, customerId: undefined }],
];

/** Returns the record in plain ASCII, and with an unknown non-ASCII field. */
const bodiesOf = (name: string, record: Record<string, unknown>) => [
  toBytes({ [name]: [record] }),
  toBytes({ [name]: [{ ...record, unknown: "é" }] }),
];

test("an empty string or null means absent in every optional field of every kind", () => {
  let fields = 0;
  for (const [kind, record] of KINDS) {
    const [minimal] = parseFixture(kind, toBytes({ [kind.name]: [record] }));
    for (const [name, { required }] of kind.fields) {
      if (required) continue;
      fields++;
      for (const value of ["", null])
        for (const body of bodiesOf(kind.name, { ...record, [name]: value }))
          assert.deepEqual(parseFixture(kind, body), [minimal], `${kind.name} ${name} ${value}`);
    }
  }
  assert.ok(fields > 35);
});

test("a cardFunding of UNKNOWN means absent and is not refused", () => {
  const record = { ...TRANSACTION, cardBrand: "visa" };
  const { name } = TRANSACTION_KIND;
  const [minimal] = parseFixture(TRANSACTION_KIND, toBytes({ [name]: [record] }));
  const unknown = { ...record, cardFunding: "CARD_FUNDING_UNKNOWN" };
  for (const body of bodiesOf(name, unknown)) assert.deepEqual(parseFixture(TRANSACTION_KIND, body), [minimal]);
  const mixed = [unknown, { ...record, cardFunding: "CARD_FUNDING_CHARGE" }, unknown, record, record];
  assert.deepEqual(
    parseFixture(TRANSACTION_KIND, toBytes({ [name]: mixed })).map(({ cardFunding }) => cardFunding),
    [undefined, "CHARGE", undefined, undefined, undefined],
  );
});

test("an empty string or null in a required field is refused", () => {
  for (const [kind, record] of KINDS)
    for (const [name, { required }] of kind.fields) {
      if (!required) continue;
      for (const value of ["", null])
        for (const body of bodiesOf(kind.name, { ...record, [name]: value }))
          assert.match(
            refusalMessage(() => parseFixture(kind, body)),
            new RegExp(`^${kind.name}\\[0\\]\\.${name} must be `),
          );
    }
});
