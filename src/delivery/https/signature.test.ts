import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createSigner, formatSecret } from "./signature.ts";

const VECTOR_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NOW = new Date(1_614_265_330_000);

/** Computed by Node's HMAC. */
const expected = (secret: string, id: string, seconds: number, body: string) =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`${id}.${seconds}.${body}`)
    .digest("base64")}`;

test("the signature matches the published test vector of Standard Webhooks", () => {
  const sign = createSigner({ current: VECTOR_SECRET, old: null });
  assert.deepEqual(sign("msg_p5jXN8AQM9LWM0D4loKWxJek", '{"test": 2432232314}', NOW, NOW), [
    "webhook-id",
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp",
    "1614265330",
    "webhook-signature",
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  ]);
});

test("the signature equals that of createHmac for any key of 24 to 64 bytes and any body", () => {
  const codePoint = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));
  const body = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 2_000 }),
    fc.string({ unit: "grapheme", maxLength: 500 }),
    fc.constantFrom("", "x".repeat(5_000), "é".repeat(5_461), "é".repeat(5_462), "😀".repeat(10_000)),
  );
  const key = fc.uint8Array({ minLength: 24, maxLength: 64 });
  fc.assert(
    fc.property(key, fc.array(body, { minLength: 1, maxLength: 3 }), (bytes, bodies) => {
      const secret = formatSecret(Buffer.from(bytes));
      const sign = createSigner({ current: secret, old: null });
      for (const each of bodies)
        assert.equal(sign("evt", each, NOW, NOW)[5], expected(secret, "evt", 1_614_265_330, each));
    }),
    { numRuns: 60 },
  );
});

test("both secrets sign during a rotation, the new one first, and only the new one signs after it", () => {
  const [current, oldSecret] = [formatSecret(randomBytes(32)), formatSecret(randomBytes(32))];
  const until = new Date("2027-01-02T00:00:00Z");
  const sign = createSigner({ current, old: { secret: oldSecret, until } });
  const field = (now: string) => sign("evt", "{}", NOW, new Date(now))[5];
  const both = [current, oldSecret].map((secret) => expected(secret, "evt", 1_614_265_330, "{}"));
  assert.equal(field("2027-01-01T23:59:59.999Z"), both.join(" "));
  assert.equal(field("2027-01-02T00:00:00.000Z"), both[0]);
});

test("a secret is refused when it is malformed, too short or too long", () => {
  const bad = [
    "",
    "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_",
    formatSecret(randomBytes(23)),
    formatSecret(randomBytes(65)),
  ];
  for (const current of bad) assert.throws(() => createSigner({ current, old: null }), /24 to 64 bytes/, current);
});
