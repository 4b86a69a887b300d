import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { verifyWebhookSignature } from "./webhook-signature.ts";

// The official test vector of Standard Webhooks.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY = '{"test": 2432232314}';
const VALID_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const OTHER_SIGNATURE = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
const TIME = "1614265330";
const NOW = new Date(1_614_265_330_000);
const HEADERS = { "webhook-id": ID, "webhook-timestamp": TIME, "webhook-signature": VALID_SIGNATURE };

const verify = (
  headers: Record<string, string | string[] | undefined> = {},
  body: string | Uint8Array = BODY,
  now = NOW,
) => verifyWebhookSignature({ secrets: SECRET, headers: { ...HEADERS, ...headers }, body, now });
const otherSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

test("the official test vector is valid as text and as bytes, from an object and from Headers", () => {
  assert.equal(verify(), null);
  assert.equal(verify({}, Buffer.from(BODY)), null);
  assert.equal(verify({}, new TextEncoder().encode(BODY)), null);
  assert.equal(verifyWebhookSignature({ secrets: SECRET, headers: new Headers(HEADERS), body: BODY, now: NOW }), null);
  const lists = Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name, [value]]));
  assert.equal(verify(lists), null);
});

test("one valid signature among others of any version is enough", () => {
  for (const all of [
    [OTHER_SIGNATURE, VALID_SIGNATURE],
    [VALID_SIGNATURE, OTHER_SIGNATURE],
    [OTHER_SIGNATURE, "v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=", VALID_SIGNATURE, OTHER_SIGNATURE],
    ["v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==", VALID_SIGNATURE],
  ])
    assert.equal(verify({ "webhook-signature": all.join(" ") }), null);
});

test("a missing, empty, duplicate or malformed header is refused", () => {
  for (const name of Object.keys(HEADERS))
    for (const value of [undefined, "", [], [HEADERS["webhook-id"], HEADERS["webhook-id"]], `${ID}, ${ID}`])
      assert.match(verify({ [name]: value }) ?? "", /must/, `${name} ${value}`);
  for (const timestamp of [
    "hello",
    "1614265330.5",
    "-1614265330",
    " 1614265330",
    "1e9",
    "0x60375272",
    "1614265330000",
    "９",
  ])
    assert.notEqual(verify({ "webhook-timestamp": timestamp }), null, timestamp);
  const joined = new Headers(HEADERS);
  joined.append("webhook-signature", VALID_SIGNATURE);
  assert.notEqual(verifyWebhookSignature({ secrets: SECRET, headers: joined, body: BODY, now: NOW }), null);
});

test("a wrong, truncated, empty or differently labeled signature is refused", () => {
  const wrong = [
    OTHER_SIGNATURE,
    "v1,",
    "v1",
    ",",
    VALID_SIGNATURE.slice(0, 8),
    VALID_SIGNATURE.slice(0, -4),
    VALID_SIGNATURE.slice(3),
    VALID_SIGNATURE.replace("v1,", "v2,"),
    VALID_SIGNATURE.replace("v1,", "v1a,"),
    VALID_SIGNATURE.replace("v1,", "V1,"),
    "v1,dawfeoifkpqwoekfpqoekf",
    `v1,${"A".repeat(43)}=`,
    [...Array<string>(16).fill(OTHER_SIGNATURE), VALID_SIGNATURE].join(" "),
  ];
  for (const signature of wrong)
    assert.match(verify({ "webhook-signature": signature }) ?? "", /no signature|must/, signature);
});

test("a changed byte of the id, time or body is refused", () => {
  assert.notEqual(verify({ "webhook-id": `${ID}x` }), null);
  assert.notEqual(verify({ "webhook-timestamp": "1614265331" }), null);
  for (const body of ["", `${BODY} `, '{"test":2432232314}', BODY.replace("4", "5")])
    assert.notEqual(verify({}, body), null);
});

test("an attempt is valid for five minutes before and after its time, to the millisecond", () => {
  const at = (offsetMs: number) => verify({}, BODY, new Date(NOW.getTime() + offsetMs));
  assert.deepEqual([-300_000, 300_000].map(at), [null, null]);
  for (const offsetMs of [-300_001, 300_001, 86_400_000]) assert.match(at(offsetMs) ?? "", /too far/);
  const now = new Date(NOW.getTime() + 60_000);
  const short = verifyWebhookSignature({ secrets: SECRET, headers: HEADERS, body: BODY, now, toleranceMs: 59_999 });
  assert.match(short ?? "", /too far/);
});

test("two secrets are accepted in any order during a rotation, and another secret is refused", () => {
  const two = (secrets: string[]) => verifyWebhookSignature({ secrets, headers: HEADERS, body: BODY, now: NOW });
  assert.equal(two([otherSecret(), SECRET]), null);
  assert.equal(two([SECRET, otherSecret()]), null);
  assert.match(two([otherSecret(), otherSecret()]) ?? "", /no signature/);
});

test("the current time is used when none is given", () => {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = Buffer.from(SECRET.slice(6), "base64");
  const digest = createHmac("sha256", key).update(`${ID}.${timestamp}.${BODY}`).digest("base64");
  const headers = { "webhook-id": ID, "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` };
  assert.equal(verifyWebhookSignature({ secrets: SECRET, headers, body: BODY }), null);
  assert.match(verifyWebhookSignature({ secrets: SECRET, headers: HEADERS, body: BODY }) ?? "", /too far/);
});

test("a missing, empty or short secret is refused when it is set, not when a request arrives", () => {
  for (const secrets of [[], "", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", [SECRET, ""]])
    assert.throws(() => verifyWebhookSignature({ secrets, headers: HEADERS, body: BODY, now: NOW }), TypeError);
});
