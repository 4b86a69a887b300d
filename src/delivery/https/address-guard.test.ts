import assert from "node:assert/strict";
import { test } from "node:test";
import { findAddressProblem, findWebhookUrlProblem, parseAllowList } from "./address-guard.ts";
import { PUBLIC_ADDRESSES, REFUSED_ADDRESSES, splitWords } from "./addresses.fixture.ts";

const NOT_ADDRESSES = [
  "",
  "localhost",
  "0x7f.1",
  "2130706433",
  "127.1",
  "010.0.0.1",
  "1.2.3",
  "1.2.3.4.5",
  "[::1]",
  "8.8.8.8.",
];

test(`${PUBLIC_ADDRESSES.length} public addresses may be dialed`, () => {
  for (const address of PUBLIC_ADDRESSES) assert.equal(findAddressProblem(address, 443, []), null, address);
});

test(`${REFUSED_ADDRESSES.length} addresses that are not public are refused`, () => {
  for (const address of REFUSED_ADDRESSES)
    assert.match(findAddressProblem(address, 443, []) ?? "", /not a public address/, address);
});

test("a text that is no numeric address is refused", () => {
  for (const text of NOT_ADDRESSES) assert.match(findAddressProblem(text, 443, []) ?? "", /is not an IP address/, text);
});

test("an allowed private range is reachable only on its port", () => {
  const allow = parseAllowList(
    " 10.1.0.0/16:443, 127.0.0.1/32:9443,[::1]/128:443,fd00::/8:8443, 64:ff9b::a00:0/104:443,",
  );
  const cases: [string, number, boolean][] = [
    ["10.1.2.3", 443, true],
    ["10.1.2.3", 444, false],
    ["10.2.0.1", 443, false],
    ["::ffff:10.1.2.3", 443, true],
    ["::ffff:10.2.2.3", 443, false],
    ["127.0.0.1", 9443, true],
    ["127.0.0.2", 9443, false],
    ["::1", 443, true],
    ["::1", 9443, false],
    ["fd12::1", 8443, true],
    ["64:ff9b::10.0.0.1", 443, true],
    ["64:ff9b::127.0.0.1", 443, false],
    ["8.8.8.8", 1, true],
  ];
  for (const [address, port, allowed] of cases)
    assert.equal(findAddressProblem(address, port, allow) === null, allowed, `${address} ${port}`);
});

test("an empty setting allows nothing", () => {
  assert.deepEqual(parseAllowList(""), []);
  assert.deepEqual(parseAllowList(" , "), []);
});

test("an invalid entry of the setting is named in the error", () => {
  const bad =
    splitWords(`10.0.0.0 10.0.0.0/8 10.0.0.0:443 10.0.0.0/33:443 fd00::/129:443 localhost/8:443 010.0.0.0/8:443 10.0.0.0/8:https
    10.0.0.0/8:0 10.0.0.0/8:65536 10.0.0.0/-1:443 10.0.0/8:443 [::1/128:443 ::1]/128:443 ::ffff:10.0.0.0/104:443 */0:443 10.0.0.0/8:4:43`);
  for (const entry of bad)
    assert.throws(
      () => parseAllowList(`192.168.0.0/16:443,${entry}`),
      (error: Error) => error.message.includes(`"${entry}"`),
      entry,
    );
});

test("a webhook URL is accepted when it is HTTPS and has no private address", () => {
  const good =
    splitWords(`https://example.com https://example.com/ https://example.com:8443/a/b?c=d https://EXAMPLE.com/hook
    https://example.com./hook https://8.8.8.8/ https://[2606:4700:4700::1111]/ https://xn--bcher-kva.example/ https://bücher.example/
    https://merchant/hook https://a.b.c.d.example https://localhost.example.com/ https://example.com/%20#fragment`);
  for (const url of good) assert.equal(findWebhookUrlProblem(url, []), null, url);
});

test("unusual spellings of private hosts, other protocols and credentials are refused", () => {
  const bad =
    splitWords(`http://example.com ftp://example.com ws://example.com file:///etc/passwd javascript:alert(1) data:text/plain,x
    example.com //example.com https:// https:///x https://user@example.com https://user:pass@example.com https://:pass@example.com
    https://127.0.0.1 https://127.0.0.1./ https://0x7f.1/ https://0x7f000001/ https://2130706433/ https://0177.0.0.1/ https://127.1/
    https://017700000001/ https://0/ https://0.0.0.0/ https://10.0.0.1/ https://169.254.169.254/latest/meta-data
    https://[::1]/ https://[::]/ https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://[64:ff9b::7f00:1]/ https://[fe80::1]/
    https://[fd00:ec2::254]/ https://localhost/ https://localhost./ https://LOCALHOST/ https://a.localhost/ https://a.localhost./
    https://１２７.０.０.１/ https://①②⑦.0.0.1/ https://ⓛocalhost/ https://127。0。0。1/ https://%31%32%37.0.0.1/ https://127.0.0.1:8443/
    https://example.com:0/ https://example.com:65536/ https://256.256.256.256/ https://1.2.3.4.5/ https://example.com\\@127.0.0.1/
    https://168.63.129.16/ https://[2002:7f00:1::]/ https://..../`);
  for (const url of bad) assert.notEqual(findWebhookUrlProblem(url, []), null, url);
  for (const url of [
    "https://example.com/a b",
    " https://example.com",
    "https://exam\nple.com",
    "https://example.com/\u0000",
    "",
  ])
    assert.notEqual(findWebhookUrlProblem(url, []), null, JSON.stringify(url));
  assert.notEqual(findWebhookUrlProblem(`https://example.com/${"a".repeat(2_048)}`, []), null);
});

test("localhost is accepted when the operator allows a loopback address on that port", () => {
  const allow = parseAllowList("127.0.0.1/32:9443");
  assert.equal(findWebhookUrlProblem("https://localhost:9443/hook", allow), null);
  assert.equal(findWebhookUrlProblem("https://127.0.0.1:9443/hook", allow), null);
  assert.match(findWebhookUrlProblem("https://localhost/hook", allow) ?? "", /DUNLIN_WEBHOOK_ALLOW/);
  assert.match(findWebhookUrlProblem("https://[::1]:9443/hook", allow) ?? "", /DUNLIN_WEBHOOK_ALLOW/);
});
