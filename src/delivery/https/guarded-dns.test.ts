import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { after, before, test } from "node:test";
import { findAddressProblem, parseAllowList } from "./address-guard.ts";
import { PUBLIC_ADDRESSES, REFUSED_ADDRESSES } from "./addresses.fixture.ts";
import { checkWebhookHost } from "./check-webhook-host.ts";
import { createResolver, type ResolveHostname } from "./dns-lookup.ts";
import { type DnsQuestion, type DnsReply, type DnsServer, startDnsServer } from "./dns-server.fixture.ts";
import { type ForbiddenListener, startForbiddenListener } from "./forbidden-listener.fixture.ts";
import { createGuardedDial, type Dial } from "./guarded-dial.ts";
import { createSender } from "./https-sender.ts";
import { type Receiver, startReceiver } from "./receiver.fixture.ts";

// A real name server answers c-ares, one endpoint may be dialed, and every other address of this machine listens on the same
// port. Each case looks up a fresh name such as "5.case.example", which has the addresses of the case.
let names: DnsServer;
let receiver: Receiver;
let resolve: ResolveHostname;
let allow: ReturnType<typeof parseAllowList>;
const neighbours: ForbiddenListener[] = [];
let answer: (question: DnsQuestion) => DnsReply | undefined = () => ({});
const ownAddresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
const NEIGHBOURS = ["127.0.0.2", "127.0.0.3", "127.255.255.254", "::1"].concat(
  ownAddresses.flatMap(({ internal, address, family }) => (internal || family !== "IPv4" ? [] : [address])),
);

before(async () => {
  names = await startDnsServer((question) => answer(question));
  resolve = createResolver({ hostsFile: "/nonexistent", servers: names.servers, timeoutMs: 500, attempts: 2 });
  receiver = await startReceiver((_request, reply) => reply.end());
  allow = parseAllowList(`127.0.0.1/32:${receiver.port}`);
  for (const host of NEIGHBOURS) neighbours.push(await startForbiddenListener(host, receiver.port));
});
after(() => Promise.all([names.close(), receiver.close(), ...neighbours.map(({ close }) => close())]));

const countReached = () => neighbours.reduce((sum, each) => sum + each.reached(), 0);

/** Answers each query with the CNAMEs and with the records of the queried type. */
const records =
  (...all: string[]) =>
  ({ type }: DnsQuestion): DnsReply => ({
    records: all.filter((text) => /^(\w+)/.exec(text)![1] === type || /^CNAME/.test(text)),
  });
const record = (address: string) => `${address.includes(":") ? "AAAA" : "A"} ${address}`;

/** Creating a dial reads all authorities, which takes 50 ms, so many cases share one. */
const dials = new Map<ReturnType<typeof parseAllowList>, Dial>();
const dialFor = (open: ReturnType<typeof parseAllowList>) => {
  const dial = dials.get(open) ?? createGuardedDial(open, receiver.ca, (name) => resolve(name));
  dials.set(open, dial);
  return dial;
};

let cases = 0;
const NOTHING = parseAllowList("");

/** Dials a fresh name once. Returns the dialed addresses and the error. */
function dial(open: ReturnType<typeof parseAllowList> = allow, port = receiver.port, name = `${++cases}.case.example`) {
  const attempts: string[] = [];
  return new Promise<{ attempts: string[]; error: string | null }>((resolveWith) => {
    const socket = dialFor(open)(name, port, (error) => {
      socket.destroy();
      resolveWith({ attempts, error: error === null ? null : error.message });
    });
    socket.on("connectionAttempt", (address: string) => attempts.push(address));
  });
}

/** Checks the same answer as if a URL with this name were saved. */
const checkSaved = (open = allow) =>
  checkWebhookHost(`https://${++cases}.case.example:${receiver.port}/`, open, resolve);

