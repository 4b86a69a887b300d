import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findAddressProblem, parseAllowList } from "./address-guard.ts";
import { addressBytes } from "./dns-server.fixture.ts";

/** Ranges without public endpoints. */
const FORBIDDEN = [
  "0.0.0.0/8 this network",
  "10.0.0.0/8 private",
  "100.64.0.0/10 carrier-grade NAT",
  "127.0.0.0/8 this machine",
  "168.63.129.16/32 Azure's wire server",
  "169.254.0.0/16 link-local and cloud metadata",
  "172.16.0.0/12 private",
  "192.0.0.0/24 protocols",
  "192.0.2.0/24 documentation",
  "192.31.196.0/24 AS112",
  "192.52.193.0/24 AMT",
  "192.88.99.0/24 6to4 relays",
  "192.168.0.0/16 private",
  "192.175.48.0/24 AS112",
  "198.18.0.0/15 benchmarks",
  "198.51.100.0/24 documentation",
  "203.0.113.0/24 documentation",
  "224.0.0.0/3 multicast, reserved and broadcast",
  "::/3 everything before the public range except mapped and translated addresses",
  "2001::/23 protocols, including Teredo",
  "2001:db8::/32 documentation",
  "2002::/16 6to4",
  "2620:4f:8000::/48 AS112",
  "3fff::/20 documentation",
  "4000::/2 not assigned",
  "8000::/1 not assigned, unique local, link-local, site-local, multicast",
].map((line) => {
  const [range = "", ...words] = line.split(" ");
  const [first = "", prefix] = range.split("/");
  return { range, first: addressBytes(first), prefix: Number(prefix), words: words.join(" ") };
});

const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
const bytesFrom = (number: bigint, size: number) => Buffer.from(number.toString(16).padStart(size * 2, "0"), "hex");

/** The expected verdict, computed only from the table and the bytes. */
function isPublic(bytes: Uint8Array): boolean {
  const hex = Buffer.from(bytes).toString("hex");
  if (/^0{20}ffff|^0064ff9b0{16}/.test(hex)) return isPublic(bytes.subarray(12));
  if (bytes.length === 16 && /^0[02]005efe/.test(hex.slice(16))) return false;
  const bits = bytes.length * 8;
  return !FORBIDDEN.some(({ first, prefix }) => {
    const shift = BigInt(bits - prefix);
    return first.length === bytes.length && numberOf(first) >> shift === numberOf(bytes) >> shift;
  });
}

const dotted = (bytes: Uint8Array) => bytes.join(".");
const groupsOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex").match(/.{4}/g)!;

/** Spellings of one address that `net.isIP` accepts, since a hosts file may contain any of them. */
function spellingsOf(bytes: Uint8Array): string[] {
  if (bytes.length === 4) return [dotted(bytes)];
  const fullGroups = groupsOf(bytes);
  const shortGroups = fullGroups.map((group) => group.replace(/^0+(?=.)/, ""));
  const squeezed = shortGroups.join(":").replace(/(^|:)0(:0)+(:|$)/, "::");
  const tail = dotted(bytes.subarray(12));
  const dottedTail = `${shortGroups.slice(0, 6).join(":")}:${tail}`;
  return [fullGroups.join(":"), fullGroups.join(":").toUpperCase(), shortGroups.join(":"), squeezed, dottedTail];
}

function verdictsOf(bytes: Uint8Array) {
  for (const text of spellingsOf(bytes)) {
    const problem = findAddressProblem(text, 443, []);
    assert.equal(problem === null, isPublic(bytes), `${text}: ${problem}`);
  }
  return spellingsOf(bytes).length;
}

let edges = 0;
for (const { range, first, prefix, words } of FORBIDDEN) {
  test(`${range} (${words}) is refused from its first to its last address, and its neighbors are judged separately`, () => {
    const bits = first.length * 8;
    const start = numberOf(first);
    const end = start | ((1n << BigInt(bits - prefix)) - 1n);
    for (const innerAddress of [start, start + 1n, (start + end) / 2n, end - 1n, end]) {
      if (innerAddress < start || innerAddress > end) continue;
      const bytes = bytesFrom(innerAddress, first.length);
      assert.ok(!isPublic(bytes), `${innerAddress.toString(16)}`);
      edges += verdictsOf(bytes);
    }
    for (const outerAddress of [start - 1n, end + 1n])
      if (outerAddress >= 0n && outerAddress < 1n << BigInt(bits))
        edges += verdictsOf(bytesFrom(outerAddress, first.length));
  });
}

