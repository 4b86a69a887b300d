// A process of `delivery`: the merchants' endpoint. Only reads, counts and answers 200, to leave the cores to the senders.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { ensureLocalCertificate } from "../src/http/local-certificate.ts";
import { serveRequests } from "./worker-process.ts";

export interface Endpoint {
  port: number;
  ca: string;
}

/** Since the last mark. */
export interface ReceiverMark {
  requests: number;
  /** New ones. */
  connections: number;
  /** Of the first answer, in milliseconds since 1970, with a fraction. */
  firstAt: number;
}

const REPLY = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
const HEAD_END = "\r\n\r\n";

const folder = await mkdtemp(join(tmpdir(), "dunlin-bench-"));
const { cert, key, caFile } = await ensureLocalCertificate(folder, "127.0.0.1", new Date());
const ca = await readFile(caFile, "utf8");
await rm(folder, { recursive: true });

let received = 0;
let connections = 0;
let lastMark: ReceiverMark = { requests: 0, connections: 0, firstAt: Number.NaN };
let awaitedRequests = { count: Number.POSITIVE_INFINITY, reached() {} };

const server = tls.createServer({ cert, key }, (socket) => {
  let text = "";
  connections++;
  socket.setNoDelay(true);
  socket.setEncoding("latin1");
  socket.on("error", () => {});
  socket.on("data", (piece: string) => {
    text += piece;
    for (let head = text.indexOf(HEAD_END); head >= 0; head = text.indexOf(HEAD_END)) {
      const end = head + HEAD_END.length + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < end) return;
      text = text.slice(end);
      socket.write(REPLY);
      if (received === lastMark.requests) lastMark.firstAt = performance.timeOrigin + performance.now();
      if (++received >= awaitedRequests.count) awaitedRequests.reached();
    }
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as { port: number };

serveRequests({
  endpoint: (): Endpoint => ({ port, ca }),
  /** Since the start. */
  reached: (count: number) =>
    new Promise<void>((resolve) => {
      awaitedRequests = { count, reached: resolve };
      if (received >= count) resolve();
    }),
  received: () => received,
  mark(): ReceiverMark {
    const { requests, connections: known, firstAt } = lastMark;
    lastMark = { requests: received, connections, firstAt: Number.NaN };
    return { requests: received - requests, connections: connections - known, firstAt };
  },
});
