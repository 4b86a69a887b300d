import { readBatch } from "../../src/api/ingest/batch.ts";
import { INVOICES } from "../../src/api/ingest/invoice.ts";
import { TRANSACTIONS } from "../../src/api/ingest/transaction.ts";

const MEGABYTE = 1_000_000;
/** Just under what is refused as a heap. */
const VALUES = 19_000;
const INVOICE =
  '{"id":"inv_1","state":"INVOICE_STATE_UNPAID","customerId":"c","amount":100,"currency":"EUR","createdAt":"2026-01-15T10:00:00Z"}';
const ATTEMPT =
  '{"id":"tx_1","state":"TRANSACTION_STATE_PAID","invoiceId":"i","amount":100,"currency":"EUR","createdAt":"2026-01-15T10:00:00Z"}';

const fill = (unit: string, bytes = MEGABYTE) => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
const list = (unit: (index: number) => string, count = VALUES) =>
  Array.from({ length: count }, (_, i) => unit(i)).join();
const text = (unit: string) => `{"invoices":[${INVOICE}],"x":"${fill(unit)}"}`;
const array = (unit: string, count?: number) => `{"invoices":[${INVOICE}],"x":[${list(() => unit, count)}]}`;
const object = (unit: (index: number) => string, space = "") => `{"invoices":[${INVOICE}],"x":${space}{${list(unit)}}}`;
const records = (record: string, field: (index: number) => string, name = "invoices") =>
  `{"${name}":[${list((index) => `${record.slice(0, -1)},${field(index)}}`, 200)}]}`;
const instead = (value: string, other: string) => `{"invoices":[${INVOICE.replace(value, other)}]}`;

/** Bodies that were found to take long, or that should. */
const BODIES: Record<string, string> = {
  "single digits and spaces": text("4 "),
  "single digits and hyphens": text("4-"),
  "single digits, no ASCII": text("4\u00a0"),
  "digits, three spaces": text("4   "),
  "groups of digits": text("60 6 606 0 "),
  "digits without an end": text("4"),
  "twelve digits and a letter": text("444444444444x"),
  "twelve groups and a letter": text("4 4 4 4 4 4 4 4 4 4 4 4 x"),
  "twenty digits and a letter": text("44444444444444444444x"),
  UUIDs: text("41111111-1111-1111-8abc-0123456789ab "),
  "almost UUIDs": text("a1111111-1111-1111-8abc-0123456789a"),
  hexadecimal: text("abcdefab"),
  escapes: text("\\u0041"),
  backslashes: text("\\\\"),
  quotes: text('\\"'),
  "lone surrogates": text("\\ud83d"),
  emoji: text("😀"),
  "many numbers of 13 digits": array("4444444444444"),
  "many numbers of 17 digits": array("11111111111111111"),
  "many numbers that change": array("1.0"),
  "many numbers of 1e99": array("1e99"),
  "many short texts": array('"4 4 4 4 4 4 4"'),
  "many objects": array("{}", VALUES / 2),
  "many arrays": array("[ ]", VALUES / 2),
  "many small objects": array('{"a":1,"b":2}', VALUES / 3),
  "28 levels, many times": array("[".repeat(28) + "]".repeat(28), VALUES / 30),
  "28 levels of objects": array(`${'{"a":'.repeat(28)}1${"}".repeat(28)}`, VALUES / 30),
  "many keys": object((index) => `"k${index}":1`),
  "many keys, spaced": object((index) => `"k${index}":1`, " "),
  "many escaped keys": object((index) => `"\\u006b${index}":1`),
  "many long keys": object((index) => `"${"k".repeat(14)}${index}":1`),
  "many keys of numbers": object((index) => `"${(index * 40_503) % 4_294_967_291}":1`, " "),
  "a key twice in the end": object((index) => `"k${index === VALUES - 1 ? 0 : index}":1`),
  "as many levels as are not counted": `{"invoices":${"[".repeat(19_000)}${"]".repeat(19_000)}}`,
  "as many levels of objects": `{"invoices":${'{"":'.repeat(9_000)}1${"}".repeat(9_000)}}`,
  "a heap": `{"invoices":[${fill("{},")}{}]}`,
  "a heap of levels": fill("["),
  "unclosed brackets": "[".repeat(99_000),
  "200 records with a text": records(INVOICE, () => `"x":"${fill("4 ", 4_800)}"`),
  "200 records with many fields": records(INVOICE, () => list((index) => `"u${index}": 1`, 90)),
  "200 messages of digits": records(
    ATTEMPT,
    () => `"paymentGatewayErrorMessage":"${fill("4 ", 4_000)}"`,
    "transactions",
  ),
  "a long id": instead("inv_1", fill("x")),
  "a long moment": instead("00Z", `00.${fill("1")}Z`),
  "a long currency": instead("EUR", fill("A")),
  "a long amount": instead("100", fill("1")),
  "a long fraction": instead("100", `0.${fill("0")}`),
  "a number without an end": fill("9"),
  "white space": `${instead("", "")}${fill(" ")}`,
};

export interface BodyTime {
  name: string;
  bytes: number;
  /** CPU of the event loop for reading and checking it, in the best of the rounds: what else runs here makes it longer. */
  ms: number;
}

/** What each of the worst bodies takes at best, the slowest first. */
export function slowestBodies(roundCount = 6): BodyTime[] {
  const times = Object.entries(BODIES).map(([name, body]) => {
    const bytes = Buffer.from(body);
    const kind = body.includes('"transactions"') ? TRANSACTIONS : INVOICES;
    const rounds = Array.from({ length: roundCount }, () => {
      const began = process.threadCpuUsage();
      try {
        readBatch<unknown>(kind, bytes);
      } catch {
        // It was refused, which takes its time as well.
      }
      const { user, system } = process.threadCpuUsage(began);
      return (user + system) / 1000;
    });
    return { name, bytes: bytes.length, ms: Math.min(...rounds) };
  });
  return times.sort((a, b) => b.ms - a.ms);
}