const IPV4 = FORBIDDEN.filter(({ first }) => first.length === 4);
const EMBEDDED: [
  name: string,
  embed: (address: Uint8Array) => string,
  judged: "by the embedded address" | "never public",
][] = [
  ["mapped", (innerAddress) => `00000000000000000000ffff${hex(innerAddress)}`, "by the embedded address"],
  ["translated by NAT64", (innerAddress) => `0064ff9b0000000000000000${hex(innerAddress)}`, "by the embedded address"],
  ["compatible", (innerAddress) => `000000000000000000000000${hex(innerAddress)}`, "never public"],
  ["translated (SIIT)", (innerAddress) => `0000000000000000ffff0000${hex(innerAddress)}`, "never public"],
  ["in the local NAT64 prefix", (innerAddress) => `0064ff9b0001000000000000${hex(innerAddress)}`, "never public"],
  ["6to4", (innerAddress) => `2002${hex(innerAddress)}00000000000000000001`, "never public"],
  ["Teredo's server", (innerAddress) => `20010000${hex(innerAddress)}0000000000000000`, "never public"],
  [
    "Teredo's client",
    (innerAddress) => `20010000000000000000ffff${hex(innerAddress.map((byte) => ~byte & 255))}`,
    "never public",
  ],
  ["ISATAP under a public prefix", (innerAddress) => `2a0014504001000000005efe${hex(innerAddress)}`, "never public"],
  ["ISATAP of a public address", (innerAddress) => `2a0014504001000002005efe${hex(innerAddress)}`, "never public"],
];
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

for (const [name, embed, verdict] of EMBEDDED) {
  test(`IPv4 inside IPv6, ${name}: ${verdict}, at both edges of every forbidden range`, () => {
    for (const { first, prefix } of IPV4) {
      const start = numberOf(first);
      const end = start | ((1n << BigInt(32 - prefix)) - 1n);
      for (const number of [start - 1n, start, end, end + 1n]) {
        if (number < 0n || number >= 1n << 32n) continue;
        const innerAddress = bytesFrom(number, 4);
        const bytes = Buffer.from(embed(innerAddress), "hex");
        assert.equal(
          isPublic(bytes),
          verdict === "by the embedded address" && isPublic(innerAddress),
          dotted(innerAddress),
        );
        edges += verdictsOf(bytes);
      }
    }
  });
}

test("the tests above cover more than a thousand edge cases", () => assert.ok(edges > 1_000, `${edges}`));

test("every address has the verdict of its bytes, however it is spelled", () => {
  const four = fc.uint8Array({ minLength: 4, maxLength: 4 });
  const six = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const beginnings = fc.constantFrom(
    "20",
    "2001",
    "20010d",
    "2002",
    "2620004f80",
    "3fff",
    "fe80",
    "fd",
    "ff02",
    "0064ff9b",
  );
  const likely = fc.tuple(beginnings, six).map(([beginning, rest]) => {
    const bytes = Buffer.from(rest);
    bytes.write(beginning, "hex");
    return bytes;
  });
  fc.assert(
    fc.property(fc.oneof(four, six, likely), (bytes) => void verdictsOf(bytes)),
    { numRuns: 2_000 },
  );
});

test("an address with a zone is never public", () => {
  for (const address of ["2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "fe80::1", "::1"])
    for (const zone of ["%eth0", "%1", "%lo"])
      assert.match(findAddressProblem(address + zone, 443, []) ?? "", /not (a public|an IP) address/, address + zone);
});

test("an allowed range covers exactly its addresses, on one port", () => {
  const ranges = [
    "10.1.0.0/16",
    "192.168.4.0/22",
    "127.0.0.1/32",
    "0.0.0.0/0",
    "[fd00:1::]/32",
    "[::1]/128",
    "[fe80::]/10",
  ];
  for (const range of ranges) {
    const allow = parseAllowList(`${range}:8443`);
    const [address = "", prefix] = range.replace(/[[\]]/g, "").split("/");
    const first = addressBytes(address);
    const bits = first.length * 8;
    const start = numberOf(first);
    const end = start | ((1n << BigInt(bits - Number(prefix))) - 1n);
    const cases: [bigint, boolean][] = [
      [start, true],
      [end, true],
      [start - 1n, false],
      [end + 1n, false],
    ];
    for (const [number, isInside] of cases) {
      if (number < 0n || number >= 1n << BigInt(bits)) continue;
      const bytes = bytesFrom(number, first.length);
      for (const text of spellingsOf(bytes))
        for (const port of [8442, 8443, 8444]) {
          const open = isPublic(bytes) || (isInside && port === 8443);
          assert.equal(findAddressProblem(text, port, allow) === null, open, `${range}: ${text} port ${port}`);
        }
    }
  }
});

test("an allowed entry that does not start its range is refused, and the error names the range", () => {
  for (const [entry, network] of [
    ["10.1.2.3/8:443", "10.0.0.0/8"],
    ["192.168.1.1/24:443", "192.168.1.0/24"],
    ["[fd00::1]/8:443", "fd00::/8"],
    ["127.0.0.1/31:443", "127.0.0.0/31"],
  ] as const)
    assert.throws(
      () => parseAllowList(entry),
      (error: Error) => error.message.includes(network),
      entry,
    );
});
