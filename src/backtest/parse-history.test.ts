import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CSV_FORMAT } from "../domain/csv-format.ts";
import { describeDateRule } from "../domain/date-format.ts";
import { describeAmountRule } from "../domain/value-format.ts";
import { declineGroupOf } from "./failed-invoices.ts";
import { parseHistory } from "./parse-history.ts";

const CSV = `Invoice ID,customer_id,createdAt,state,amount,currency,networkDeclineCode,note
inv_1,cus_1,2026-01-05T09:00:00Z,FAILED,4900,EUR,51,"a, quoted ""note"""
inv_1,cus_1,2026-01-08T09:00:00Z,TRANSACTION_STATE_PAID,4900,eur,,
`;

test("a header can spell field names in any way, and unknown columns are ignored", () => {
  const { attempts, problems } = parseHistory(`\ufeff${CSV}`);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    attempts.map(({ invoiceId, customerId, approved, amount, currency, networkDeclineCode }) => [
      invoiceId,
      customerId,
      approved,
      amount,
      currency,
      networkDeclineCode,
    ]),
    [
      ["inv_1", "cus_1", false, 4900, "EUR", "51"],
      ["inv_1", "cus_1", true, 4900, "EUR", null],
    ],
  );
});

test("a numeric gateway code is interpreted by the gateway's name", () => {
  const line = (n: number) => `inv_${n},2026-01-05T09:00:00Z,FAILED,4900,EUR,12`;
  const heading =
    "invoiceId,createdAt,state,amount,currency,paymentGatewayErrorCode,paymentGatewayName,paymentGatewayType";
  const history = [heading, `${line(1)},Adyen,`, `${line(2)},EU acquiring,adyen`, `${line(3)},,`].join("\n");
  assert.deepEqual(parseHistory(history).attempts.map(declineGroupOf), ["FUNDS", "FUNDS", "UNKNOWN"]);
});

test("words such as NULL, and formulas that keep zeros, are read as in an import", () => {
  const heading = "invoiceId,createdAt,state,amount,currency,customerId,networkDeclineCode";
  const row = '="0012",2026-01-05T09:00:00Z,FAILED,4900,EUR,NULL,N/A';
  const { attempts, problems } = parseHistory(
    [heading, row, "NULL,2026-01-05T09:00:00Z,PAID,4900,EUR,c,", ...Array(30).fill(row)].join("\n"),
  );
  assert.deepEqual(
    attempts.map(({ invoiceId, customerId, networkDeclineCode }) => [invoiceId, customerId, networkDeclineCode]),
    [["0012", "0012", null]],
  );
  assert.deepEqual(problems, ["invoiceId is missing (line 3)"]);
});

test("JSONL and a JSON list yield the same history", () => {
  const lines = [
    {
      invoiceId: "inv_1",
      customerId: "cus_1",
      createdAt: "2026-01-05T09:00:00Z",
      state: "FAILED",
      amount: 4900,
      currency: "EUR",
      networkDeclineCode: "51",
    },
    {
      invoiceId: "inv_1",
      customerId: "cus_1",
      createdAt: "2026-01-08T09:00:00Z",
      state: "PAID",
      amount: 4900,
      currency: "EUR",
    },
  ];
  const json = lines.map((line) => JSON.stringify(line)).join("\n");
  assert.deepEqual(parseHistory(json).attempts, parseHistory(CSV).attempts);
  assert.deepEqual(parseHistory(`\ufeff${json}`), parseHistory(json), "a mark of the byte order is none of it");
  for (const list of [lines, { transactions: lines }])
    assert.deepEqual(parseHistory(JSON.stringify(list)), parseHistory(json));
  const wrong = [...Array(30).fill(lines[0]), { ...lines[1], state: "HELD" }];
  assert.match(parseHistory(JSON.stringify(wrong)).problems.join(), /^state "HELD" .* \(record 31\)$/);
});

const HEADING = "invoiceId,createdAt,state,amount,currency,propensity";
const expectedHistory = (records: number) =>
  Array.from({ length: records }, (_, n) => `right_${n},2026-01-05T09:00:00Z,FAILED,4900,EUR,0.25`);