test(`a name with one of ${REFUSED_ADDRESSES.length} forbidden addresses is refused when saved, and no packet is sent when dialed`, async () => {
  for (const address of REFUSED_ADDRESSES) {
    answer = records(record(address));
    const { attempts, error } = await dial(NOTHING);
    assert.match(error ?? "", /not a public address/, address);
    assert.deepEqual(attempts, [], address);
    assert.equal((await checkSaved(NOTHING)).verdict, "refused", address);
  }
  assert.equal(countReached(), 0);
});

test("a forbidden address is refused behind a chain of aliases, with any TTL, and over TCP", async () => {
  const forms: ((address: string) => (question: DnsQuestion) => DnsReply)[] = [
    (address) => records("CNAME a.example", record(address)),
    (address) => records("CNAME a.example", "CNAME public.example.com", "CNAME c.example", record(address)),
    (address) => records("CNAME localhost", record(address)),
    (address) => records(`${record(address)} 86400`),
    (address) => records(...Array<string>(40).fill(record(address))),
    (address) => (question) => (question.over === "udp" ? { truncated: true } : records(record(address))(question)),
  ];
  for (const address of [
    "127.0.0.2",
    "::1",
    "10.0.0.1",
    "169.254.169.254",
    "::ffff:127.0.0.2",
    "64:ff9b::7f00:2",
    "fd00::1",
  ])
    for (const form of forms) {
      answer = form(address);
      const { attempts, error } = await dial();
      assert.match(error ?? "", /not a public address/, address);
      assert.deepEqual(attempts, [], address);
      assert.equal((await checkSaved()).verdict, "refused", address);
    }
  assert.equal(countReached(), 0);
});

test("no address is dialed when all addresses of both families are forbidden", async () => {
  for (const [index, address] of REFUSED_ADDRESSES.entries()) {
    const others = [
      REFUSED_ADDRESSES[(index * 7 + 3) % REFUSED_ADDRESSES.length]!,
      REFUSED_ADDRESSES[(index * 31 + 50) % REFUSED_ADDRESSES.length]!,
    ];
    answer = records(...[address, ...others, ...NEIGHBOURS].map(record));
    const { attempts, error } = await dial(NOTHING);
    assert.match(error ?? "", /not a public address/, address);
    assert.deepEqual(attempts, []);
  }
  assert.equal(countReached(), 0);
});

test("only the allowed address of a mixed answer is dialed, in any order", async () => {
  for (const bad of [
    ...NEIGHBOURS,
    "::ffff:127.0.0.2",
    "::ffff:127.0.0.3",
    "10.0.0.1",
    "169.254.169.254",
    "fe80::1",
    "::",
  ])
    for (const order of [
      [bad, "127.0.0.1"],
      ["127.0.0.1", bad],
      [bad, "127.0.0.1", bad],
      [...NEIGHBOURS, bad, "127.0.0.1"],
    ]) {
      answer = records(...order.map(record));
      const { attempts, error } = await dial(allow, receiver.port, "merchant.example");
      assert.equal(error, null, order.join(" "));
      assert.deepEqual([...new Set(attempts)], ["127.0.0.1"]);
    }
  assert.equal(countReached(), 0);
});

test("forbidden addresses are not dialed when the only allowed one is dead", async () => {
  const open = parseAllowList(`127.0.0.77/32:${receiver.port}`);
  for (const bad of NEIGHBOURS) {
    answer = records(record("127.0.0.77"), record(bad));
    const { attempts, error } = await dial(open);
    assert.match(error ?? "", /ECONNREFUSED/, bad);
    assert.deepEqual(attempts, ["127.0.0.77"]);
  }
  assert.equal(countReached(), 0);
});

test("a mix of public and private addresses is refused when saved, and both families of an allowed network are accepted", async () => {
  for (const bad of ["10.0.0.1", "127.0.0.2", "::1", "fd00::1", "169.254.169.254"])
    for (const good of [PUBLIC_ADDRESSES[0]!, "2606:4700:4700::1111"]) {
      answer = records(record(good), record(bad));
      const finding = await checkSaved();
      assert.equal(finding.verdict, "refused", `${good} ${bad}`);
    }
  answer = records(record("127.0.0.1"), record("fd00::1"));
  assert.equal((await checkSaved()).verdict, "ok");
  for (const good of PUBLIC_ADDRESSES) {
    answer = records(record(good));
    assert.equal((await checkSaved()).verdict, "ok", good);
  }
});

