import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createResolver } from "./dns-lookup.ts";
import { type DnsQuestion, type DnsReply, type DnsServer, startDnsServer } from "./dns-server.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-names-"));
const hostsFile = join(folder, "hosts");
writeFileSync(
  hostsFile,
  "# 10.0.0.9 commented.example\n10.0.0.1\tlisted.example Alias.example # here\nfd00::1 listed.example\n",
);
const startedServers: DnsServer[] = [];
after(() => {
  for (const server of startedServers) server.close();
  rmSync(folder, { recursive: true });
});

async function startTestNameServer(answer: (question: DnsQuestion) => DnsReply | undefined) {
  const server = await startDnsServer(answer);
  startedServers.push(server);
  return server;
}

const settings = { hostsFile, tryMs: 400, tries: 2 };

test("names whose name servers swallow questions hold up nobody else's", async () => {
  const { servers } = await startTestNameServer(({ name, type }) => {
    if (name.startsWith("dead")) return undefined;
    return type === "A" ? { records: ["A 192.0.2.1"] } : {};
  });
  const lookUp = createResolver({ ...settings, servers });
  const dead = Promise.allSettled(Array.from({ length: 50 }, (_, index) => lookUp(`dead${index}.example`)));
  const startedMs = performance.now();
  assert.deepEqual(await lookUp("shop.example"), [{ address: "192.0.2.1", family: 4 }]);
  assert.ok(performance.now() - startedMs < 300, `took ${performance.now() - startedMs} ms`);
  for (const end of await dead) assert.equal(end.status === "rejected" && end.reason.code, "EAI_AGAIN");
  assert.ok(performance.now() - startedMs < 2_500, "and they themselves are given up in time");
});

test("a name server that swallows only the question for IPv6 addresses costs a moment", async () => {
  const { servers } = await startTestNameServer(({ type }) =>
    type === "A" ? { records: ["A 192.0.2.1", "A 192.0.2.2"] } : undefined,
  );
  const startedMs = performance.now();
  const found = await createResolver({ ...settings, servers, tryMs: 5_000 })("shop.example");
  assert.deepEqual(
    found.map(({ address }) => address),
    ["192.0.2.1", "192.0.2.2"],
  );
  assert.ok(performance.now() - startedMs < 2_000);
});

test("a name that does not exist, or has no address, is not found", async () => {
  const { servers } = await startTestNameServer(({ name }) => (name.startsWith("none") ? { code: 3 } : {}));
  const lookUp = createResolver({ ...settings, servers });
  for (const name of ["none.example", "empty.example"]) await assert.rejects(lookUp(name), { code: "ENOTFOUND" });
});

test("names in the hosts file and this machine's are not asked for", async () => {
  const { servers, asked } = await startTestNameServer(() => ({ code: 3 }));
  const lookUp = createResolver({ ...settings, servers });
  assert.deepEqual(await lookUp("Listed.example."), [
    { address: "10.0.0.1", family: 4 },
    { address: "fd00::1", family: 6 },
  ]);
  assert.deepEqual(await lookUp("alias.example"), [{ address: "10.0.0.1", family: 4 }]);
  for (const name of ["localhost", "shop.localhost"])
    assert.deepEqual(
      (await lookUp(name)).map(({ address }) => address),
      ["127.0.0.1", "::1"],
    );
  assert.deepEqual(asked, []);
  await assert.rejects(lookUp("commented.example"), { code: "ENOTFOUND" });
});

test("a name is asked for once at a time, and again the next time", async () => {
  const { servers, asked } = await startTestNameServer(({ type }) =>
    type === "A" ? { records: ["A 192.0.2.1"] } : {},
  );
  const lookUp = createResolver({ ...settings, servers });
  await Promise.all(Array.from({ length: 5 }, () => lookUp("shop.example")));
  assert.equal(asked.length, 2, "one question for each family of addresses");
  await lookUp("shop.example");
  assert.equal(asked.length, 4);
});

test("a name that stands for another one has its addresses, and both families are put together", async () => {
  const { servers } = await startTestNameServer(({ type }) =>
    type === "A"
      ? { records: ["CNAME b.example", "CNAME c.example", "A 192.0.2.7"] }
      : { records: ["CNAME b.example", "AAAA 2001:db8::7"] },
  );
  assert.deepEqual(await createResolver({ ...settings, servers })("a.example"), [
    { address: "192.0.2.7", family: 4 },
    { address: "2001:db8::7", family: 6 },
  ]);
});

test("an answer too large for a packet is fetched by TCP", async () => {
  const many = Array.from({ length: 200 }, (_, index) => `A 192.0.2.${index}`);
  const { servers, asked } = await startTestNameServer(({ type, over }) => {
    if (type === "AAAA") return {};
    return over === "udp" ? { truncated: true } : { records: many };
  });
  assert.equal((await createResolver({ ...settings, servers })("large.example")).length, 200);
  assert.deepEqual(
    asked.filter(({ type }) => type === "A").map(({ over }) => over),
    ["udp", "tcp"],
  );
});

test("a broken name server is nobody's answer: the name may exist", async () => {
  const { servers } = await startTestNameServer(() => ({ code: 2 }));
  await assert.rejects(createResolver({ ...settings, servers })("shop.example"), { code: "EAI_AGAIN" });
});
