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

const settings = { hostsFile, timeoutMs: 400, attempts: 2 };

test("a name server that does not answer does not delay other lookups", async () => {
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
  assert.ok(performance.now() - startedMs < 2_500, "unanswered lookups end in time");
});

test("a lookup is hardly delayed when only the IPv6 query stays unanswered", async () => {
  const { servers } = await startTestNameServer(({ type }) =>
    type === "A" ? { records: ["A 192.0.2.1", "A 192.0.2.2"] } : undefined,
  );
  const startedMs = performance.now();
  const found = await createResolver({ ...settings, servers, timeoutMs: 5_000 })("shop.example");
  assert.deepEqual(
    found.map(({ address }) => address),
    ["192.0.2.1", "192.0.2.2"],
  );
  assert.ok(performance.now() - startedMs < 2_000);
});

test("a name is not found when it does not exist or has no address", async () => {
  const { servers } = await startTestNameServer(({ name }) => (name.startsWith("none") ? { code: 3 } : {}));
  const lookUp = createResolver({ ...settings, servers });
  for (const name of ["none.example", "empty.example"]) await assert.rejects(lookUp(name), { code: "ENOTFOUND" });
});

test("names in the hosts file and localhost names are not queried", async () => {
  const { servers, questions } = await startTestNameServer(() => ({ code: 3 }));
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
  assert.deepEqual(questions, []);
  await assert.rejects(lookUp("commented.example"), { code: "ENOTFOUND" });
});

test("concurrent lookups of a name share one query, and a later lookup queries again", async () => {
  const { servers, questions } = await startTestNameServer(({ type }) =>
    type === "A" ? { records: ["A 192.0.2.1"] } : {},
  );
  const lookUp = createResolver({ ...settings, servers });
  await Promise.all(Array.from({ length: 5 }, () => lookUp("shop.example")));
  assert.equal(questions.length, 2, "one query per address family");
  await lookUp("shop.example");
  assert.equal(questions.length, 4);
});

test("an alias has the addresses of its target in both families", async () => {
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

test("an answer that is too large for a packet is fetched over TCP", async () => {
  const many = Array.from({ length: 200 }, (_, index) => `A 192.0.2.${index}`);
  const { servers, questions } = await startTestNameServer(({ type, over }) => {
    if (type === "AAAA") return {};
    return over === "udp" ? { truncated: true } : { records: many };
  });
  assert.equal((await createResolver({ ...settings, servers })("large.example")).length, 200);
  assert.deepEqual(
    questions.filter(({ type }) => type === "A").map(({ over }) => over),
    ["udp", "tcp"],
  );
});

test("a lookup fails as temporary when the name server is broken", async () => {
  const { servers } = await startTestNameServer(() => ({ code: 2 }));
  await assert.rejects(createResolver({ ...settings, servers })("shop.example"), { code: "EAI_AGAIN" });
});
