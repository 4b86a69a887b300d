import assert from "node:assert/strict";
import { test } from "node:test";
import { momentIn } from "../../domain/moment.ts";
import { USUAL_LENGTH, usualMomentIn } from "./usual-moment.ts";

const usual = (text: string) => {
  const bytes = Buffer.from(`"${text}"`, "latin1");
  return usualMomentIn(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 1);
};
const general = (text: string) => momentIn(Buffer.from(text, "latin1"), 0, text.length);
const MOMENTS = [
  ...["2026-01-15T10:20:30.123Z", "2024-02-29T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "2199-12-31T23:59:59.999Z"],
  ...["2026-11-15T00:00:00.000Z", "2026-11-25T09:08:07.006Z", "2023-02-29T12:00:00.000Z", "1969-12-31T23:59:59.999Z"],
];
const ASCII = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code));

test("before any day came, none is known, not even one of nothing but zero bytes", () => {
  assert.ok(Number.isNaN(usual(`${"\0".repeat(10)}T12:00:00.000Z`)));
});

test("a moment as JavaScript writes it is read as any moment, whatever days came before, and so is what differs from it in any byte", () => {
  for (const moment of MOMENTS) {
    assert.equal(moment.length, USUAL_LENGTH);
    for (let place = 0; place < moment.length; place++)
      for (const character of ASCII) {
        const text = moment.slice(0, place) + character + moment.slice(place + 1);
        usual(moment); // its day is known now
        assert.equal(usual(text), general(text), text);
        assert.equal(usual(text), general(text), `${text} again`);
      }
  }
});

test("a day is told from those that end in the same digit and differ in year, month or tens", () => {
  const days = ["2026-01-05", "2026-01-15", "2026-01-25", "2026-03-05", "2025-01-05", "2026-11-05"];
  for (const day of [...days, ...days.toReversed(), ...days])
    assert.equal(usual(`${day}T01:02:03.004Z`), Date.parse(`${day}T01:02:03.004Z`));
});
