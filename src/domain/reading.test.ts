import assert from "node:assert/strict";
import { test } from "node:test";
import { headerOf, isRead, listedColumns, PLAIN, readingOf } from "./reading.ts";

const STATES = ["PAID", "FAILED"];
const FIELDS = new Set(["id", "invoiceId", "amount"]);

test("a column holds the field of its own name in any spelling, unless another one is said to hold it", () => {
  const names = ["ID", "Invoice ID", "Total", "amount"];
  const fieldsOf = (map: string) =>
    headerOf(names, FIELDS, readingOf({ map }, FIELDS, STATES)).map(([, field]) => field);
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
  const settled = headerOf(twice, FIELDS, readingOf({ map: "invoiceId=invoice_id" }, FIELDS, STATES));
  assert.deepEqual(settled, [
    ["Invoice ID", undefined],
    ["invoice_id", "invoiceId"],
  ]);
  assert.throws(() => headerOf(["amount", "amount"], FIELDS, PLAIN), /two columns amount, .*: rename the other$/);
});

test("what is said of a file is refused where it means nothing", () => {
  assert.throws(
    () => readingOf({ map: "total=x" }, FIELDS, STATES),
    /--map names total, which is no field\. Fields: id invoiceId amount$/,
  );
  assert.throws(
    () => readingOf({ map: "=x" }, FIELDS, STATES),
    /FIELD=COLUMN .*not "=x"\. Fields: id invoiceId amount$/,
  );
  assert.throws(() => readingOf({ map: "id" }, FIELDS, STATES), /FIELD=COLUMN/);
  assert.throws(() => readingOf({ dates: "german" }, FIELDS, STATES), /^Error: --dates takes one of ymd, dmy, mdy$/);
  assert.throws(() => readingOf({ decimals: "," }, FIELDS, STATES), /--decimals takes one of point, comma$/);
  assert.throws(() => readingOf({ dates: "" }, FIELDS, STATES), /--dates takes one of/);
  assert.throws(() => readingOf({ decimals: "" }, FIELDS, STATES), /--decimals takes one of/);
  assert.deepEqual(readingOf({ map: "" }, FIELDS, STATES), PLAIN);
  const mapped = readingOf({ map: "id=No" }, FIELDS, STATES);
  assert.throws(() => headerOf(["id", ""], FIELDS, mapped), /the file has no column No; it has: id$/);
  assert.throws(
    () => readingOf({ map: "id=a,amount=b,id=c" }, FIELDS, STATES),
    /--map says twice which column holds id$/,
  );
  assert.throws(() => readingOf({ map: "id=a,invoiceId=a" }, FIELDS, STATES), /the column a that it holds two fields$/);
  assert.deepEqual(["No", "Invoice ID", "note"].map(isRead(FIELDS, mapped)), [true, true, false]);
});

test("what words for a state mean is refused where it means nothing, and names the states there are", () => {
  const of = (states: string) => readingOf({ states }, FIELDS, STATES);
  assert.deepEqual(of(""), PLAIN);
  assert.deepEqual(
    [...of("Authorised=Paid, INVOICE_STATE_not ok=TRANSACTION_STATE_FAILED").states],
    [
      ["AUTHORISED", "PAID"],
      ["NOT_OK", "FAILED"],
    ],
  );
  for (const said of ["Authorised", "=PAID", "Authorised=", "Authorised=PAID,"])
    assert.throws(
      () => of(said),
      /^Error: --states takes WORD=STATE with commas between them, not ".*"\. States: PAID FAILED$/,
    );
  assert.throws(() => of("OK=GOOD"), /--states says that OK means GOOD, which is no state\. States: PAID FAILED$/);
  for (const none of ["UNPAID", "X_STATE_PAID"]) assert.throws(() => of(`OK=${none}`), /which is no state/);
  assert.throws(() => of("not ok=FAILED,Not_OK=PAID"), /--states says twice what Not_OK means$/);
});

test("a space behind a comma of a map is no part of a field's name", () => {
  const { columns } = readingOf({ map: "id=No, amount=Total" }, FIELDS, STATES);
  assert.deepEqual(
    [...columns],
    [
      ["id", "No"],
      ["amount", "Total"],
    ],
  );
});

test("of very many columns the first fifty are named, and none that has no name", () => {
  assert.equal(listedColumns(["a", "", "b", ""]), "a, b");
  assert.match(listedColumns(Array.from({ length: 52 }, (_, n) => `c${n}`)), /^c0, .*, c49, and 2 more$/);
});
