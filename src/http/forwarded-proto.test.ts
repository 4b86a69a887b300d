import assert from "node:assert/strict";
import { test } from "node:test";
import { refuseForwardedHttp } from "./forwarded-proto.ts";

const refused = (headers: Record<string, string>) => {
  try {
    refuseForwardedHttp({ headers });
    return false;
  } catch (error) {
    assert.match((error as Error).message, /^this service accepts HTTPS only: use https:\/\//);
    return true;
  }
};

test("a request is refused when the proxy reports http", () => {
  for (const proto of ["http", "HTTP", " http ", "http, https", "http,https"])
    assert.ok(refused({ "x-forwarded-proto": proto }), proto);
  for (const forwarded of [
    "proto=http",
    "for=192.0.2.60;proto=http;by=203.0.113.43",
    'For="[2001:db8::1]:4711"; Proto="HTTP"',
    "for=192.0.2.60; proto=http, for=10.0.0.1; proto=https",
  ])
    assert.ok(refused({ forwarded }), forwarded);
  assert.ok(refused({ "x-forwarded-proto": "https", forwarded: "proto=http" }));
});

test("a request is served when the proxy reports https or nothing", () => {
  for (const proto of ["https", "HTTPS", "https, http", ""])
    assert.equal(refused({ "x-forwarded-proto": proto }), false, proto);
  for (const forwarded of ["for=http", "for=192.0.2.60;proto=https", 'for="a;proto=https"', "proto=https, proto=http"])
    assert.equal(refused({ forwarded }), false, forwarded);
  assert.equal(refused({}), false);
});
