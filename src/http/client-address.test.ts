import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress, parseTrustedProxies } from "./client-address.ts";

const addressOf = (
  remoteAddress: string | undefined,
  forwarded?: string | string[],
  trusted = "10.0.0.0/8, 192.0.2.7, fd00::/8",
) =>
  clientAddress(
    { socket: { remoteAddress }, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } },
    parseTrustedProxies(trusted),
    false,
  );

test("the peer is the client, and its X-Forwarded-For is ignored, when it is no trusted proxy", () => {
  assert.equal(addressOf("198.51.100.4", "203.0.113.9"), "198.51.100.4");
  assert.equal(addressOf("198.51.100.4", "203.0.113.9", ""), "198.51.100.4");
  assert.equal(addressOf("::ffff:198.51.100.4"), "::ffff:198.51.100.4");
  assert.equal(addressOf(undefined), "");
});

test("the client is the last untrusted address when the peer is a trusted proxy", () => {
  assert.equal(addressOf("10.1.2.3", "203.0.113.9"), "203.0.113.9");
  assert.equal(addressOf("10.1.2.3", "1.1.1.1, 203.0.113.9, 192.0.2.7"), "203.0.113.9");
  assert.equal(addressOf("fd00::1", "1.1.1.1,203.0.113.9 , 10.9.9.9"), "203.0.113.9");
  assert.equal(addressOf("10.1.2.3", "203.0.113.9, made up"), "made up");
  assert.equal(addressOf("10.1.2.3", "10.0.0.1"), "10.0.0.1");
  assert.equal(addressOf("10.1.2.3"), "10.1.2.3");
});

test("the client is unknown when a proxy is in front and no trusted proxies are configured", () => {
  const request = { socket: { remoteAddress: "10.1.2.3" }, headers: { "x-forwarded-for": "203.0.113.9" } };
  assert.equal(clientAddress(request, parseTrustedProxies(""), true), null);
});

test("an invalid range is named in the error", () => {
  for (const wrong of ["10.0.0.0/33", "proxy.example", "10.0.0.0/8;192.0.2.0/24"])
    assert.throws(() => parseTrustedProxies(`10.0.0.1, ${wrong}`), new RegExp(`"${wrong.replaceAll(".", "\\.")}"`));
});