test("the initiator is read in any spelling, and an unknown word is reported because it may mean the customer", () => {
  const rows = ["Customer", "TRANSACTION_INITIATOR_BILLING_SYSTEM", "merchant manual", "", "shopper"].map(
    (initiator) => `inv_1,2026-01-05T09:00:00Z,FAILED,4900,EUR,${initiator}`,
  );
  const file = ["invoiceId,createdAt,state,amount,currency,initiator", ...rows, ...Array(20).fill(rows[0])].join("\n");
  const { attempts, problems } = parseHistory(file);
  const known = attempts.slice(0, 4).map(({ initiator }) => initiator);
  assert.deepEqual(known, ["CUSTOMER", "BILLING_SYSTEM", "MERCHANT_MANUAL", null]);
  assert.deepEqual(problems, [
    'initiator "shopper" is unknown: write one of BILLING_SYSTEM, RECOVERY_ACTION, CUSTOMER, MERCHANT_MANUAL (line 6)',
  ]);
});

test("a payment method type and a country are read in any spelling", () => {
  const heading = "invoiceId,createdAt,state,amount,currency,networkDeclineCode,paymentMethodType,cardCountry";
  const rows = ["CARD,de", "PayPal,", "SEPA Debit,"].map(
    (payer) => `inv_1,2026-01-05T09:00:00Z,FAILED,4900,EUR,51,${payer}`,
  );
  const { attempts } = parseHistory([heading, ...rows].join("\n"));
  assert.deepEqual(
    attempts.map(({ paymentMethodType, cardCountry }) => [paymentMethodType, cardCountry]),
    [
      ["card", "DE"],
      ["paypal", null],
      ["sepa_debit", null],
    ],
  );
  assert.equal(declineGroupOf(attempts[0]!), "FUNDS");
});

test("a card verification without an amount is no attempt", () => {
  const check = "inv_1,2026-01-05T09:00:00Z,FAILED,0,EUR,";
  const { attempts, leftOut } = parseHistory([HEADING, check, ...expectedHistory(1)].join("\n"));
  assert.deepEqual([attempts.map(({ invoiceId }) => invoiceId), leftOut], [["right_0"], 0]);
});

test("a few unreadable records are left out, and each reason is reported once with its first line", () => {
  const { attempts, problems, leftOut } = parseHistory(`${HEADING}
inv_1,2026-01-05T09:00:00Z,FAILED,49.00,EUR,
inv_2,yesterday,FAILED,4900,EUR,
inv_3,2026-01-05T09:00:00Z,PENDING,4900,EUR,
inv_4,2026-01-05T09:00:00Z,FAILED,4900,EUR,0
inv_5,2026-01-05T09:00:00Z,FAILED,4900,EUR,2
inv_6,2026-01-05T09:00:00Z,Authorised,4900,EUR,
inv_7,2026-01-05T09:00:00Z,On hold,4900,EUR,
inv_8,2026-01-05T09:00:00Z,ON_HOLD,4900,EUR,
inv_9,2026-01-05T09:00:00Z,"Held
 4111 1111 1111 1111",4900,EUR,
${expectedHistory(200).join("\n")}
`);
  assert.equal(attempts.length, 200);
  assert.deepEqual([attempts[0]!.customerId, attempts[0]!.chance], ["right_0", 0.25]);
  assert.equal(leftOut, 8);
  const unknown = "is unknown: write PAID, FAILED, or PENDING for neither, or map it with --states";
  assert.deepEqual(problems, [
    'propensity "0" is not a probability above 0 and at most 1 (2 records, the first in line 5)',
    `state "On hold" ${unknown} (2 records, the first in line 8)`,
    `amount "49.00" ${describeAmountRule(DEFAULT_CSV_FORMAT)} (line 2)`,
    `createdAt "yesterday" ${describeDateRule(DEFAULT_CSV_FORMAT)} (line 3)`,
    `state "Authorised" ${unknown} (line 7)`,
    `state ${unknown} (line 10)`,
  ]);
});

