// A process of `bench:delivery`: endpoints that record arrivals and answer as configured.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { ensureLocalCertificate } from "../../src/http/local-certificate.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { serveRequests } from "../worker-process.ts";

export interface Behaviour {
  status: number;
  delayMs: number;
  /** `patientUntil`: sends Retry-After until then (real time, milliseconds since 1970); 0: none. */
  patientEvery: number;
  patientUntil: number;
  /** Of service time. */
  rate: number;
}

/** Milliseconds since 1970, with a fraction. */
export interface Arrival {
  eventId: string;
  /** From the path. */
  merchant: number;
  /** First byte. */
  at: number;
  /** Answered. */
  endAt: number;
  status: number;
}

const REASONS: Record<number, string> = { 200: "OK", 500: "Internal Server Error", 503: "Service Unavailable" };
const HEAD_END = "\r\n\r\n";

const folder = await mkdtemp(join(tmpdir(), "dunlin-bench-"));
const { cert, key, caFile } = await ensureLocalCertificate(folder, "127.0.0.1", new Date());
const ca = await readFile(caFile, "utf8");
await rm(folder, { recursive: true });

let behaviour: Behaviour = { status: 200, delayMs: 0, patientEvery: 0, patientUntil: 0, rate: 1 };
let journal: Arrival[] = [];
const inFlight = new Map<number, number>();
const inFlightMax = new Map<number, number>();

const nowMs = () => performance.timeOrigin + performance.now();

function reply(merchant: number): { status: number; text: string } {
  const { status, patientEvery, patientUntil, rate } = behaviour;
  const isPatient = patientEvery > 0 && merchant % patientEvery === 0;
  // Rounded up: no request should come too early.
  const seconds = Math.max(1, Math.ceil(((patientUntil - nowMs()) * rate) / 1_000));
  const more = isPatient ? `Retry-After: ${seconds}\r\n` : "";
  const said = isPatient ? 503 : status;
  return { status: said, text: `HTTP/1.1 ${said} ${REASONS[said]}\r\n${more}Content-Length: 2\r\n\r\n{}` };
}

const server = tls.createServer({ cert, key }, (socket) => {
  let text = "";
  let at = Number.NaN;
  socket.setNoDelay(true);
  socket.setEncoding("latin1");
  socket.on("error", () => {});
  socket.on("data", (piece: string) => {
    if (text === "") at = nowMs();
    text += piece;
    for (let head = text.indexOf(HEAD_END); head >= 0; head = text.indexOf(HEAD_END)) {
      const end = head + HEAD_END.length + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < end) return;
      const merchant = Number(/^POST \/hooks\/(\d+)/.exec(text)?.[1] ?? -1);
      const eventId = /"id":"([^"]+)"/.exec(text.slice(head))?.[1] ?? "";
      text = text.slice(end);
      answerRequest(socket, { eventId, merchant, at, endAt: Number.NaN, status: 0 });
    }
  });
});

function answerRequest(socket: tls.TLSSocket, arrival: Arrival) {
  const { merchant } = arrival;
  const now = (inFlight.get(merchant) ?? 0) + 1;
  inFlight.set(merchant, now);
  if (now > (inFlightMax.get(merchant) ?? 0)) inFlightMax.set(merchant, now);
  journal.push(arrival);
  const end = () => {
    const { status, text } = reply(merchant);
    inFlight.set(merchant, inFlight.get(merchant)! - 1);
    arrival.status = status;
    arrival.endAt = nowMs();
    socket.write(text);
  };
  if (behaviour.delayMs === 0) end();
  else setTimeout(end, behaviour.delayMs);
}

server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as { port: number };

serveRequests({
  endpoint: (): Endpoint => ({ port, ca }),
  behave(next: Behaviour) {
    behaviour = next;
  },
  count: () => journal.length,
  /** Since the last call, in order. */
  journal(): Arrival[] {
    const all = journal;
    journal = [];
    return all;
  },
  /** Of any merchant, since the last call. */
  most(): number {
    const most = Math.max(0, ...inFlightMax.values());
    inFlightMax.clear();
    return most;
  },
});
