import assert from "node:assert/strict";
import { test } from "node:test";
import { INVOICE_KIND } from "./invoice-record.ts";
import {
  INVOICE,
  invoiceJsonWith,
  parseInvoiceWith,
  parseTransactionWith,
  refusalMessage,
  textRefusalMessage,
  toBytes,
  VISA,
} from "./parse-batch.fixture.ts";
import { parseBatch } from "./parse-batch.ts";

test("a card number in free text is refused and not repeated", () => {
  const grouped = [
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "3782 822463 10005",
    "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
  ];
  for (const card of [
    VISA,
    ...grouped,
    "5555555555554444",
    "6011111111111117",
    "30569309025904",
    "3530111333300000",
    "4222222222222",
    "2223003122003222",
    "6304000000000000",
  ]) {
    const message = refusalMessage(() =>
      parseTransactionWith({ paymentGatewayErrorMessage: `Card ${card} was declined on 2026-01-15` }),
    );
    assert.equal(message, "transactions[0].paymentGatewayErrorMessage must not hold a card number", card);
  }
  assert.match(
    refusalMessage(() => parseInvoiceWith({ businessEntity: `x${VISA}y` })),
    /businessEntity must not hold a card number/,
  );
  assert.match(
    refusalMessage(() => parseInvoiceWith({ businessEntity: "2026-01-15 4111 1111 1111 1111" })),
    /card number/,
  );
  for (const innocent of [
    "4111111111111112",
    "order 20260115 100000",
    "1234567890123456",
    `9${VISA}9999`,
    "+49 170 1234567 89",
  ])
    assert.equal(parseTransactionWith({ paymentGatewayErrorMessage: innocent }).paymentGatewayErrorMessage, innocent);
});

test("a card number in an unknown field is refused with its path and the reason", () => {
  const expected =
    "must not hold a card number (13 to 19 digits that pass the Luhn check): " +
    "card numbers are not accepted anywhere, not even in unknown fields";
  const hidden: [object, string][] = [
    [{ cardNumber: VISA }, "invoices[0].cardNumber"],
    [{ cardNumber: Number(VISA) }, "invoices[0].cardNumber"],
    [{ meta: { list: ["a", { pan: "4111-1111-1111-1111" }] } }, "invoices[0].meta.list[1].pan"],
    [{ [VISA]: true }, "invoices[0].(unknown field)"],
    [{ meta: { [`k${VISA}`]: 1 } }, "invoices[0].meta.(unknown field)"],
  ];
  for (const [fields, path] of hidden)
    assert.equal(
      refusalMessage(() => parseInvoiceWith(fields)),
      `${path} ${expected}`,
    );
  assert.equal(
    refusalMessage(() => parseBatch(INVOICE_KIND, toBytes({ invoices: [INVOICE], note: VISA }))),
    `note ${expected}`,
  );
  // Beyond 2^53, a number loses its last digits.
  assert.equal(textRefusalMessage(invoiceJsonWith("pan", "6304000000000000000")), `invoices[0].pan ${expected}`);
});

test("an identifier of plain digits that pass Luhn is accepted, and a grouped card number is not", () => {
  assert.equal(parseInvoiceWith({ id: VISA }).id, VISA);
  assert.equal(parseInvoiceWith({ customerId: `order-${VISA}` }).customerId, `order-${VISA}`);
  for (const id of ["4111 1111 1111 1111", "4111-1111-1111-1111", "inv-3782-822463-10005"])
    assert.equal(
      refusalMessage(() => parseInvoiceWith({ id })),
      "invoices[0].id must not hold a card number",
    );
  // Groups 1 to 3 of this UUID pass Luhn in a Visa range.
  assert.equal(
    parseInvoiceWith({ id: "41111111-1111-1111-8abc-0123456789ab" }).id,
    "41111111-1111-1111-8abc-0123456789ab",
  );
});