test("a history is refused when more than one in twenty records are unreadable", () => {
  const held = (records: number) => Array(records).fill("inv_1,2026-01-05T09:00:00Z,HELD,4900,EUR,");
  assert.equal(parseHistory([HEADING, ...held(5), ...expectedHistory(95)].join("\n")).leftOut, 5);
  assert.throws(
    () => parseHistory([HEADING, ...expectedHistory(95), ...held(6)].join("\n")),
    /^TypeError: 6 of 101 records cannot be read: state "HELD" is unknown: .* \(6 records, the first in line 97\)$/,
  );
});

test("plain words for paid, failed and neither are read in any spelling", () => {
  const of = (words: string) => {
    const lines = words
      .split(" ")
      .map((word, n) => `inv_${n},2026-01-05T09:00:00Z,${word.replaceAll("+", " ")},4900,EUR,`);
    return parseHistory([HEADING, ...lines].join("\n")).attempts.map(({ approved }) => approved);
  };
  assert.deepEqual(of("paid Successful SUCCESS captured settled Partially+refunded"), Array(6).fill(true));
  assert.deepEqual(of("failed Failure declined refused rejected ERROR"), Array(6).fill(false));
  assert.deepEqual(of("pending TRANSACTION_STATE_VOIDED cancelled"), []);
});

test("a timestamp is read as by the API, a date as midnight UTC, and an ambiguous date is refused", () => {
  const momentOf = (createdAt: string) =>
    parseHistory([HEADING, `inv_1,${createdAt},FAILED,4900,EUR,`, ...expectedHistory(20)].join("\n")).attempts[0]!;
  assert.equal(momentOf("2026-01-02T08:00:00+02:00").at.toISOString(), "2026-01-02T06:00:00.000Z");
  assert.equal(momentOf("2026-01-02").at.toISOString(), "2026-01-02T00:00:00.000Z");
  for (const none of ["02.01.2026 08:00", "01/02/2026", "2026-02-30T08:00:00Z", "2026-02-30", "2026-01-02 08:00"])
    assert.equal(momentOf(none).invoiceId, "right_0", none);
});

test("the newest version of a repeated attempt counts, and duplicates are counted", () => {
  const heading = "id,updatedAt,invoiceId,createdAt,state,amount,currency";
  const of = (...rows: string[]) => {
    const { attempts, repeated, leftOut } = parseHistory([heading, ...rows].join("\n"));
    return [attempts.map(({ approved }) => approved), repeated, leftOut];
  };
  const row = (id: string, updated: string, state = "FAILED", created = "2026-01-05T09:00:00Z") =>
    `${id},${updated},inv_1,${created},${state},4900,EUR`;
  assert.deepEqual(of(row("", ""), row("", "")), [[false], 1, 0]);
  assert.deepEqual(of(row("", ""), row("", "", "PAID")), [[false, true], 0, 0]);
  assert.deepEqual(
    of(row("tx_1", ""), row("tx_2", "")),
    [[false, false], 0, 0],
    "tries of one day have ids of their own",
  );
  assert.deepEqual(of(row("tx_1", ""), row("tx_1", "", "PAID")), [[true], 1, 0]);
  const [older, newer] = ["2026-01-05T10:00:00Z", "2026-01-06T10:00:00Z"];
  assert.deepEqual(of(row("tx_1", newer, "PAID"), row("tx_1", older)), [[true], 1, 0]);
  assert.deepEqual(of(row("tx_1", ""), row("tx_1", "", "PAID", "2026-01-08T09:00:00Z")), [[false, true], 0, 0]);
});

test("an attempt's id can be named transactionId, unless there is an id", () => {
  const rows = (heading: string, ...ids: string[]) =>
    parseHistory(
      [
        `${heading},invoiceId,createdAt,state,amount,currency`,
        ...ids.map((id) => `${id},inv_1,2026-01-05T09:00:00Z,FAILED,4900,EUR`),
      ].join("\n"),
    ).attempts.length;
  assert.equal(rows("transaction_id", "tx_1", "tx_2", "tx_2"), 2);
  assert.equal(rows("id,transactionId", "tx_1,same", "tx_2,same"), 2);
  assert.equal(rows("id,transactionId", ",tx_1", ",tx_2", ",tx_2"), 2, "a column may be there and empty");
});

