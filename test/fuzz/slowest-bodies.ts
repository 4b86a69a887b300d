import { INVOICE_KIND } from "../../src/ingest/invoice-record.ts";
import { parseBatch } from "../../src/ingest/parse-batch.ts";
import { TRANSACTION_KIND } from "../../src/ingest/transaction-record.ts";

const MEGABYTE = 1_000_000;
/** Just under the limit at which a body is refused for its number of values. */
const VALUE_COUNT = 19_000;
const INVOICE =
  '{"id":"inv_1","state":"INVOICE_STATE_UNPAID","customerId":"c","amount":100,"currency":"EUR","createdAt":"2026-01-15T10:00:00Z"}';
const ATTEMPT =
  '{"id":"tx_1","state":"TRANSACTION_STATE_PAID","invoiceId":"i","amount":100,"currency":"EUR","createdAt":"2026-01-15T10:00:00Z"}';

const repeatToSize = (unit: string, bytes = MEGABYTE) => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
const joinUnits = (unit: (index: number) => string, count = VALUE_COUNT) =>
  Array.from({ length: count }, (_, i) => unit(i)).join();
const longTextBody = (unit: string) => `{"invoices":[${INVOICE}],"x":"${repeatToSize(unit)}"}`;
const longArrayBody = (unit: string, count?: number) =>
  `{"invoices":[${INVOICE}],"x":[${joinUnits(() => unit, count)}]}`;
const largeObjectBody = (unit: (index: number) => string, space = "") =>
  `{"invoices":[${INVOICE}],"x":${space}{${joinUnits(unit)}}}`;
const manyRecordsBody = (record: string, field: (index: number) => string, name = "invoices") =>
  `{"${name}":[${joinUnits((index) => `${record.slice(0, -1)},${field(index)}}`, 200)}]}`;
const replacedValueBody = (value: string, other: string) => `{"invoices":[${INVOICE.replace(value, other)}]}`;

/** Bodies known or expected to take long. */
const BODIES: Record<string, string> = {
  "single digits and spaces": longTextBody("4 "),
  "single digits and hyphens": longTextBody("4-"),
  "single digits, no ASCII": longTextBody("4\u00a0"),
  "digits, three spaces": longTextBody("4   "),
  "groups of digits": longTextBody("60 6 606 0 "),
  "digits without an end": longTextBody("4"),
  "twelve digits and a letter": longTextBody("444444444444x"),
  "twelve groups and a letter": longTextBody("4 4 4 4 4 4 4 4 4 4 4 4 x"),
  "twenty digits and a letter": longTextBody("44444444444444444444x"),
  UUIDs: longTextBody("41111111-1111-1111-8abc-0123456789ab "),
  "almost UUIDs": longTextBody("a1111111-1111-1111-8abc-0123456789a"),
  hexadecimal: longTextBody("abcdefab"),
  escapes: longTextBody("\\u0041"),
  backslashes: longTextBody("\\\\"),
  quotes: longTextBody('\\"'),
  "lone surrogates": longTextBody("\\ud83d"),
  emoji: longTextBody("😀"),
  "many numbers of 13 digits": longArrayBody("4444444444444"),
  "many numbers of 17 digits": longArrayBody("11111111111111111"),
  "many numbers that change": longArrayBody("1.0"),
  "many numbers of 1e99": longArrayBody("1e99"),
  "many short texts": longArrayBody('"4 4 4 4 4 4 4"'),
  "many objects": longArrayBody("{}", VALUE_COUNT / 2),
  "many arrays": longArrayBody("[ ]", VALUE_COUNT / 2),
  "many small objects": longArrayBody('{"a":1,"b":2}', VALUE_COUNT / 3),
  "28 levels, many times": longArrayBody("[".repeat(28) + "]".repeat(28), VALUE_COUNT / 30),
  "28 levels of objects": longArrayBody(`${'{"a":'.repeat(28)}1${"}".repeat(28)}`, VALUE_COUNT / 30),
  "many keys": largeObjectBody((index) => `"k${index}":1`),
  "many keys, spaced": largeObjectBody((index) => `"k${index}":1`, " "),
  "many escaped keys": largeObjectBody((index) => `"\\u006b${index}":1`),
  "many long keys": largeObjectBody((index) => `"${"k".repeat(14)}${index}":1`),
  "many keys of numbers": largeObjectBody((index) => `"${(index * 40_503) % 4_294_967_291}":1`, " "),
  "a key twice in the end": largeObjectBody((index) => `"k${index === VALUE_COUNT - 1 ? 0 : index}":1`),
  "as many levels as are not counted": `{"invoices":${"[".repeat(19_000)}${"]".repeat(19_000)}}`,
  "as many levels of objects": `{"invoices":${'{"":'.repeat(9_000)}1${"}".repeat(9_000)}}`,
  "a heap": `{"invoices":[${repeatToSize("{},")}{}]}`,
  "a heap of levels": repeatToSize("["),
  "unclosed brackets": "[".repeat(99_000),
  "200 records with a text": manyRecordsBody(INVOICE, () => `"x":"${repeatToSize("4 ", 4_800)}"`),
  "200 records with many fields": manyRecordsBody(INVOICE, () => joinUnits((index) => `"u${index}": 1`, 90)),
  "200 messages of digits": manyRecordsBody(
    ATTEMPT,
    () => `"paymentGatewayErrorMessage":"${repeatToSize("4 ", 4_000)}"`,
    "transactions",
  ),
  "a long id": replacedValueBody("inv_1", repeatToSize("x")),
  "a long moment": replacedValueBody("00Z", `00.${repeatToSize("1")}Z`),
  "a long currency": replacedValueBody("EUR", repeatToSize("A")),
  "a long amount": replacedValueBody("100", repeatToSize("1")),
  "a long fraction": replacedValueBody("100", `0.${repeatToSize("0")}`),
  "a number without an end": repeatToSize("9"),
  "white space": `${replacedValueBody("", "")}${repeatToSize(" ")}`,
};

export interface BodyTime {
  name: string;
  bytes: number;
  /** CPU of the event loop to parse and check it, in the fastest round, because other load makes it longer. */
  ms: number;
}

/** Measures each of the slowest bodies at its best, slowest first. */
export function measureSlowestBodies(roundCount = 6): BodyTime[] {
  const times = Object.entries(BODIES).map(([name, body]) => {
    const bytes = Buffer.from(body);
    const kind = body.includes('"transactions"') ? TRANSACTION_KIND : INVOICE_KIND;
    const rounds = Array.from({ length: roundCount }, () => {
      const began = process.threadCpuUsage();
      try {
        parseBatch<unknown>(kind, bytes);
      } catch {
        // It was refused, which also takes time.
      }
      const { user, system } = process.threadCpuUsage(began);
      return (user + system) / 1000;
    });
    return { name, bytes: bytes.length, ms: Math.min(...rounds) };
  });
  return times.sort((a, b) => b.ms - a.ms);
}
