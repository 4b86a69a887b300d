import assert from "node:assert/strict";
import { test } from "node:test";
import { type CsvError, parse } from "csv-parse/sync";
import { array, assert as check, constantFrom, integer, property } from "fast-check";
import {
  COLUMNS_MAX,
  createCsvOptions,
  createEmptyRowFilter,
  detectDelimiter,
  guessDelimiter,
  hasColumns,
} from "./csv-input.ts";

const isName = (name: string) => ["id", "state", "total; in cents", "amount"].includes(name);

test("the delimiter is the one that occurs most often in the header, and a comma by default", () => {
  const texts = {
    ",": ["x,y\n1;2;3", "x", "", '"a;b;c",d', "\ufeff\r\nx,y"],
    ";": ["x;y\r\n1,2,3,4", '\ufeff"x";"total, in cents, of all";"y"', "\n\na;b", 'a;b;"no end, of, this'],
    "\t": ["x\ty\n", 'x\t"a,b,c"\ty'],
  };
  for (const [sign, beginnings] of Object.entries(texts))
    for (const text of beginnings) assert.equal(guessDelimiter(text, isName), sign, JSON.stringify(text));
});

test("a delimiter that yields more known names wins over one that occurs more often", () => {
  assert.equal(guessDelimiter("id,notes;a;b;c,state\n", isName), ",");
  assert.equal(guessDelimiter("id;notes, a, b, c, d;state\n", isName), ";");
  assert.equal(guessDelimiter('id,"total; in cents"\n', isName), ",");
  assert.equal(
    guessDelimiter("x; total,note, a,b;total ;y\n", (name) => name === "total"),
    ";",
  );
});

test("a first line with `sep=` sets the delimiter", () => {
  for (const [text, delimiter, begin] of [
    ["sep=;\r\nid,state;amount", ";", "\r\nid,state;amount"],
    ["\ufeff\nSEP=|\nid|state", "|", "\nid|state"],
    ["sep=,,,\rid,state", ",", "\rid,state"],
    ['"sep=\t"\nid\tstate', "\t", "\nid\tstate"],
    ["sep=x;id\n1;2", ";", "sep=x;id\n1;2"],
    ["sep;id\n1;2", ";", "sep;id\n1;2"],
  ] as const)
    assert.deepEqual(detectDelimiter(text, isName), { delimiter, begin }, JSON.stringify(text));
});

test("a quoted name may contain delimiters and line breaks", () => {
  assert.equal(guessDelimiter('"total\nin, cents, or less";id;state\n1,2,3,4,5', isName), ";");
  assert.equal(guessDelimiter('"a ""quoted, name,"" of all";id', isName), ";");
});

test("a row matches its header if additional cells are empty", () => {
  const heading = ["id", "state"];
  assert.ok(hasColumns(["1", ""], heading));
  assert.ok(hasColumns(["1", "PAID", "", ""], heading));
  assert.ok(!hasColumns(["1"], heading));
  assert.ok(!hasColumns(["1", "PAID", "", "x"], heading));
});

test("the line of a row ignores empty rows before it and counts a quoted line break once", () => {
  const { options, begins } = createCsvOptions(",");
  assert.deepEqual(parse('id\r\n\r\n"a\r\nb"\r\nc\r\n', options), [["id"], ["a\r\nb"], ["c"]]);
  assert.deepEqual(begins, [1, 3, 5]);
});

test("an error has the line after the rows that were read, or the line of the parser", () => {
  const tornIn = (text: string) => {
    const { options, tornAt } = createCsvOptions(",");
    try {
      parse(text, options);
    } catch (error) {
      return tornAt(error as CsvError);
    }
    return null;
  };
  assert.equal(tornIn('id\r\n"a\r\nb"\r\n"no end\r\nof it'), 4);
  assert.equal(tornIn('id\na\nJoe "Doe"\nb'), 3);
  assert.equal(tornIn("id\na"), null);
});

test("removing empty rows keeps all other rows and their line numbers for any piece size", () => {
  const rowsOf = (text: string) => {
    const { options, begins } = createCsvOptions(",");
    try {
      return parse(text, options).map((cells, n) => [begins[n], ...cells]);
    } catch (error) {
      return (error as CsvError).code;
    }
  };
  const signs = constantFrom(",", ",,", "\n", "\r\n", "\r", '"', '""', '"",', " ", "\t", "a", "ü");
  check(
    property(array(signs, { maxLength: 30 }), integer({ min: 1, max: 40 }), (written, size) => {
      const text = written.join("");
      const filter = createEmptyRowFilter(",");
      let filtered = "";
      for (let at = 0; at < text.length; at += size) filtered += filter(text.slice(at, at + size));
      filtered += filter("", true);
      assert.deepEqual(rowsOf(filtered), rowsOf(text), JSON.stringify([text, filtered]));
    }),
    { numRuns: 2_000 },
  );
});

test("a row with too many columns and a file with too many empty rows are refused with the line", () => {
  const filter = (text: string) => createEmptyRowFilter(",")(text, true);
  assert.equal(filter(`a\n\n${"b,".repeat(COLUMNS_MAX - 1)}\n`).split(",").length, COLUMNS_MAX);
  assert.throws(() => filter(`a\n"\n",\n${",".repeat(COLUMNS_MAX)}`), {
    message: "line 4: it has more than 1,000 columns; check the separators of columns and lines in the file",
  });
  assert.equal(filter('a\n,,\n"",\n').trim(), "a");
  assert.throws(
    () => filter(`a\n${",\n".repeat(1_048_577)}`),
    /^Error: line 1048578: more than 1,048,576 consecutive empty rows/,
  );
});
