import assert from "node:assert/strict";
import { test } from "node:test";
import { readingOf } from "../domain/reading.ts";
import { readHistory } from "./attempts.ts";
import { FIELDS } from "./copies.ts";

test("columns of other names, dates of other forms and amounts with decimals are read once somebody says how", () => {
  const text = [
    "Number;When;Outcome;Sum;Currency",
    "in_1;05.01.2026 09:00;Failed;1.234,50;eur",
    "in_2;06.01.2026;Paid;1.200;JPY",
    "in_3;07.01.2026;paid;1,5;KWD",
  ].join("\n");
  const said = { map: "invoiceId=Number,createdAt=When,state=Outcome,amount=Sum", dates: "dmy", decimals: "comma" };
  const { attempts, problems } = readHistory(text, readingOf(said, FIELDS));
  assert.deepEqual(problems, []);
  assert.deepEqual(
    attempts.map(({ at, amount, currency, approved }) => [at.toISOString(), amount, currency, approved]),
    [
      ["2026-01-05T09:00:00.000Z", 123450, "EUR", false],
      ["2026-01-06T00:00:00.000Z", 1200, "JPY", true],
      ["2026-01-07T00:00:00.000Z", 1500, "KWD", true],
    ],
  );
});

test("which copy of an attempt is the newer one is read in the order that somebody said, too", () => {
  const text = [
    "id,invoiceId,createdAt,state,amount,currency,updatedAt",
    "a,in_1,05.01.2026,PAID,4900,EUR,01.04.2026",
    "a,in_1,05.01.2026,FAILED,4900,EUR,02.03.2026",
  ].join("\n");
  const { attempts, repeated } = readHistory(text, readingOf({ dates: "dmy" }, FIELDS));
  assert.deepEqual([attempts.map(({ approved }) => approved), repeated], [[true], 1]);
});

test("of JSON nothing is said but what it says itself", () => {
  for (const said of [{ decimals: "point" }, { dates: "dmy" }, { map: "amount=sum" }])
    assert.throws(
      () => readHistory('{"amount": 12}', readingOf(said, FIELDS)),
      /^Error: --map, --dates and --decimals are for CSV/,
    );
});

test("the column that somebody named goes before those of fields that say the same, and these are not read instead", () => {
  const heading = "invoiceId,createdAt,charged,state,result,amount,currency,id,no,paymentMethodId,print";
  const row = (n: number) => `in_${n},2025-01-05,2026-01-05,PAID,FAILED,4900,EUR,a_${n},same,pm_${n},`;
  const rows = Array.from({ length: 40 }, (_, n) => row(n));
  const empty = "in_41,2025-01-05,,PAID,FAILED,4900,EUR,a,b,,";
  const map = "attemptedAt=charged,status=result,transactionId=no,cardFingerprint=print";
  const { attempts, problems } = readHistory([heading, ...rows, empty].join("\n"), readingOf({ map }, FIELDS));
  assert.deepEqual(
    attempts.slice(0, 2).map((each) => [each.at.toISOString().slice(0, 10), each.approved, each.cardFingerprint]),
    [
      ["2026-01-05", false, "pm_0"],
      ["2026-01-05", false, "pm_1"],
    ],
  );
  assert.deepEqual(problems, ["createdAt is missing (line 42)"]);
});
