import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCsvFormat } from "../domain/csv-format.ts";
import { BAD_QUOTE_MESSAGE } from "../domain/csv-input.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { TRANSACTION_STATES } from "../domain/transaction.ts";
import { HISTORY_FIELDS } from "./attempt-versions.ts";
import { parseHistory } from "./parse-history.ts";

test("columns with other names, date formats and decimals are read when options describe them", () => {
  const text = [
    "Number;When;Outcome;Refusal;Sum;Currency",
    "in_1;05.01.2026 09:00;Failed;51;1.234,50;eur",
    "in_2;06.01.2026;Paid;;1.200;JPY",
    "in_3;07.01.2026;paid;;1,5;KWD",
  ].join("\n");
  const options = { map: "invoiceId=Number,createdAt=When,state=Outcome,amount=Sum", dates: "dmy", decimals: "comma" };
  const { attempts, problems, passedOver } = parseHistory(
    text,
    parseCsvFormat(options, HISTORY_FIELDS, TRANSACTION_STATES),
  );
  assert.deepEqual([problems, passedOver], [[], ["Refusal"]]);
  assert.deepEqual(
    attempts.map(({ at, amount, currency, approved }) => [at.toISOString(), amount, currency, approved]),
    [
      ["2026-01-05T09:00:00.000Z", 123450, "EUR", false],
      ["2026-01-06T00:00:00.000Z", 1200, "JPY", true],
      ["2026-01-07T00:00:00.000Z", 1500, "KWD", true],
    ],
  );
});

test("the newer version of an attempt is determined in the configured date format", () => {
  const text = [
    "id,invoiceId,createdAt,state,amount,currency,updatedAt",
    "a,in_1,05.01.2026,PAID,4900,EUR,01.04.2026",
    "a,in_1,05.01.2026,FAILED,4900,EUR,02.03.2026",
  ].join("\n");
  const { attempts, repeated } = parseHistory(
    text,
    parseCsvFormat({ dates: "dmy" }, HISTORY_FIELDS, TRANSACTION_STATES),
  );
  assert.deepEqual([attempts.map(({ approved }) => approved), repeated], [[true], 1]);
});

test("a word for a state has the meaning that the options give it, even if it has another by default", () => {
  const row = (invoice: string, state: string) => `${invoice},2026-01-05,${state},4900,EUR`;
  const words = [
    "Authorised",
    "AUTHORISED ",
    "no funds",
    "TRANSACTION_STATE_ERROR", // the prefix is accepted too
    "Error",
    "Paid",
    "已支付",
    "未支付",
  ];
  const text = ["invoiceId,createdAt,status,amount,currency", ...words.map((word, n) => row(`in_${n}`, word))];
  const states = "authorised=Paid,No-Funds=failed, Error=VOIDED,已支付=PAID,未支付=TRANSACTION_STATE_FAILED";
  const csvFormat = parseCsvFormat({ states: `${states},Autorised=PAID` }, HISTORY_FIELDS, TRANSACTION_STATES);
  const { attempts, problems, unmet } = parseHistory(text.join("\n"), csvFormat);
  assert.deepEqual([problems, unmet], [[], ["AUTORISED"]]);
  assert.deepEqual(
    attempts.map(({ invoiceId, approved }) => [invoiceId, approved]),
    [
      ["in_0", true],
      ["in_1", true],
      ["in_2", false],
      ["in_5", true],
      ["in_6", true],
      ["in_7", false],
    ],
  );
});

