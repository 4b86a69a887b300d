import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type tls from "node:tls";
import { gzipSync } from "node:zlib";
import { startRawReceiver } from "./receiver.fixture.ts";
import { OK_STATUS_LINE, sendOneAttempt, WHOLE_REPLY } from "./single-attempt.fixture.ts";

/** Writes a piece repeatedly until the connection closes. */
function sendSlowly(socket: tls.TLSSocket, piece: string, everyMs: number) {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once("close", () => clearInterval(timer));
}

/** How a receiver misbehaves, and the expected status or error. */
const TRAPS: [name: string, behavior: (socket: tls.TLSSocket, reset: () => void) => void, expected: number | RegExp][] =
  [
    ["hangs before the status line", () => {}, /no status line within/],
    ["hangs in the middle of the status line", (socket) => socket.write("HTTP/1.1 20"), /no status line within/],
    ["hangs in the middle of the headers", (socket) => socket.write(`${OK_STATUS_LINE}content-le`), 200],
    ["hangs after a 200 status line", (socket) => socket.write(OK_STATUS_LINE), 200],
    ["hangs after a 500 status line", (socket) => socket.write("HTTP/1.1 500 No\r\n"), 500],
    ["hangs after the headers", (socket) => socket.write(`${OK_STATUS_LINE}content-length: 10\r\n\r\n`), 200],
    ["drips the status line", (socket) => sendSlowly(socket, "H", 20), /HTTP|status line/],
    ["drips empty lines", (socket) => sendSlowly(socket, "\r\n", 20), /no status line within/],
    ["floods with empty lines", (socket) => sendSlowly(socket, "\r\n".repeat(20_000), 1), /64 KiB/],
    [
      "writes its reply a byte at a time, and in time",
      async (socket) => {
        for (const byte of WHOLE_REPLY) {
          socket.write(byte);
          await sleep(2);
        }
      },
      200,
    ],
    [
      "never reads the request",
      (socket) => {
        socket.pause();
      },
      /no status line within/,
    ],
    [
      "drips headers forever after a 200",
      (socket) => {
        socket.write(OK_STATUS_LINE);
        sendSlowly(socket, "a: b\r\n", 5);
      },
      200,
    ],
    [
      "drips headers forever after a 400",
      (socket) => {
        socket.write("HTTP/1.1 400 x\r\n");
        sendSlowly(socket, "a: b\r\n", 5);
      },
      400,
    ],
    [
      "floods with 103",
      (socket) => sendSlowly(socket, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(200), 1),
      /64 KiB|HTTP/,
    ],
    ["drips 103", (socket) => sendSlowly(socket, "HTTP/1.1 103 Early Hints\r\n\r\n", 20), /no status line within/],
    [
      "sends 103 and then 200",
      (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${WHOLE_REPLY}`),
      200,
    ],
    ["sends 100 and then 200", (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${WHOLE_REPLY}`), 200],
    [
      "sends an infinite body after 200",
      (socket) => {
        socket.write(`${OK_STATUS_LINE}\r\n`);
        sendSlowly(socket, "x".repeat(50_000), 1);
      },
      200,
    ],
    [
      "sends an infinite body after 500",
      (socket) => {
        socket.write("HTTP/1.1 500 x\r\n\r\n");
        sendSlowly(socket, "x".repeat(50_000), 1);
      },
      500,
    ],
    [
      "drips the body",
      (socket) => {
        socket.write(`${OK_STATUS_LINE}transfer-encoding: chunked\r\n\r\n`);
        sendSlowly(socket, "1\r\nx\r\n", 10);
      },
      200,
    ],
    [
      "drips a body of a declared length",
      (socket) => {
        socket.write(`${OK_STATUS_LINE}content-length: 1000000\r\n\r\n`);
        sendSlowly(socket, "x", 10);
      },
      200,
    ],
    [
      "sends trailers forever",
      (socket) => {
        socket.write(`${OK_STATUS_LINE}transfer-encoding: chunked\r\n\r\n0\r\n`);
        sendSlowly(socket, "a: b\r\n", 5);
      },
      200,
    ],
    [
      "sends a chunk's extension forever",
      (socket) => {
        socket.write(`${OK_STATUS_LINE}transfer-encoding: chunked\r\n\r\n1;`);
        sendSlowly(socket, "x".repeat(10_000), 5);
      },
      200,
    ],
    [
      "declares a chunk of 16 exabytes",
      (socket) => socket.write(`${OK_STATUS_LINE}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n`),
      200,
    ],
    [
      "breaks the chunked body of a 200",
      (socket) => socket.write(`${OK_STATUS_LINE}transfer-encoding: chunked\r\n\r\nzzz\r\n`),
      200,
    ],
    [
      "sends 100 KB of headers after 200",
      (socket) => socket.write(`${OK_STATUS_LINE}a: ${"b".repeat(100_000)}\r\n\r\n`),
      200,
    ],
    [
      "sends 100 KB of headers after 404",
      (socket) => socket.write(`HTTP/1.1 404 x\r\na: ${"b".repeat(100_000)}\r\n\r\n`),
      404,
    ],
    ["sends 10,000 headers", (socket) => socket.write(`${OK_STATUS_LINE}${"a: b\r\n".repeat(10_000)}\r\n`), 200],
    ["sends a header with a zero byte", (socket) => socket.write(`${OK_STATUS_LINE}a: \u0000\r\n\r\n`), 200],
    ["sends a header without a name", (socket) => socket.write(`${OK_STATUS_LINE}: b\r\n\r\n`), 200],
    ["folds a header", (socket) => socket.write(`${OK_STATUS_LINE}a: b\r\n c\r\ncontent-length: 0\r\n\r\n`), 200],
    ["declares a negative length", (socket) => socket.write(`${OK_STATUS_LINE}content-length: -1\r\n\r\n`), 200],
    [
      "declares a length beyond 64 bits",
      (socket) => socket.write(`${OK_STATUS_LINE}content-length: 99999999999999999999\r\n\r\n`),
      200,
    ],
    [
      "declares both a length and chunks",
      (socket) => socket.write(`${OK_STATUS_LINE}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
      200,
    ],
    ["declares an unknown encoding", (socket) => socket.write(`${OK_STATUS_LINE}transfer-encoding: x\r\n\r\nhi`), 200],
    ["sends a 204 with a body", (socket) => socket.write("HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nhi"), 204],
    ["sends a 304", (socket) => socket.write("HTTP/1.1 304 Not Modified\r\n\r\n"), 304],
    ["breaks the headers of a 500", (socket) => socket.write("HTTP/1.1 500 x\r\n: b\r\n\r\n"), 500],
    [
      "packs 50 MB into 50 KB",
      (socket) => {
        const bomb = gzipSync(Buffer.alloc(50_000_000));
        socket.write(`HTTP/1.1 400 x\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
        socket.write(bomb);
      },
      400,
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
      /another protocol/,
    ],
    [
      "upgrades to HTTP/2 and then sends a 200",
      (socket) => socket.write(`HTTP/1.1 101 X\r\nupgrade: h2c\r\n\r\n${WHOLE_REPLY}`),
      /another protocol/,
    ],
    [
      "sends 100 repeatedly",
      (socket) => sendSlowly(socket, "HTTP/1.1 100 Continue\r\n\r\n", 10),
      /no status line within/,
    ],
    [
      "sends 100 and, a little later, 200",
      async (socket) => {
        socket.write("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n");
        await sleep(20);
        socket.write("a: b\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
        await sleep(20);
        socket.write(WHOLE_REPLY);
      },
      200,
    ],
    ["replies twice", (socket) => socket.write(WHOLE_REPLY + WHOLE_REPLY), 200],
    [
      "replies 500 and then 200",
      (socket) => socket.write(`HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n${WHOLE_REPLY}`),
      500,
    ],
    ["closes without a reply", (socket) => socket.end(), /closed/],
    ["resets before the reply", (_socket, reset) => reset(), /reset|closed/],
    ["resets within the status line", (socket, reset) => socket.write("HTTP/1.1 2", reset), /reset|closed/],
    [
      "resets right after a 200 status line",
      (socket, reset) => socket.write(OK_STATUS_LINE, () => setTimeout(reset, 20)),
      200,
    ],
    [
      "resets within the headers of a 200",
      (socket, reset) => socket.write(`${OK_STATUS_LINE}a: b`, () => setTimeout(reset, 20)),
      200,
    ],
    [
      "resets within the body of a 200",
      (socket, reset) => socket.write(`${OK_STATUS_LINE}content-length: 9\r\n\r\nhi`, () => setTimeout(reset, 20)),
      200,
    ],
    ["resets after a whole reply", (socket, reset) => socket.write(WHOLE_REPLY, () => setTimeout(reset, 5)), 200],
    [
      "resets within the body of a 500",
      (socket, reset) => socket.write("HTTP/1.1 500 x\r\ncontent-length: 9\r\n\r\nhi", () => setTimeout(reset, 20)),
      500,
    ],
    ["ends its side right after a whole reply", (socket) => socket.end(WHOLE_REPLY), 200],
    ["closes within the body of a 200", (socket) => socket.end(`${OK_STATUS_LINE}content-length: 10\r\n\r\nhi`), 200],
    ["closes right after a 200 status line", (socket) => socket.end(OK_STATUS_LINE), 200],
    [
      "contradicts itself about the length",
      (socket) => socket.write(`${OK_STATUS_LINE}content-length: 2\r\ncontent-length: 3\r\n\r\nhi`),
      200,
    ],
    ["lets the body end with the connection", (socket) => socket.end(`${OK_STATUS_LINE}\r\nhello`), 200],
  ];

suite("traps in replies", { concurrency: 4 }, () => {
  for (const [name, behavior, expected] of TRAPS)
    test(`a receiver that ${name} causes exactly one ${typeof expected === "number" ? "reply" : "failed attempt"}`, async () => {
      let requests = 0;
      const receiver = await startRawReceiver((socket, _body, reset) => {
        requests++;
        behavior(socket, reset);
      });
      const reply = await sendOneAttempt(receiver);
      if (reply.outcome === "response") assert.equal(reply.status, expected);
      else assert.match(reply.error, expected as RegExp);
      assert.equal(requests, 1);
    });
});
