import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./client-network.ts";

test("an empty address is unknown on the first call", () => assert.equal(networkOf(""), "unknown"));

test("networkOf returns the /64 network for IPv6, the address for IPv4 and unknown otherwise", () => {
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  assert.equal(networkOf("2001:db8:1:2:ffff::1"), "2001:db8:1:2::/64");
  assert.equal(networkOf("198.51.100.4"), "198.51.100.4");
  assert.equal(networkOf("::ffff:198.51.100.4"), "198.51.100.4");
  assert.equal(networkOf("198.51.100.4:5678"), "198.51.100.4");
  assert.equal(networkOf("[2001:db8:1:2::1]:443"), "2001:db8:1:2::/64");
  for (const invalid of ["", "made up"]) assert.equal(networkOf(invalid), "unknown");
});

test("brackets and a port around an address do not change its network", () => {
  assert.equal(networkOf("[2001:db8:1:2::1]"), "2001:db8:1:2::/64");
  for (const other of ["[2001:db8:1:2::1]:443x", "[2001:db8:1:2::1].example", "198.51.100.4:80.example", "x[::1]"])
    assert.equal(networkOf(other), "unknown", other);
});
