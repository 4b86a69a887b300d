// A process of `bench:delivery`: accepts every request and never answers.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { ensureLocalCertificate } from "../../src/http/local-certificate.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { serveRequests } from "../worker-process.ts";

const folder = await mkdtemp(join(tmpdir(), "dunlin-bench-"));
const { cert, key, caFile } = await ensureLocalCertificate(folder, "127.0.0.1", new Date());
const ca = await readFile(caFile, "utf8");
await rm(folder, { recursive: true });

let open = 0;
let openMax = 0;
let made = 0;
const server = tls.createServer({ cert, key }, (socket) => {
  made++;
  openMax = Math.max(openMax, ++open);
  socket.on("error", () => {});
  socket.once("close", () => open--);
  socket.resume();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as { port: number };

export interface ConnectionCounts {
  open: number;
  openMax: number;
  made: number;
}

serveRequests({ endpoint: (): Endpoint => ({ port, ca }), hung: (): ConnectionCounts => ({ open, openMax, made }) });
