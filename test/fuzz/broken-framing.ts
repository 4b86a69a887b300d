import { connect as connectPlain } from "node:net";
import { connect } from "node:tls";
import type { SeededRandom } from "./seeded-random.ts";

/** The service's port, and the key of a merchant. */
export interface FuzzTarget {
  port: number;
  ca: string;
  apiKey: string;
}

const BODY = '{"invoices":[]}';

/** Yields bytes that are no HTTP request, or one that two programs on the route could read differently. */
function* brokenFramings(apiKey: string): Generator<string> {
  const head = `POST /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`;
  const get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
  yield* [
    "",
    "\r\n",
    "\0",
    "GET",
    "GET / HTTP/9.9\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x16\x03\x01\x02\x00",
  ];
  yield* [`${head}Content-Length: 5\r\nContent-Length: 15\r\n\r\n${BODY}`, `${head}Content-Length: -1\r\n\r\n${BODY}`];
  yield* [`${head}Content-Length: 1e3\r\n\r\n${BODY}`, `${head}Content-Length: 99999999999999999999\r\n\r\n${BODY}`];
  yield* [`${head}Content-Length: 15\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, `${head}\r\n${BODY}`];
  yield* ["gzip, chunked", "chunked, chunked", "identity", "\x0bchunked", "xchunked"].map(
    (coding) => `${head}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
  );
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  yield* ["zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "5\r\nabc", "5;\0\r\nabcde\r\n0\r\n\r\n", "0\r\nX: y"].map(
    (rest) => chunked + rest,
  );
  yield `${get}Host: other\r\n\r\n`;
  yield `${get}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`;
  yield* ["X: a\nb\r\n", "X : a\r\n", " X: a\r\n", ": a\r\n", "X\r\n", "X: \0\r\n", "X: \xff\r\n"].map(
    (line) => `${get}${line}\r\n`,
  );
  yield `${get}X: ${"a".repeat(40_000)}\r\n\r\n`;
  yield `${get}${Array.from({ length: 3_000 }, (_, index) => `X${index}: a\r\n`).join("")}\r\n`;
  yield* ["TRACE / HTTP/1.1\r\n", "CONNECT a:1 HTTP/1.1\r\n", "get / HTTP/1.1\r\n", "GET  / HTTP/1.1\r\n"].map(
    (line) => `${line}Host: localhost\r\n\r\n`,
  );
  yield* ["http://other/healthz", "*", "//", "/%", "/%00", "/a b", "/\xff", `/${"a".repeat(20_000)}`].map(
    (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  );
  yield `${get}Expect: 100-continue, x\r\n\r\n`;
  yield `${get}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`;
  yield `${get}\r\n`.repeat(50);
}

const REPLY_WAIT_MS = 300;

/** Sends broken framing on a separate socket. Returns the answer. The service may hang up at any time. */
export async function sendBrokenFraming({ port, ca, apiKey }: FuzzTarget, dice: SeededRandom): Promise<string> {
  const all = [...brokenFramings(apiKey)];
  const bytes = dice.pick(all);
  const cut = dice.once(4) ? bytes.slice(0, dice.upTo(bytes.length + 1)) : bytes;
  const socket = dice.once(10)
    ? connectPlain({ port, host: "127.0.0.1" })
    : connect({ port, host: "127.0.0.1", servername: "localhost", ca });
  let answer = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  socket.write(Buffer.from(cut, "latin1"));
  // A complete request is answered by then; the rest would never be.
  const patience = setTimeout(() => socket.destroy(), REPLY_WAIT_MS);
  if (dice.once(3)) socket.end();
  // `once` of node:events would throw when the service resets the connection, which it may.
  await new Promise((resolve) => socket.once("close", resolve));
  clearTimeout(patience);
  return answer;
}