test("each unknown word for a state is reported once in any spelling, and card numbers are not shown", () => {
  const words = ["Authorised", "authorised", "TRANSACTION_STATE_AUTHORISED", "4242 4242 4242 4242", "4242424242424242"];
  const row = (state: string, n: number) => `in_${n},2026-01-05,${state},4900,EUR`;
  const rows = [...words, ...Array.from({ length: 100 }, () => "Paid")].map(row);
  const { problems } = parseHistory(["invoiceId,createdAt,state,amount,currency", ...rows].join("\n"));
  assert.deepEqual(
    problems.map((problem) => problem.replace(/is unknown: .* \(/, "… (")),
    ['state "Authorised" … (3 records, the first in line 2)', "state … (2 records, the first in line 5)"],
  );
});

test("a malformed CSV is refused with the line, without repeating its content", () => {
  const heading = "invoiceId,createdAt,state,amount,currency,note";
  const row = "in_1,2026-01-05,PAID,4900,EUR,";
  for (const [torn, line] of [
    [`${row}4242424242424242"x`, 4],
    [`${row}"never ends 4242424242424242`, 4],
  ] as const)
    assert.throws(
      () => parseHistory([heading, `${row}"two\nlines"`, torn, row].join("\n")),
      (error: Error) => error instanceof FileRefusedError && error.message === `line ${line}: ${BAD_QUOTE_MESSAGE}`,
    );
});

test("options for CSV are refused for JSON", () => {
  for (const options of [{ decimals: "point" }, { dates: "dmy" }, { map: "amount=sum" }, { states: "OK=PAID" }])
    assert.throws(
      () => parseHistory('{"amount": 12}', parseCsvFormat(options, HISTORY_FIELDS, TRANSACTION_STATES)),
      /^Error: --map, --states, --dates and --decimals are for CSV/,
    );
});

test("an explicitly mapped column takes precedence over its synonyms", () => {
  const heading = "invoiceId,createdAt,charged,state,result,amount,currency,id,no,paymentMethodId,print";
  const row = (n: number) => `in_${n},2025-01-05,2026-01-05,PAID,FAILED,4900,EUR,a_${n},same,pm_${n},`;
  const rows = Array.from({ length: 40 }, (_, n) => row(n));
  const empty = "in_41,2025-01-05,,PAID,FAILED,4900,EUR,a,b,,";
  const map = "attemptedAt=charged,status=result,transactionId=no,cardFingerprint=print";
  const csvFormat = parseCsvFormat({ map }, HISTORY_FIELDS, TRANSACTION_STATES);
  const { attempts, problems, passedOver } = parseHistory([heading, ...rows, empty].join("\n"), csvFormat);
  assert.deepEqual(
    attempts.slice(0, 2).map((each) => [each.at.toISOString().slice(0, 10), each.approved, each.cardFingerprint]),
    [
      ["2026-01-05", false, "pm_0"],
      ["2026-01-05", false, "pm_1"],
    ],
  );
  assert.deepEqual(problems, ["createdAt is missing (line 42)"]);
  assert.deepEqual(passedOver, ["createdAt", "state", "id"]);
});

test("an amount with the sign of its currency is read, and so is a first line that tells Excel the delimiter", () => {
  const rows = Array.from({ length: 40 }, (_, n) => `in_${n};2026-01-05;PAID;1.249,00 €;EUR`);
  const text = ["sep=;", "invoiceId;createdAt;state;amount;currency", ...rows, "in_x;2026-01-05;PAID;49,00 $;EUR"];
  const { attempts, problems } = parseHistory(
    text.join("\r\n"),
    parseCsvFormat({ decimals: "comma" }, HISTORY_FIELDS, []),
  );
  assert.deepEqual([attempts.length, attempts[0]!.amount], [40, 124900]);
  assert.deepEqual(problems, ['amount "49,00 $" has the sign $, but its currency is EUR (line 43)']);
});

test("an error explains that a year has only two digits", () => {
  const row = (when: string) => `in_1,${when},PAID,4900,EUR`;
  const rows = Array.from({ length: 40 }, (_, n) => row(`${(n % 28) + 1}.01.2026`));
  const text = ["invoiceId,createdAt,state,amount,currency", ...rows, row("25.11.26")].join("\n");
  const { problems } = parseHistory(text, parseCsvFormat({ dates: "dmy" }, HISTORY_FIELDS, []));
  assert.match(problems[0]!, /^createdAt "25\.11\.26" has a two-digit year, .*31\.01\.2026.*--dates dmy/);
});

test("an error in JSON names no option for CSV", () => {
  const record = { invoiceId: "in_1", createdAt: "2026-01-05", state: "PAID", amount: 4900, currency: "EUR" };
  const problems = (more: object) => {
    const text = [...Array(40).fill(record), { ...record, ...more }].map((each) => JSON.stringify(each)).join("\n");
    return parseHistory(text).problems;
  };
  const line = " (line 41)";
  assert.deepEqual(problems({ state: "Authorised" }), [
    `state "Authorised" is unknown: write PAID, FAILED, or PENDING for neither${line}`,
  ]);
  assert.deepEqual(problems({ amount: "49.00" }), [
    `amount "49.00" must be a whole number of minor units from 0, such as 4900 for EUR 49.00${line}`,
  ]);
  assert.match(
    problems({ createdAt: "05.01.2026" })[0]!,
    /^createdAt "05\.01\.2026" .*, or a day such as 2026-01-31 \(/,
  );
});
