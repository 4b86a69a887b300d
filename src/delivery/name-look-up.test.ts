import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { lookUpNames } from "./name-look-up.ts";

const A = 1;
const folder = mkdtempSync(join(tmpdir(), "dunlin-names-"));
const hostsFile = join(folder, "hosts");
writeFileSync(
  hostsFile,
  "# 10.0.0.9 commented.example\n10.0.0.1\tlisted.example Alias.example # here\nfd00::1 listed.example\n",
);
const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.close();
  rmSync(folder, { recursive: true });
});

/** A name server. `answers` gives the addresses of a name, null when it has none, or undefined to swallow the question. */
async function startNameServer(answers: (name: string, type: number) => readonly string[] | null | undefined) {
  const socket = createSocket("udp4");
  sockets.push(socket);
  const asked: string[] = [];
  socket.on("message", (question, { port }) => {
    const labels: string[] = [];
    let at = 12;
    for (; question[at] !== 0; at += question[at]! + 1)
      labels.push(question.toString("latin1", at + 1, at + 1 + question[at]!));
    const type = question.readUInt16BE(at + 1);
    const name = labels.join(".").toLowerCase();
    asked.push(name);
    const addresses = answers(name, type);
    if (addresses === undefined) return;
    const header = Buffer.from(question.subarray(0, 12));
    header.writeUInt16BE(addresses === null ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(addresses?.length ?? 0, 6);
    header.writeUInt32BE(0, 8);
    const records = (addresses ?? []).map((address) =>
      Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
    );
    socket.send(Buffer.concat([header, question.subarray(12, at + 5), ...records]), port);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { servers: [`127.0.0.1:${socket.address().port}`], asked };
}

const settings = { hostsFile, tryMs: 400, tries: 2 };

test("names whose name servers swallow questions hold up nobody else's", async () => {
  const { servers } = await startNameServer((name, type) => {
    if (name.startsWith("dead")) return undefined;
    return type === A ? ["192.0.2.1"] : [];
  });
  const lookUp = lookUpNames({ ...settings, servers });
  const dead = Promise.allSettled(Array.from({ length: 50 }, (_, index) => lookUp(`dead${index}.example`)));
  const startedMs = performance.now();
  assert.deepEqual(await lookUp("shop.example"), [{ address: "192.0.2.1", family: 4 }]);
  assert.ok(performance.now() - startedMs < 300, `took ${performance.now() - startedMs} ms`);
  for (const end of await dead) assert.equal(end.status === "rejected" && end.reason.code, "EAI_AGAIN");
  assert.ok(performance.now() - startedMs < 2_500, "and they themselves are given up in time");
});

test("a name server that swallows only the question for IPv6 addresses costs a moment", async () => {
  const { servers } = await startNameServer((_name, type) => (type === A ? ["192.0.2.1", "192.0.2.2"] : undefined));
  const startedMs = performance.now();
  const found = await lookUpNames({ ...settings, servers, tryMs: 5_000 })("shop.example");
  assert.deepEqual(
    found.map(({ address }) => address),
    ["192.0.2.1", "192.0.2.2"],
  );
  assert.ok(performance.now() - startedMs < 2_000);
});

test("a name that does not exist, or has no address, is not found", async () => {
  const { servers } = await startNameServer((name) => (name.startsWith("none") ? null : []));
  const lookUp = lookUpNames({ ...settings, servers });
  for (const name of ["none.example", "empty.example"]) await assert.rejects(lookUp(name), { code: "ENOTFOUND" });
});

test("names in the hosts file and this machine's are not asked for", async () => {
  const { servers, asked } = await startNameServer(() => null);
  const lookUp = lookUpNames({ ...settings, servers });
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
  const { servers, asked } = await startNameServer((_name, type) => (type === A ? ["192.0.2.1"] : []));
  const lookUp = lookUpNames({ ...settings, servers });
  await Promise.all(Array.from({ length: 5 }, () => lookUp("shop.example")));
  assert.equal(asked.length, 2, "one question for each family of addresses");
  await lookUp("shop.example");
  assert.equal(asked.length, 4);
});
