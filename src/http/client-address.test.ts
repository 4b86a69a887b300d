import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress, parseTrustedProxies } from "./client-address.ts";

const of = (
  remoteAddress: string | undefined,
  forwarded?: string | string[],
  trusted = "10.0.0.0/8, 192.0.2.7, fd00::/8",
) =>
  clientAddress(
    { socket: { remoteAddress }, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } },
    parseTrustedProxies(trusted),
    false,
  );

test("without a proxy the peer is the caller, and what it says of itself is passed over", () => {
  assert.equal(of("198.51.100.4", "203.0.113.9"), "198.51.100.4");
  assert.equal(of("198.51.100.4", "203.0.113.9", ""), "198.51.100.4");
  assert.equal(of("::ffff:198.51.100.4"), "::ffff:198.51.100.4");
  assert.equal(of(undefined), "");
});

test("behind trusted proxies it is the last address that is none of them", () => {
  assert.equal(of("10.1.2.3", "203.0.113.9"), "203.0.113.9");
  assert.equal(of("10.1.2.3", "1.1.1.1, 203.0.113.9, 192.0.2.7"), "203.0.113.9");
  assert.equal(of("fd00::1", "1.1.1.1,203.0.113.9 , 10.9.9.9"), "203.0.113.9");
  assert.equal(of("10.1.2.3", "203.0.113.9, made up"), "made up");
  assert.equal(of("10.1.2.3", "10.0.0.1"), "10.0.0.1");
  assert.equal(of("10.1.2.3"), "10.1.2.3");
});

test("behind a proxy that nobody named nobody can say", () => {
  const request = { socket: { remoteAddress: "10.1.2.3" }, headers: { "x-forwarded-for": "203.0.113.9" } };
  assert.equal(clientAddress(request, parseTrustedProxies(""), true), null);
});

test("a range that is none is refused by its name", () => {
  for (const wrong of ["10.0.0.0/33", "proxy.example", "10.0.0.0/8;192.0.2.0/24"])
    assert.throws(() => parseTrustedProxies(`10.0.0.1, ${wrong}`), new RegExp(`"${wrong.replaceAll(".", "\\.")}"`));
});
