import assert from "node:assert/strict";
import { test } from "node:test";
import { callerRequestId } from "./request-id.ts";

const idOf = (header: string | undefined) =>
  callerRequestId({ headers: header === undefined ? {} : { "x-request-id": header } });

test("a valid request id of the caller is kept", () => {
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

test("an invalid request id is ignored", () => {
  for (const id of [undefined, "", "x".repeat(129), "a b", "a,b", "é", "a\tb", "<script>", "a/b", "a;b", "a\u0000"])
    assert.equal(idOf(id), null, String(id));
});

test("a request id that looks like Dunlin's, an API key or a card number is ignored", () => {
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
