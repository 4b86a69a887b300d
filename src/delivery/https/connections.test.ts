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

/** A listener in place of an endpoint that never receives a request. */
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
    setCertificate: () => assert.fail("it has no certificate"),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The start of a server's handshake: the header of a 4,096-byte record. */
const RECORD = Buffer.from([0x16, 3, 3, 16, 0]);
const handshakeTraps: [name: string, behavior: (socket: Socket) => void, words: RegExp][] = [
  ["accepts and stays silent", () => {}, /no status line within/],
  ["accepts and closes", (socket) => socket.end(), /closed|disconnected|reset/],
  ["accepts and resets", (socket) => socket.resetAndDestroy(), /reset|disconnected|closed/],
  ["speaks HTTP without TLS", (socket) => socket.end(`HTTP/1.1 400 Bad Request\r\n\r\n`), /wrong version|packet|SSL/],
  [
    "answers a request with HTTP without TLS",
    (socket) => socket.once("data", () => socket.end(WHOLE_REPLY)),
    /wrong version|packet|SSL/,
  ],
  ["greets like a mail server", (socket) => socket.write("220 mail.example ESMTP\r\n"), /wrong version|packet|SSL/],
  ["starts a handshake and stops", (socket) => socket.write(RECORD), /no status line within/],
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
  for (const [name, behavior, words] of handshakeTraps)
    test(`an attempt fails once when the listener ${name}`, async () => {
      const other = await startOther(behavior);
      const reply = await sendOneAttempt(other);
      assert.match(reply.outcome === "failed" ? reply.error : JSON.stringify(reply), words);
      assert.equal(other.connections(), 1);
    });

  test("a receiver that supports only TLS 1.1 is refused", async () => {
    const id = await localIdentity();
    const oldProtocol = { ...id, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    const context = { ...oldProtocol, secureContext: tls.createSecureContext(oldProtocol) };
    const other = await startOther((socket) => {
      new tls.TLSSocket(socket, { isServer: true, ...context }).on("error", () => {});
    });
    const reply = await sendOneAttempt(other);
    assert.match(reply.outcome === "failed" ? reply.error : "", /protocol|alert|version/);
  });

  test("an attempt fails once when the receiver closes right after the handshake", async () => {
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
    test(`each event is posted once or fails when the receiver ${name} a kept connection ${when}`, async () => {
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
        // Around the end of the connection, so that some requests are written to a connection that is closing.
        await sleep(i % 4 === 0 ? 12 : i % 4);
      }
      if (delay === "request") assert.equal(failed, 10);
      await sleep(50);
      assert.equal(sender.connections().open - sender.connections().idle, 0);
      assert.equal(new Set(bodies).size, bodies.length, "no request is repeated");
      assert.ok(failed + bodies.length >= 20, "no request is skipped");
    });

test("the next event uses a new connection when the receiver asks to close it", async () => {
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

test("an attempt fails when the certificate has expired and the kept connection is older than five minutes", async () => {
  const valid = await createSelfSignedCertificate();
  const expired = await createSelfSignedCertificate(new Date("2020-01-01"), new Date("2020-02-01"));
  const receiver = await startRawReceiver((socket) => void socket.write(WHOLE_REPLY), valid);
  let nowMs = 0;
  const { post } = senderOf({ ...receiver, ca: `${valid.cert}\n${expired.cert}` }, { monotonicMs: () => nowMs });
  assert.equal((await post("{}")).outcome, "response");
  receiver.setCertificate(expired);
  nowMs = 299_000;
  assert.equal((await post("{}")).outcome, "response", "the kept connection had a valid handshake");
  nowMs = 301_000;
  assert.equal((await post("{}")).outcome, "response", "the last attempt on the kept connection");
  const late = await post("{}");
  assert.match(late.outcome === "failed" ? late.error : "", /expired/);
  assert.equal(receiver.connections(), 2);
  receiver.setCertificate(valid);
  assert.equal((await post("{}")).outcome, "response", "it recovers");
});

test("a certificate is refused on each connection when it is not valid yet or its authority is not trusted", async () => {
  const notYetValid = await createSelfSignedCertificate(new Date("2099-01-01"), new Date("2099-02-01"));
  const receiver = await startRawReceiver((socket) => void socket.write(WHOLE_REPLY), notYetValid);
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

test("the deadline includes lookup and handshake", async () => {
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