test("an invoice id that several customers or currencies share is left out", () => {
  const heading = "invoiceId,customerId,createdAt,state,amount,currency";
  const row = (invoiceId: string, customerId: string, currency = "EUR") =>
    `${invoiceId},${customerId},2026-01-05T09:00:00Z,FAILED,4900,${currency}`;
  const rows = Array.from({ length: 100 }, (_, n) => row(`inv_${n}`, `cus_${n}`));
  const more = [row("inv_1", "cus_2"), row("inv_2", "cus_2", "USD"), row("inv_3", "")];
  const { attempts, leftOut, problems } = parseHistory([heading, ...rows, ...more].join("\n"));
  assert.deepEqual([attempts.length, leftOut], [99, 4]);
  assert.match(
    problems.join(),
    /^invoiceId "inv_1" has several customers or currencies, .* \(4 records, the first in line 3\)$/,
  );
  const same = Array.from({ length: 100 }, (_, n) => row(`${n % 10}`, `cus_${n}`));
  assert.throws(
    () => parseHistory([heading, ...same].join("\n")),
    /100 of 100 records cannot be read: invoiceId "0" has/,
  );
});

test("a header without a required field is refused with its columns", () => {
  assert.throws(
    () => parseHistory("Invoice No,date,amount\n1,2,3\n"),
    /The header lacks invoiceId, createdAt, state, currency\. Name the columns with --map FIELD=COLUMN\. The columns are: Invoice No, date, amount\.$/,
  );
  assert.throws(() => parseHistory("\n"), /The file is empty\.$/);
});

test("semicolons and tabs are read as delimiters, and empty rows are ignored", () => {
  for (const sign of [";", "\t"]) {
    const text = `\ufeffinvoiceId,createdAt,state,amount,currency,\r\n"inv_1, the first",2026-01-02,PAID,4900,EUR,\r\n,,,,,\r\n`;
    const quoted = text.replaceAll(",", sign).replace(`${sign} the first`, ", the first");
    const { attempts, leftOut } = parseHistory(quoted);
    assert.deepEqual(
      [attempts.map(({ invoiceId, amount }) => [invoiceId, amount]), leftOut],
      [[["inv_1, the first", 4900]], 0],
      JSON.stringify(sign),
    );
  }
});

test("a row with a different number of columns is left out", () => {
  const heading = "invoiceId,createdAt,state,currency,amount";
  const rows = Array.from({ length: 60 }, (_, n) => `in_${n},2026-01-05,FAILED,EUR,4900`);
  const cut = ["a,2026-01-05,FAILED,EUR,12,30", "b,2026-01-05,FAILED,EUR", "c,2026-01-05,FAILED,EUR,4900,,", ","];
  const { attempts, problems } = parseHistory([heading, ...rows, ...cut].join("\n"));
  assert.equal(attempts.length, 61);
  assert.deepEqual(problems, ["its columns do not match the first line (2 records, the first in line 62)"]);
});

test("an invalid record is reported with its line, after any empty rows and quoted line breaks", () => {
  const quoted = `${expectedHistory(1)[0]},"two\nlines"`;
  const text = [`${HEADING},note`, quoted, "", ",,", quoted, "x,2026-01-05,HELD,4900,EUR,,", ...Array(40).fill(quoted)];
  for (const sign of ["\n", "\r\n"]) {
    const { problems } = parseHistory(text.join("\n").replaceAll("\n", sign));
    assert.match(problems.join(), /^state "HELD" .* \(line 8\)$/, JSON.stringify(sign));
  }
});

test("an attempt that the gateway blocked is ignored", () => {
  const { attempts, problems } = parseHistory(`invoiceId,createdAt,state,amount,currency,Payment Gateway Status
inv_1,2026-01-05,FAILED,4900,EUR,declined_by_network
inv_1,2026-01-06,FAILED,4900,EUR,not_sent_to_network
inv_1,2026-01-08,PAID,4900,EUR,approved_by_network
`);
  assert.deepEqual([attempts.map(({ approved }) => approved), problems], [[false, true], []]);
});
