import assert from "node:assert/strict";
import { test } from "node:test";
import { createColumnFilter, DEFAULT_CSV_FORMAT, formatColumnList, mapHeader, parseCsvFormat } from "./csv-format.ts";

const STATES = ["PAID", "FAILED"];
const FIELDS = new Set(["id", "invoiceId", "amount"]);

test("a column matches the field with its name in any spelling unless the map names another", () => {
  const names = ["ID", "Invoice ID", "Total", "amount"];
  const fieldsOf = (map: string) =>
    mapHeader(names, FIELDS, parseCsvFormat({ map }, FIELDS, STATES)).map(([, field]) => field);
  assert.deepEqual(fieldsOf(""), ["id", "invoiceId", undefined, "amount"]);
  assert.deepEqual(fieldsOf("amount=Total"), ["id", "invoiceId", "amount", undefined]);
  assert.deepEqual(fieldsOf("invoiceId=Total,id=Invoice ID"), [undefined, "id", "invoiceId", "amount"]);
});

test("an exact field name wins over other spellings, and two other spellings are refused", () => {
  assert.deepEqual(
    mapHeader(["Invoice ID", "invoiceId"], FIELDS, DEFAULT_CSV_FORMAT).map(([, field]) => field),
    [undefined, "invoiceId"],
  );
  const twice = ["Invoice ID", "invoice_id"];
  assert.throws(
    () => mapHeader(twice, FIELDS, DEFAULT_CSV_FORMAT),
    /two columns for invoiceId, "Invoice ID" and "invoice_id": choose one with --map invoiceId=COLUMN$/,
  );
  const settled = mapHeader(twice, FIELDS, parseCsvFormat({ map: "invoiceId=invoice_id" }, FIELDS, STATES));
  assert.deepEqual(settled, [
    ["Invoice ID", undefined],
    ["invoice_id", "invoiceId"],
  ]);
  assert.throws(
    () => mapHeader(["amount", "amount"], FIELDS, DEFAULT_CSV_FORMAT),
    /two columns amount, .*: rename the other$/,
  );
});

test("an option that names an unknown field, column or choice is refused", () => {
  assert.throws(
    () => parseCsvFormat({ map: "total=x" }, FIELDS, STATES),
    /--map names total, which is not a field\. Fields: id invoiceId amount$/,
  );
  assert.throws(
    () => parseCsvFormat({ map: "=x" }, FIELDS, STATES),
    /FIELD=COLUMN, .*not "=x"\. Fields: id invoiceId amount$/,
  );
  assert.throws(() => parseCsvFormat({ map: "id" }, FIELDS, STATES), /FIELD=COLUMN/);
  assert.throws(
    () => parseCsvFormat({ dates: "german" }, FIELDS, STATES),
    /^Error: --dates takes one of ymd, dmy, mdy$/,
  );
  assert.throws(() => parseCsvFormat({ decimals: "," }, FIELDS, STATES), /--decimals takes one of point, comma$/);
  assert.throws(() => parseCsvFormat({ dates: "" }, FIELDS, STATES), /--dates takes one of/);
  assert.throws(() => parseCsvFormat({ decimals: "" }, FIELDS, STATES), /--decimals takes one of/);
  assert.deepEqual(parseCsvFormat({ map: "" }, FIELDS, STATES), DEFAULT_CSV_FORMAT);
  const mapped = parseCsvFormat({ map: "id=No" }, FIELDS, STATES);
  assert.throws(() => mapHeader(["id", ""], FIELDS, mapped), /the file has no column No; it has: id$/);
  assert.throws(() => parseCsvFormat({ map: "id=a,amount=b,id=c" }, FIELDS, STATES), /--map names the field id twice$/);
  assert.throws(
    () => parseCsvFormat({ map: "id=a,invoiceId=a" }, FIELDS, STATES),
    /--map uses the column a for two fields$/,
  );
  assert.deepEqual(["No", "Invoice ID", "note"].map(createColumnFilter(FIELDS, mapped)), [true, true, false]);
});

test("a map to an unknown state is refused with the known states", () => {
  const of = (states: string) => parseCsvFormat({ states }, FIELDS, STATES);
  assert.deepEqual(of(""), DEFAULT_CSV_FORMAT);
  assert.deepEqual(
    [...of("Authorised=Paid, INVOICE_STATE_not ok=TRANSACTION_STATE_FAILED").states],
    [
      ["AUTHORISED", "PAID"],
      ["NOT_OK", "FAILED"],
    ],
  );
  for (const malformed of ["Authorised", "=PAID", "Authorised=", "Authorised=PAID,"])
    assert.throws(
      () => of(malformed),
      /^Error: --states takes WORD=STATE, separated by commas, not ".*"\. States: PAID FAILED$/,
    );
  assert.throws(() => of("OK=GOOD"), /--states maps OK to GOOD, which is not a state\. States: PAID FAILED$/);
  for (const none of ["UNPAID", "X_STATE_PAID"]) assert.throws(() => of(`OK=${none}`), /which is not a state/);
  assert.throws(() => of("not ok=FAILED,Not_OK=PAID"), /--states maps Not_OK twice$/);
});

test("a space after a comma is not part of a field name", () => {
  const { columns } = parseCsvFormat({ map: "id=No, amount=Total" }, FIELDS, STATES);
  assert.deepEqual(
    [...columns],
    [
      ["id", "No"],
      ["amount", "Total"],
    ],
  );
});

test("at most fifty columns are listed, and none without a name", () => {
  assert.equal(formatColumnList(["a", "", "b", ""]), "a, b");
  assert.match(formatColumnList(Array.from({ length: 52 }, (_, n) => `c${n}`)), /^c0, .*, c49, and 2 more$/);
});
