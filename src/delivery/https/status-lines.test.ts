import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { startRawReceiver } from "./receiver.fixture.ts";
import { OK_STATUS_LINE, sendOneAttempt, WHOLE_REPLY } from "./single-attempt.fixture.ts";

const rest = "content-length: 2\r\n\r\nhi";

/** Starts of a reply that `readStatusLine` and the HTTP parser could interpret differently. */
const BEGINNINGS: [text: string, status: number | null][] = [
  ["HTTP/1.1 200 OK\r\n", 200],
  ["HTTP/1.0 200 OK\r\n", 200],
  ["HTTP/1.1 200\r\n", 200],
  ["HTTP/1.1 200 \r\n", 200],
  ["HTTP/1.1 200\n", 200],
  ["HTTP/1.1 299 Later\r\n", 299],
  ["HTTP/1.1 300 x\r\n", 300],
  ["HTTP/1.1 600 x\r\n", 600],
  ["HTTP/1.1 200 \u00dc\u00ff\r\n", 200],
  ["HTTP/1.1 200 500 Error\r\n", 200],
  ["HTTP/1.1 500 HTTP/1.1 200 OK\r\n", 500],
  ["\r\nHTTP/1.1 200 OK\r\n", 200],
  ["\nHTTP/1.1 200 OK\r\n", 200],
  ["\r\n\r\n\r\nHTTP/1.1 200 OK\r\n", 200],
  ["HTTP/1.1 100 Continue\r\n\r\n\r\nHTTP/1.1 200 OK\r\n", 200],
  ["HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\n", 201],
  ["HTTP/1.1 103 x\r\na: HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 x\r\n", 500],
  ["HTTP/1.1 103 x\nlink: a\n\nHTTP/1.1 200 OK\r\n", null],
  ["HTTP/1.1 100 x\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n", null],
  ["HTTP/1.1 200OK\r\n", null],
  ["HTTP/1.1 2000 OK\r\n", null],
  ["HTTP/1.1 20\r\n", null],
  ["HTTP/1.1 2 0\r\n", null],
  ["HTTP/1.1 +20 x\r\n", null],
  ["HTTP/1.1 0x0 x\r\n", null],
  ["HTTP/1.1 ２００ OK\r\n", null],
  ["HTTP/1.1  200 OK\r\n", null],
  ["HTTP/1.1\t200 OK\r\n", null],
  ["HTTP/1.1200 OK\r\n", null],
  ["HTTP/11 200 OK\r\n", null],
  ["HTTP/1.2 200 OK\r\n", null],
  ["HTTP/0.9 200 OK\r\n", null],
  ["HTTP/2.0 200 OK\r\n", null],
  ["HTTP/3 200 OK\r\n", null],
  ["http/1.1 200 OK\r\n", null],
  ["HTTPS/1.1 200 OK\r\n", null],
  ["RTSP/1.0 200 OK\r\n", null],
  ["ICE/1.0 200 OK\r\n", null],
  ["ICY 200 OK\r\n", null],
  [" HTTP/1.1 200 OK\r\n", null],
  ["\u0000HTTP/1.1 200 OK\r\n", null],
  ["\ufeffHTTP/1.1 200 OK\r\n", null],
  ["POST / HTTP/1.1\r\n", null],
  ["<!doctype html><title>200 OK</title>\r\n", null],
  ["220 mail.example ESMTP\r\n", null],
  ["+OK ready\r\n", null],
  ["-ERR unknown command\r\n", null],
];

suite("status lines", { concurrency: 4 }, () => {
  for (const [text, status] of BEGINNINGS)
    test(`${JSON.stringify(text)} is parsed as ${status === null ? "no HTTP/1.1 reply" : `status ${status}`}`, async () => {
      const reply = await sendOneAttempt(await startRawReceiver((socket) => void socket.write(text + rest)));
      assert.equal(reply.outcome === "response" ? reply.status : null, status, JSON.stringify(reply));
    });
});

const REPLIES = [
  WHOLE_REPLY,
  `HTTP/1.1 103 Early Hints\r\n\r\n${OK_STATUS_LINE}\r\n`,
  "HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\nhi",
];
const ENDS = ["reset", "closed", "left hanging"] as const;

/** The status, if the status line is complete. */
const readStatusAfter = (sent: string) => {
  const line = /HTTP\/1\.1 ([2-9]\d\d)[^\n]*\n/.exec(sent);
  return line === null ? null : Number(line[1]);
};

for (const reply of REPLIES)
  for (const ending of ENDS)
    test(`a connection ${ending} after any byte of ${JSON.stringify(reply)} has the status of its status line, or fails`, async () => {
      // A hanging connection lasts until its deadline, so only every seventh byte is tested.
      const step = ending === "left hanging" ? 7 : 1;
      const cuts = Array.from({ length: Math.ceil((reply.length + 1) / step) }, (_, index) => index * step);
      let requests = 0;
      const sendCut = async (cut: number) => {
        const sent = reply.slice(0, cut);
        const receiver = await startRawReceiver((socket, _body, reset) => {
          requests++;
          // The bytes must arrive before the end of the connection.
          const end = () => setTimeout(ending === "reset" ? reset : () => socket.end(), 20);
          if (ending === "left hanging") socket.write(sent);
          else if (sent === "") end();
          else socket.write(sent, end);
        });
        const received = await sendOneAttempt(receiver);
        const expected = readStatusAfter(sent);
        assert.equal(
          received.outcome === "response" ? received.status : null,
          expected,
          `${cut}: ${JSON.stringify(received)}`,
        );
      };
      for (let at = 0; at < cuts.length; at += 8) await Promise.all(cuts.slice(at, at + 8).map(sendCut));
      assert.equal(requests, cuts.length);
    });
