import assert from "node:assert/strict";
import { test } from "node:test";
import { callerRequestId } from "./request-id.ts";

const idOf = (given: string | undefined) =>
  callerRequestId({ headers: given === undefined ? {} : { "x-request-id": given } });

test("an id of the caller's is kept as it is", () => {
  for (const id of [
    "a",
    "checkout-7f3a",
    "0198f0de-0000-7000-8000-000000000000",
    "A.b_c:1",
    "x".repeat(128),
    "1234567890123456",
  ])
    assert.equal(idOf(id), id);
});

test("what is no sane id is passed over", () => {
  for (const id of [undefined, "", "x".repeat(129), "a b", "a,b", "é", "a\tb", "<script>", "a/b", "a;b", "a\u0000"])
    assert.equal(idOf(id), null, String(id));
});

test("what looks like ours, like a key or like a card number is passed over", () => {
  for (const id of [
    "req_019bc082-4f5a-7d31-9c64-2b1f0a6e8d57",
    "REQ_1",
    "dln_live_abc",
    "key:dln_live_abc",
    "4111111111111111",
    "order-4111-1111-1111-1111",
    "4111.1111.1111.1111",
    "4111_1111_1111_1111",
  ])
    assert.equal(idOf(id), null, id);
});
