import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import tls from "node:tls";
import { createSelfSignedCertificate } from "../../../test/self-signed-certificate.ts";
import { parseAllowList } from "./address-guard.ts";
import { REPLY_LIMITS } from "./exchange.ts";
import { createSender, type SenderOptions } from "./https-sender.ts";
import { localIdentity, type Receiver, startRawReceiver } from "./receiver.fixture.ts";
import { LIMITS, sendOneAttempt, WHOLE_REPLY } from "./single-attempt.fixture.ts";

const closers: (() => unknown)[] = [];
after(() => Promise.all(closers.map((close) => close())));

/** Something that listens where an endpoint should, and never gets as far as a request. */
async function startOther(onConnection: (socket: Socket) => void): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    ca: (await localIdentity()).cert,
    allow: parseAllowList(`127.0.0.1/32:${port}`),
    connections: () => accepted,
    present: () => assert.fail("it has no certificate"),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The beginning of a server's part of the handshake: a record of 4,096 bytes to come. */
const RECORD = Buffer.from([0x16, 3, 3, 16, 0]);
const handshakeTraps: [name: string, behaviour: (socket: Socket) => void, words: RegExp][] = [
  ["accepts and says nothing", () => {}, /no status line within/],
  ["accepts and closes", (socket) => socket.end(), /closed|disconnected|reset/],
  ["accepts and resets", (socket) => socket.resetAndDestroy(), /reset|disconnected|closed/],
  ["speaks HTTP without TLS", (socket) => socket.end(`HTTP/1.1 400 Bad Request\r\n\r\n`), /wrong version|packet|SSL/],
  [
    "speaks HTTP without TLS when it is asked",
    (socket) => socket.once("data", () => socket.end(WHOLE_REPLY)),
    /wrong version|packet|SSL/,
  ],
  ["greets like a mail server", (socket) => socket.write("220 mail.example ESMTP\r\n"), /wrong version|packet|SSL/],
  ["begins a handshake and stops", (socket) => socket.write(RECORD), /no status line within/],
  ["sends an alert", (socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 40])), /alert|SSL/],
  [
    "drips its handshake",
    (socket) => {
      socket.write(RECORD);
      const timer = setInterval(() => socket.write("\u0002"), 20);
      socket.once("close", () => clearInterval(timer));
    },
    /no status line within|SSL|unexpected/,
  ],
  [
    "floods instead of a handshake",
    (socket) => {
      const timer = setInterval(() => socket.write(Buffer.alloc(100_000, 0x16)), 1);
      socket.once("close", () => clearInterval(timer));
    },
    /wrong version|packet|SSL/,
  ],
];

