import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { integerBetween, keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import { startTlsEndpoint } from "../../tls-endpoint.ts";
import { processNumberOf } from "./service-fleet.ts";

/** A received webhook; times are real time. */
export interface Arrival {
  eventId: string;
  /** The number at the end of the endpoint's path. */
  merchant: number;
  /** The number of the process that sent it. */
  process: number;
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

export interface WebhookBody {
  id: string;
  type: "recovery_action" | "pause_collection" | "complete_dunning";
  data: { invoiceId: string; actionSuggestion?: string; idealRetryTime?: string };
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
  /** From now on answers at once, and with 200 except for what is always refused. */
  calm(): void;
  /** Forces new connections. */
  cutConnections(): void;
  close(): void;
}

/** An answer to a request. `hang up` cuts the connection without one; the last two send 200 and then fail. */
type Answer = "ok" | "refuse" | "busy" | "hang up" | "cut body" | "endless body";

export interface Reply {
  answer: Answer;
  /** The least and the most real milliseconds before it. */
  afterMs?: readonly [number, number];
}

export interface ReceiverOptions {
  seed: number;
  tls: { cert: string; key: string };
  /** Each reply with its weight. */
  replies: readonly (readonly [Reply, number])[];
  /** The share of events that are always refused, so that they become exhausted; events with the same key share their fate. */
  refused?: { share: number; keyOf(event: WebhookBody): string };
  /** How many merchants are slow, which come first, and their reply. */
  slow?: { merchants: number; reply: Reply };
  /** Cap of concurrent requests per merchant and process. */
  cap?: number;
  /** The bearer token without which a request is refused. */
  token?: string;
  keepAliveMs?: number;
  onArrival?(event: WebhookBody, isFirst: boolean): void;
  /** Called when an event was answered with 200. */
  onDelivered?(event: WebhookBody, isFirst: boolean): void;
}

const OK: Reply = { answer: "ok" };
const BUSY_S = 1_800;

/** Starts the merchants' endpoint, which answers as told and keeps a journal. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { seed, tls, refused, slow, cap = Number.POSITIVE_INFINITY, token, keepAliveMs = 60_000 } = options;
  const journal: Arrival[] = [];
  const bodies = new Map<string, string>();
  const changed: string[] = [];
  const overCap: string[] = [];
  const counts = new Map<string, number>();
  const delivered = new Set<string>();
  const inFlight = new Map<string, number>();
  const pending = new Set<() => void>();
  let calm = false;

  function replyFor(event: WebhookBody, merchant: number, count: number): Reply {
    const draw = keyedRandom(seed, "reply", event.id, count);
    if (refused && keyedRandom(seed, "refused", refused.keyOf(event)) < refused.share)
      return { answer: draw < 0.7 ? "refuse" : "hang up" };
    if (calm) return OK;
    return slow && merchant < slow.merchants ? slow.reply : pickWeighted(draw, options.replies);
  }

  function receive(request: IncomingMessage, response: ServerResponse, text: string) {
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return void response.writeHead(401).end();
    const event = JSON.parse(text) as Partial<WebhookBody>;
    // `dunlin doctor` checks with an empty object whether the endpoint answers.
    if (event.id === undefined) return void response.writeHead(400).end();
    accept(event as WebhookBody, text, request, response);
  }

  function accept(event: WebhookBody, text: string, request: IncomingMessage, response: ServerResponse) {
    const known = bodies.get(event.id);
    if (known === undefined) bodies.set(event.id, text);
    else if (known !== text) changed.push(event.id);
    const count = (counts.get(event.id) ?? 0) + 1;
    counts.set(event.id, count);
    const merchant = Number(request.url!.split("/").at(-1));
    const process = processNumberOf(request.socket.remoteAddress);
    const { answer, afterMs = [0, 0] } = replyFor(event, merchant, count);
    const retryAfterMs = answer === "busy" ? BUSY_S * 1_000 : 0;
    const sender = { eventId: event.id, merchant, process };
    const arrival: Arrival = { ...sender, at: Date.now(), endAt: null, status: null, retryAfterMs, cut: false };
    journal.push(arrival);
    const leave = enter(arrival);
    options.onArrival?.(event, count === 1);
    const end = (status: number | null, act: () => void) => {
      if (arrival.endAt !== null) return;
      arrival.endAt = Date.now();
      arrival.status = status;
      leave();
      act();
      if (status !== 200) return;
      const isFirst = !delivered.has(event.id);
      delivered.add(event.id);
      options.onDelivered?.(event, isFirst);
    };
    response.on("close", () => {
      arrival.cut ||= arrival.endAt === null;
      end(null, () => {});
    });
    const ms = integerBetween(keyedRandom(seed, "slow", event.id, count), ...afterMs);
    later(ms, () => sendAnswer(answer, request.socket, response, end));
  }

  /** Counts a request as under way until the returned function is called. */
  function enter({ process, merchant }: Arrival): () => void {
    const lane = `${process} ${merchant}`;
    const now = (inFlight.get(lane) ?? 0) + 1;
    inFlight.set(lane, now);
    if (now > cap) overCap.push(`process ${process} had ${now} requests to merchant ${merchant} under way`);
    return () => void inFlight.set(lane, inFlight.get(lane)! - 1);
  }

  function later(ms: number, act: () => void) {
    if (ms === 0) return act();
    const release = () => {
      clearTimeout(timer);
      pending.delete(release);
      act();
    };
    const timer = setTimeout(release, ms);
    timer.unref();
    pending.add(release);
  }

  const endpoint = await startTlsEndpoint(tls, keepAliveMs, receive);
  return {
    port: endpoint.port,
    journal,
    bodies,
    changed,
    overCap,
    calm() {
      calm = true;
      for (const release of pending) release();
    },
    cutConnections: endpoint.cutConnections,
    close: endpoint.close,
  };
}

function sendAnswer(
  answer: Answer,
  socket: Socket,
  response: ServerResponse,
  end: (status: number | null, act: () => void) => void,
) {
  const plain = (status: number, headers = {}) => end(status, () => response.writeHead(status, headers).end("{}"));
  if (answer === "ok") plain(200);
  else if (answer === "refuse") plain(500);
  else if (answer === "busy") plain(503, { "retry-after": String(BUSY_S) });
  else if (answer === "hang up") end(null, () => socket.destroy());
  // The status line decides; later failures cannot undo it.
  else
    end(200, () => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      if (answer === "cut body") setTimeout(() => socket.end(), 20);
    });
}
