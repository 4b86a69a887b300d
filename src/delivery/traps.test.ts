import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type tls from "node:tls";
import { startRawReceiver } from "./receiver.fixture.ts";
import { createSender } from "./send.ts";

const closers: (() => unknown)[] = [];
after(() => Promise.all(closers.map((close) => close())));

const LIMITS = { replyMs: 600, bodyMs: 150, bodyBytes: 65_536 };

const ok = "HTTP/1.1 200 OK\r\n";
const whole = `${ok}content-length: 2\r\n\r\nhi`;

/** Writes a piece at a time until the other side has had enough. */
function drip(socket: tls.TLSSocket, piece: string, everyMs: number) {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once("close", () => clearInterval(timer));
}

/** How a receiver misbehaves, and what the attempt must be: a status, or words of the failure. */
const TRAPS: [
  name: string,
  behaviour: (socket: tls.TLSSocket, reset: () => void) => void,
  expected: number | RegExp,
][] = [
  ["hangs before the status line", () => {}, /no status line within/],
  ["hangs in the middle of the status line", (socket) => socket.write("HTTP/1.1 20"), /no status line within/],
  ["hangs after a 200 status line", (socket) => socket.write(ok), 200],
  ["hangs after a 500 status line", (socket) => socket.write("HTTP/1.1 500 No\r\n"), 500],
  ["hangs after the headers", (socket) => socket.write(`${ok}content-length: 10\r\n\r\n`), 200],
  ["drips the status line", (socket) => drip(socket, "H", 20), /HTTP|status line/],
  [
    "drips headers for ever after a 200",
    (socket) => {
      socket.write(ok);
      drip(socket, "a: b\r\n", 5);
    },
    200,
  ],
  [
    "drips headers for ever after a 400",
    (socket) => {
      socket.write("HTTP/1.1 400 x\r\n");
      drip(socket, "a: b\r\n", 5);
    },
    400,
  ],
  [
    "floods with 103",
    (socket) => drip(socket, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(200), 1),
    /64 KiB|HTTP/,
  ],
  ["drips 103", (socket) => drip(socket, "HTTP/1.1 103 Early Hints\r\n\r\n", 20), /no status line within/],
  ["says 103 and then 200", (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${whole}`), 200],
  ["says 100 and then 200", (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${whole}`), 200],
  [
    "sends an infinite body after 200",
    (socket) => {
      socket.write(`${ok}\r\n`);
      drip(socket, "x".repeat(50_000), 1);
    },
    200,
  ],
  [
    "sends an infinite body after 500",
    (socket) => {
      socket.write("HTTP/1.1 500 x\r\n\r\n");
      drip(socket, "x".repeat(50_000), 1);
    },
    500,
  ],
  [
    "drips the body",
    (socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n`);
      drip(socket, "1\r\nx\r\n", 10);
    },
    200,
  ],
  ["breaks the chunked body of a 200", (socket) => socket.write(`${ok}transfer-encoding: chunked\r\n\r\nzzz\r\n`), 200],
  ["sends 100 KB of headers after 200", (socket) => socket.write(`${ok}a: ${"b".repeat(100_000)}\r\n\r\n`), 200],
  [
    "sends 100 KB of headers after 404",
    (socket) => socket.write(`HTTP/1.1 404 x\r\na: ${"b".repeat(100_000)}\r\n\r\n`),
    404,
  ],
  ["sends a status line of 100 KB", (socket) => socket.write(`HTTP/1.1 2${"0".repeat(100_000)}`), /HTTP|64 KiB/],
  ["answers HTTP/1.1 099", (socket) => socket.write("HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n"), /HTTP|reply/],
  ["answers HTTP/1.1 000", (socket) => socket.write("HTTP/1.1 000 Odd\r\ncontent-length: 0\r\n\r\n"), /HTTP|reply/],
  ["answers HTTP/1.1 999", (socket) => socket.write("HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n"), 999],
  ["answers HTTP/2", (socket) => socket.write("HTTP/2 200 OK\r\n\r\n"), /HTTP/],
  ["sends garbage", (socket) => socket.write("\u0000\u0001garbage\r\n\r\n"), /HTTP/],
  ["speaks SSH", (socket) => socket.write("SSH-2.0-OpenSSH_9.6\r\n"), /HTTP/],
  [
    "switches protocols",
    (socket) => socket.write("HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
    /closed/,
  ],
  ["replies twice", (socket) => socket.write(whole + whole), 200],
  ["replies 500 and then 200", (socket) => socket.write(`HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n${whole}`), 500],
  ["closes without a word", (socket) => socket.end(), /closed/],
  ["resets before the reply", (_socket, reset) => reset(), /reset|closed/],
  ["resets within the status line", (socket, reset) => socket.write("HTTP/1.1 2", reset), /reset|closed/],
  ["resets right after a 200 status line", (socket, reset) => socket.write(ok, () => setTimeout(reset, 20)), 200],
  ["closes within the body of a 200", (socket) => socket.end(`${ok}content-length: 10\r\n\r\nhi`), 200],
  ["closes right after a 200 status line", (socket) => socket.end(ok), 200],
  [
    "contradicts itself about the length",
    (socket) => socket.write(`${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nhi`),
    200,
  ],
  ["lets the body end with the connection", (socket) => socket.end(`${ok}\r\nhello`), 200],
];

for (const [name, behaviour, expected] of TRAPS) {
  test(`a receiver that ${name} costs exactly one ${typeof expected === "number" ? "reply" : "failed attempt"}`, async () => {
    let requests = 0;
    const receiver = await startRawReceiver((socket, _body, reset) => {
      requests++;
      behaviour(socket, reset);
    });
    const { allow, ca: extraCa } = receiver;
    const sender = createSender({ allow, extraCa, monotonicMs: () => performance.now(), limits: LIMITS });
    closers.push(
      () => sender.close(),
      () => receiver.close(),
    );
    const startedMs = performance.now();
    const reply = await sender.send({ origin: receiver.origin, path: "/", authorization: null, body: "{}" });
    assert.ok(performance.now() - startedMs < LIMITS.replyMs + LIMITS.bodyMs + 200, "one deadline holds");
    if (reply.outcome === "response") assert.equal(reply.status, expected);
    else assert.match(reply.error, expected as RegExp);
    await sleep(20);
    assert.equal(requests, 1);
    assert.equal(sender.connections().open - sender.connections().idle, 0);
  });
}
