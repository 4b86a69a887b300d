import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import { startTlsEndpoint } from "../../tls-endpoint.ts";
import { processNumberOf } from "./delivery-fleet.ts";

/** A received webhook; times are real time. */
export interface Arrival {
  eventId: string;
  /** From the path of the request. */
  merchant: number;
  /** The process that sent it. */
  life: number;
  at: number;
  /** When the receiver began to answer, or cut the connection; null if neither has happened. */
  endAt: number | null;
  /** The status sent; null for none. */
  status: number | null;
  /** In service time. */
  retryAfterMs: number;
  /** Whether the sender disconnected before the answer. */
  cut: boolean;
}

export interface Receiver {
  port: number;
  journal: Arrival[];
  /** The one body of each event. */
  bodies: Map<string, string>;
  /** Events that came with two different bodies. */
  changed: string[];
  /** Times at which a process exceeded a merchant's cap of concurrent requests. */
  overCap: string[];
  /** From now on answers at once, and with 200 except for permanently refused events. */
  calm(): void;
  close(): void;
}

export interface ReceiverOptions {
  seed: number;
  tls: { cert: string; key: string };
  /** Cap of concurrent requests per merchant. */
  cap: number;
  /** The number of slow merchants, which come first. */
  sluggish: number;
}

type Reply = "ok" | "slow" | "slow refusal" | "cut body" | "endless body" | "refuse" | "busy" | "reset" | "hang";
const REPLIES = [
  ["ok", 63],
  ["slow", 8],
  ["slow refusal", 2],
  ["cut body", 3],
  ["endless body", 0.6],
  ["refuse", 14],
  ["busy", 2],
  ["reset", 6],
  ["hang", 0.6],
] as const;
const BUSY_S = 1_800;
const SLOW_MS = [1_000, 5_000] as const;
const HANG_MS = 4_000;
const SLOW_MERCHANT_MS = 3_500;
/** Share of permanently refused events, which become exhausted. */
const PERMANENT_REFUSAL_RATE = 0.06;

/** Starts the merchants' endpoint, which often fails and keeps a journal. */
export async function startReceiver({ seed, tls, cap, sluggish }: ReceiverOptions): Promise<Receiver> {
  const journal: Arrival[] = [];
  const bodies = new Map<string, string>();
  const changed: string[] = [];
  const overCap: string[] = [];
  const counts = new Map<string, number>();
  const inFlight = new Map<string, number>();
  const waiting = new Set<() => void>();
  let calm = false;

  function replyFor(eventId: string, merchant: number, count: number): Reply {
    const draw = keyedRandom(seed, "reply", eventId, count);
    if (keyedRandom(seed, "dead", eventId) < PERMANENT_REFUSAL_RATE) return draw < 0.7 ? "refuse" : "reset";
    if (calm) return "ok";
    return merchant < sluggish ? "slow" : pickWeighted(draw, REPLIES);
  }

  function receive(request: IncomingMessage, response: ServerResponse, text: string) {
    const eventId = (JSON.parse(text) as { id: string }).id;
    const merchant = Number(request.url!.split("/").at(-1));
    const known = bodies.get(eventId);
    if (known === undefined) bodies.set(eventId, text);
    else if (known !== text) changed.push(eventId);
    const count = (counts.get(eventId) ?? 0) + 1;
    counts.set(eventId, count);
    const reply = replyFor(eventId, merchant, count);
    const life = processNumberOf(request.socket.remoteAddress);
    const retryAfterMs = reply === "busy" ? BUSY_S * 1_000 : 0;
    const base = { eventId, merchant, life, at: Date.now(), endAt: null, status: null, retryAfterMs, cut: false };
    const arrival: Arrival = base;
    journal.push(arrival);
    const lane = `${life} ${merchant}`;
    const now = (inFlight.get(lane) ?? 0) + 1;
    inFlight.set(lane, now);
    if (now > cap) overCap.push(`process ${life} had ${now} requests to merchant ${merchant} under way`);
    const end = (status: number | null, act: () => void) => {
      if (arrival.endAt !== null) return;
      arrival.endAt = Date.now();
      arrival.status = status;
      inFlight.set(lane, inFlight.get(lane)! - 1);
      act();
    };
    response.on("close", () => {
      arrival.cut ||= arrival.endAt === null;
      end(null, () => {});
    });
    const draw = keyedRandom(seed, "slow", eventId, count);
    const slowMs = merchant < sluggish ? SLOW_MERCHANT_MS : SLOW_MS[0] + draw * (SLOW_MS[1] - SLOW_MS[0]);
    sendReply(reply, { socket: request.socket, response, end, slowMs, waiting });
  }

  const endpoint = await startTlsEndpoint(tls, 60_000, receive);
  return {
    port: endpoint.port,
    journal,
    bodies,
    changed,
    overCap,
    calm() {
      calm = true;
      for (const release of waiting) release();
    },
    close: endpoint.close,
  };
}

interface PendingReply {
  socket: Socket;
  response: ServerResponse;
  end(status: number | null, act: () => void): void;
  slowMs: number;
  /** Pending answers, which `calm` releases. */
  waiting: Set<() => void>;
}

function sendReply(reply: Reply, { socket, response, end, slowMs, waiting }: PendingReply) {
  const cut = () => end(null, () => socket.destroy());
  const plain = (status: number, headers = {}) => end(status, () => response.writeHead(status, headers).end("{}"));
  const later = (ms: number, act: () => void) => {
    const release = () => {
      clearTimeout(timer);
      waiting.delete(release);
      act();
    };
    const timer = setTimeout(release, ms);
    waiting.add(release);
  };
  if (reply === "ok") plain(200);
  else if (reply === "slow") later(slowMs, () => plain(200));
  else if (reply === "slow refusal") later(slowMs, () => plain(500));
  else if (reply === "refuse") plain(500);
  else if (reply === "busy") plain(503, { "retry-after": String(BUSY_S) });
  else if (reply === "reset") cut();
  else if (reply === "hang") later(HANG_MS, cut);
  // The status line decides; later failures cannot undo it.
  else
    end(200, () => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      if (reply === "cut body") setTimeout(() => socket.end(), 20);
    });
}