suite("before the first request", { concurrency: 4 }, () => {
  for (const [name, behaviour, words] of handshakeTraps)
    test(`a listener that ${name} costs one failed attempt`, async () => {
      const other = await startOther(behaviour);
      const reply = await sendOneAttempt(other);
      assert.match(reply.outcome === "failed" ? reply.error : JSON.stringify(reply), words);
      assert.equal(other.connections(), 1);
    });

  test("a receiver that knows only TLS 1.1 is refused", async () => {
    const id = await localIdentity();
    const old = { ...id, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    const context = { ...old, secureContext: tls.createSecureContext(old) };
    const other = await startOther((socket) => {
      new tls.TLSSocket(socket, { isServer: true, ...context }).on("error", () => {});
    });
    const reply = await sendOneAttempt(other);
    assert.match(reply.outcome === "failed" ? reply.error : "", /protocol|alert|version/);
  });

  test("a receiver that closes right after the handshake costs one failed attempt", async () => {
    const id = await localIdentity();
    const secureContext = tls.createSecureContext(id);
    const other = await startOther((socket) => {
      const secure = new tls.TLSSocket(socket, { isServer: true, secureContext });
      secure.on("error", () => {});
      secure.once("secure", () => secure.end());
    });
    const reply = await sendOneAttempt(other);
    assert.match(reply.outcome === "failed" ? reply.error : "", /closed|reset/);
    assert.equal(other.connections(), 1);
  });
});

function senderOf(receiver: Receiver, over: Partial<SenderOptions> = {}) {
  const { allow, ca: extraCa } = receiver;
  const sender = createSender({ allow, extraCa, monotonicMs: () => performance.now(), limits: LIMITS, ...over });
  closers.push(sender.close, receiver.close);
  const post = (body: string) => sender.send({ origin: receiver.origin, path: "/", authorization: null, body });
  return { sender, post };
}

const connectionEnds: [name: string, end: (socket: tls.TLSSocket, reset: () => void) => void][] = [
  ["ends", (socket) => socket.end()],
  ["resets", (_socket, reset) => reset()],
];
const breakTimes: [name: string, delayMs: number | "request"][] = [
  ["with the reply", 0],
  ["a moment after the reply", 10],
  ["when the next request has arrived", "request"],
];

for (const [name, end] of connectionEnds)
  for (const [when, delay] of breakTimes)
    test(`a receiver that ${name} a kept connection ${when} sees each event once, or its attempt fails`, async () => {
      const bodies: string[] = [];
      const receiver = await startRawReceiver((socket, body, reset) => {
        bodies.push(body);
        if (delay === "request" && Number(body) % 2 === 1) return end(socket, reset);
        socket.write(WHOLE_REPLY, () => {
          if (delay !== "request") setTimeout(() => end(socket, reset), delay);
        });
      });
      const { sender, post } = senderOf(receiver);
      let failed = 0;
      for (let i = 0; i < 20; i++) {
        const reply = await post(String(i));
        if (reply.outcome === "failed") failed++;
        // Around the moment of the end, so that some are written into a connection that is about to go.
        await sleep(i % 4 === 0 ? 12 : i % 4);
      }
      if (delay === "request") assert.equal(failed, 10);
      await sleep(50);
      assert.equal(sender.connections().open - sender.connections().idle, 0);
      assert.equal(new Set(bodies).size, bodies.length, "nobody repeats a request by himself");
      assert.ok(failed + bodies.length >= 20, "and nobody passes over one");
    });

test("a receiver that asks to close the connection gets a new one for the next event", async () => {
  const receiver = await startRawReceiver(
    (socket) => void socket.write("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
  );
  const { post } = senderOf(receiver);
  for (let i = 0; i < 3; i++) {
    assert.equal((await post("{}")).outcome, "response");
    await sleep(5);
  }
  assert.equal(receiver.connections(), 3);
});

test("a certificate that expires meanwhile fails the first attempt on a new connection, at the latest when the kept one is five minutes old", async () => {
  const valid = await createSelfSignedCertificate();
  const expired = await createSelfSignedCertificate(new Date("2020-01-01"), new Date("2020-02-01"));
  const receiver = await startRawReceiver((socket) => void socket.write(WHOLE_REPLY), valid);
  let nowMs = 0;
  const { post } = senderOf({ ...receiver, ca: `${valid.cert}\n${expired.cert}` }, { monotonicMs: () => nowMs });
  assert.equal((await post("{}")).outcome, "response");
  receiver.present(expired);
  nowMs = 299_000;
  assert.equal((await post("{}")).outcome, "response", "the handshake of this connection was good");
  nowMs = 301_000;
  assert.equal((await post("{}")).outcome, "response", "its last one");
  const late = await post("{}");
  assert.match(late.outcome === "failed" ? late.error : "", /expired/);
  assert.equal(receiver.connections(), 2);
  receiver.present(valid);
  assert.equal((await post("{}")).outcome, "response", "and it recovers by itself");
});

test("a certificate that is not valid yet, or of an authority that is not trusted, is refused on each connection", async () => {
  const early = await createSelfSignedCertificate(new Date("2099-01-01"), new Date("2099-02-01"));
  const receiver = await startRawReceiver((socket) => void socket.write(WHOLE_REPLY), early);
  const { post } = senderOf(receiver);
  for (let i = 0; i < 2; i++) {
    const reply = await post("{}");
    assert.match(reply.outcome === "failed" ? reply.error : "", /not yet valid/);
  }
});

for (const [atMs, expected] of [
  [29_900, "response"],
  [30_000, "response"],
  [30_100, "failed"],
] as const)
  test(`a success at ${atMs / 1_000} s by the monotonic clock is ${expected === "failed" ? "too late" : "in time"}`, async () => {
    let nowMs = 1_000_000;
    const receiver = await startRawReceiver((socket) => {
      nowMs += atMs;
      socket.write(WHOLE_REPLY);
    });
    const { post } = senderOf(receiver, { monotonicMs: () => nowMs, limits: REPLY_LIMITS });
    const reply = await post("{}");
    assert.equal(reply.outcome, expected);
    if (reply.outcome === "failed") assert.equal(reply.error, "no status line within 30 s");
  });

test("the timer of the deadline runs from the start of the attempt, look-up and handshake included", async () => {
  const receiver = await startRawReceiver(
    (socket) => void setTimeout(() => socket.write(WHOLE_REPLY), 0.6 * LIMITS.replyMs),
  );
  const slow = async () => {
    await sleep(0.6 * LIMITS.replyMs);
    return [{ address: "127.0.0.1", family: 4 }];
  };
  const { sender } = senderOf(receiver, { resolve: slow });
  const origin = `https://merchant.example:${receiver.port}`;
  const first = await sender.send({ origin, path: "/", authorization: null, body: "{}" });
  assert.match(first.outcome === "failed" ? first.error : "", /no status line within 2.5 s/);
});