test("a name is accepted with a note when it has no address or no name server answers", async () => {
  const silent: ((question: DnsQuestion) => DnsReply | undefined)[] = [
    () => ({ code: 3 }),
    () => ({ code: 2 }),
    () => ({}),
    () => undefined,
    () => ({ records: ["CNAME localhost"] }),
  ];
  for (const each of silent) {
    answer = each;
    assert.equal((await checkSaved()).verdict, "unknown");
    assert.notEqual((await dial()).error, null);
  }
  assert.equal(countReached(), 0);
});

test("each connection looks up its name once and dials that answer, even when the name server changes it", async () => {
  answer = ({ type, earlierCount: earlier }) => {
    if (type !== "A") return {};
    return { records: [record(earlier % 2 === 0 ? "127.0.0.1" : "127.0.0.2")] };
  };
  const count = names.questions.length;
  const name = "merchant.example";
  const ends: (string | null)[] = [];
  for (let i = 0; i < 10; i++) ends.push((await dial(allow, receiver.port, name)).error);
  assert.equal(names.questions.length - count, 20, "one query per family and connection");
  // Earlier tests queried this name too, so either answer may come first.
  assert.deepEqual([...new Set(ends.map((end) => end === null))].length, 2);
  for (const [index, end] of ends.entries()) assert.equal(end === null, (ends[0] === null) === (index % 2 === 0));
  assert.equal(countReached(), 0);
});

test("a changed address is judged at every attempt, and a kept connection keeps its address", async () => {
  const flow = ["127.0.0.1", "127.0.0.2", "127.0.0.1", "::ffff:127.0.0.3", "10.0.0.1"];
  let step = 0;
  answer = ({ type }) => records(record(flow[step] ?? ""))({ type } as DnsQuestion);
  const request = { origin: `https://merchant.example:${receiver.port}`, path: "/", authorization: null, body: "{}" };
  const options = { allow, extraCa: receiver.ca, resolve, monotonicMs: () => performance.now() };
  for (const [index, address] of flow.entries()) {
    step = index;
    const freshSender = createSender(options);
    const reply = await freshSender.send(request);
    assert.equal(reply.outcome, address === "127.0.0.1" ? "response" : "failed", address);
    freshSender.close();
  }
  const keptSender = createSender(options);
  for (const each of [0, 1, 3, 4]) {
    step = each;
    assert.equal((await keptSender.send(request)).outcome, "response");
  }
  keptSender.close();
  assert.equal(countReached(), 0);
});

test("a name is looked up in its canonical form when it has capitals, a trailing dot or another script", async () => {
  answer = records(record("127.0.0.2"));
  for (const host of [
    "MERCHANT.Example",
    "merchant.example.",
    "bücher.example",
    "xn--bcher-kva.example",
    "a_b.example",
    "1e3",
  ]) {
    const { hostname } = new URL(`https://${host}/`);
    const { error } = await dial(allow, receiver.port, hostname);
    assert.match(error ?? "", /127\.0\.0\.2 port \d+ is not a public address/, host);
  }
  assert.equal(countReached(), 0);
});

test("the address that answers is checked again after the lookup", async () => {
  // A resolver that returns a wrong family or unchecked addresses simulates a bug in the earlier checks.
  const calls: string[] = [];
  const lying: ResolveHostname = async () => [
    {
      family: 4,
      get address() {
        calls.push("read");
        return calls.length <= 1 ? "127.0.0.1" : "127.0.0.2";
      },
    },
  ];
  const error = await new Promise<Error | null>((resolveWith) => {
    const socket = createGuardedDial(allow, receiver.ca, lying)("merchant.example", receiver.port, (end) => {
      socket.destroy();
      resolveWith(end);
    });
  });
  assert.match(error?.message ?? "", /127\.0\.0\.2 port \d+ is not a public address/);
  assert.equal(findAddressProblem("127.0.0.1", receiver.port, allow), null);
});
