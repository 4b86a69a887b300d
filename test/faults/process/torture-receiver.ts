import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import { startTlsEndpoint } from "../../tls-endpoint.ts";

/** A received webhook; times are real time. */
export interface Arrival {
  eventId: string;
  /** The process of the service that sent it. */
  life: number;
  at: number;
  /** When the receiver began to answer, or cut the connection; null if neither has happened. */
  endAt: number | null;
  reply: Reply;
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
  /** From now on answers at once, and with 200 except for invoices whose events never get through. */
  calm(): void;
  close(): void;
}

export interface ReceiverOptions {
  seed: number;
  tls: { cert: string; key: string };
  token: string;
  life(): number;
  /** Called when an event was answered with 200 for the first time. */
  onEvent(event: WebhookBody): void;
  onArrival(): void;
  onAnswered(): void;
}

type Reply = "ok" | "slow" | "cut body" | "refuse" | "busy" | "reset" | "hang";
const REPLIES = [
  ["ok", 78],
  ["slow", 6],
  ["cut body", 3],
  ["refuse", 6],
  ["busy", 2],
  ["reset", 4],
  ["hang", 0.5],
] as const;
const BUSY_S = 1_800;
const SLOW_MAX_MS = 1_500;
/** Share of invoices whose system refuses everything, so that their events become exhausted. */
const DEAD_INVOICE_RATE = 0.04;

/** Whether the merchant's system refuses everything about this invoice. */
const isDead = (seed: number, invoiceId: string) => keyedRandom(seed, "dead", invoiceId) < DEAD_INVOICE_RATE;

/** Starts the merchant's endpoint, which mostly works and keeps a journal. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { seed } = options;
  const journal: Arrival[] = [];
  const bodies = new Map<string, string>();
  const changed: string[] = [];
  const taken = new Set<string>();
  const counts = new Map<string, number>();
  const hanging = new Set<() => void>();
  let calm = false;

  function replyFor(event: WebhookBody, count: number): Reply {
    const draw = keyedRandom(seed, "reply", event.id, count);
    if (isDead(seed, event.data.invoiceId)) return draw < 0.7 ? "refuse" : "reset";
    return calm ? "ok" : pickWeighted(draw, REPLIES);
  }

  function receive(request: IncomingMessage, response: ServerResponse, text: string) {
    const event = JSON.parse(text) as WebhookBody;
    const known = bodies.get(event.id);
    if (known === undefined) bodies.set(event.id, text);
    else if (known !== text) changed.push(event.id);
    const count = (counts.get(event.id) ?? 0) + 1;
    counts.set(event.id, count);
    const reply = replyFor(event, count);
    const life = options.life();
    const at = Date.now();
    const arrival: Arrival = {
      eventId: event.id,
      life,
      at,
      endAt: null,
      reply,
      status: null,
      retryAfterMs: reply === "busy" ? BUSY_S * 1000 : 0,
      cut: false,
    };
    journal.push(arrival);
    options.onArrival();
    response.on("close", () => {
      if (arrival.endAt !== null) return;
      arrival.endAt = Date.now();
      arrival.cut = true;
    });
    const end = (status: number | null, act: () => void) => {
      if (arrival.endAt !== null) return;
      arrival.endAt = Date.now();
      arrival.status = status;
      act();
      if (status === 200 && !taken.has(event.id)) {
        taken.add(event.id);
        options.onEvent(event);
      }
      if (status === 200) options.onAnswered();
    };
    sendReply(reply, request.socket, response, end, keyedRandom(seed, "slow", event.id, count) * SLOW_MAX_MS, hanging);
  }

  const endpoint = await startTlsEndpoint(options.tls, 4_000, (request, response, body) => {
    if (request.headers.authorization === `Bearer ${options.token}`) receive(request, response, body);
    else response.writeHead(401).end();
  });
  return {
    port: endpoint.port,
    journal,
    bodies,
    changed,
    calm() {
      calm = true;
      for (const release of hanging) release();
    },
    close: endpoint.close,
  };
}

function sendReply(
  reply: Reply,
  socket: Socket,
  response: ServerResponse,
  end: (status: number | null, act: () => void) => void,
  slowMs: number,
  hanging: Set<() => void>,
) {
  const cut = () => end(null, () => socket.destroy());
  const plain = (status: number, headers = {}) => end(status, () => response.writeHead(status, headers).end("{}"));
  if (reply === "ok") plain(200);
  else if (reply === "slow") setTimeout(() => plain(200), slowMs);
  else if (reply === "refuse") plain(500);
  else if (reply === "busy") plain(503, { "retry-after": String(BUSY_S) });
  else if (reply === "reset") cut();
  else if (reply === "hang") hanging.add(cut);
  // The status line decides; later failures cannot undo it.
  else
    end(200, () => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      setTimeout(() => socket.end(), 20);
    });
}
