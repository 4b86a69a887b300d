import assert from "node:assert/strict";
import { test } from "node:test";
import { headerOf, isRead, listed, PLAIN, readingOf } from "./reading.ts";

const FIELDS = new Set(["id", "invoiceId", "amount"]);

test("a column holds the field of its own name in any spelling, unless another one is said to hold it", () => {
  const names = ["ID", "Invoice ID", "Total", "amount"];
  const fieldsOf = (map: string) => headerOf(names, FIELDS, readingOf({ map }, FIELDS)).map(([, field]) => field);
  assert.deepEqual(fieldsOf(""), ["id", "invoiceId", undefined, "amount"]);
  assert.deepEqual(fieldsOf("amount=Total"), ["id", "invoiceId", "amount", undefined]);
  assert.deepEqual(fieldsOf("invoiceId=Total,id=Invoice ID"), [undefined, "id", "invoiceId", "amount"]);
});

test("the exact name of a field goes before other spellings, and of two other spellings nobody knows which is meant", () => {
  assert.deepEqual(
    headerOf(["Invoice ID", "invoiceId"], FIELDS, PLAIN).map(([, field]) => field),
    [undefined, "invoiceId"],
  );
  const twice = ["Invoice ID", "invoice_id"];
  assert.throws(
    () => headerOf(twice, FIELDS, PLAIN),
    /two columns of invoiceId, "Invoice ID" and "invoice_id": --map invoiceId=COLUMN says which one holds it$/,
  );
  const settled = headerOf(twice, FIELDS, readingOf({ map: "invoiceId=invoice_id" }, FIELDS));
  assert.deepEqual(settled, [
    ["Invoice ID", undefined],
    ["invoice_id", "invoiceId"],
  ]);
  assert.throws(() => headerOf(["amount", "amount"], FIELDS, PLAIN), /two columns amount, .*: rename the other$/);
});

test("what is said of a file is refused where it means nothing", () => {
  assert.throws(
    () => readingOf({ map: "total=x" }, FIELDS),
    /--map names total, which is no field\. Fields: id invoiceId amount$/,
  );
  assert.throws(() => readingOf({ map: "=x" }, FIELDS), /FIELD=COLUMN .*not "=x"\. Fields: id invoiceId amount$/);
  assert.throws(() => readingOf({ map: "id" }, FIELDS), /FIELD=COLUMN/);
  assert.throws(() => readingOf({ dates: "german" }, FIELDS), /^Error: --dates takes one of ymd, dmy, mdy$/);
  assert.throws(() => readingOf({ decimals: "," }, FIELDS), /--decimals takes one of point, comma$/);
  assert.throws(() => readingOf({ dates: "" }, FIELDS), /--dates takes one of/);
  assert.throws(() => readingOf({ decimals: "" }, FIELDS), /--decimals takes one of/);
  assert.deepEqual(readingOf({ map: "" }, FIELDS), PLAIN);
  const mapped = readingOf({ map: "id=No" }, FIELDS);
  assert.throws(() => headerOf(["id", ""], FIELDS, mapped), /the file has no column No; it has: id$/);
  assert.throws(() => readingOf({ map: "id=a,amount=b,id=c" }, FIELDS), /--map says twice which column holds id$/);
  assert.throws(() => readingOf({ map: "id=a,invoiceId=a" }, FIELDS), /the column a that it holds two fields$/);
  assert.deepEqual(["No", "Invoice ID", "note"].map(isRead(FIELDS, mapped)), [true, true, false]);
});

test("a space behind a comma of a map is no part of a field's name", () => {
  const { columns } = readingOf({ map: "id=No, amount=Total" }, FIELDS);
  assert.deepEqual(
    [...columns],
    [
      ["id", "No"],
      ["amount", "Total"],
    ],
  );
});

test("of very many columns the first fifty are named, and none that has no name", () => {
  assert.equal(listed(["a", "", "b", ""]), "a, b");
  assert.match(listed(Array.from({ length: 52 }, (_, n) => `c${n}`)), /^c0, .*, c49, and 2 more$/);
});
