import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./client-network.ts";

test("an address that nobody gave is unknown, from the first one on", () => assert.equal(networkOf(""), "unknown"));

test("of IPv6 the network counts, of IPv4 the address however it is written, and what is none is not known", () => {
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  assert.equal(networkOf("2001:db8:1:2:ffff::1"), "2001:db8:1:2::/64");
  assert.equal(networkOf("198.51.100.4"), "198.51.100.4");
  assert.equal(networkOf("::ffff:198.51.100.4"), "198.51.100.4");
  assert.equal(networkOf("198.51.100.4:5678"), "198.51.100.4");
  assert.equal(networkOf("[2001:db8:1:2::1]:443"), "2001:db8:1:2::/64");
  for (const none of ["", "made up"]) assert.equal(networkOf(none), "unknown");
});

test("brackets and a port around an address make no other network", () => {
  assert.equal(networkOf("[2001:db8:1:2::1]"), "2001:db8:1:2::/64");
  for (const other of ["[2001:db8:1:2::1]:443x", "[2001:db8:1:2::1].example", "198.51.100.4:80.example", "x[::1]"])
    assert.equal(networkOf(other), "unknown", other);
});
