import type { TLSSocket } from "node:tls";
import { Client, type Dispatcher } from "undici";
import type { AllowedAddress } from "./address-guard.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import { createDeadlines } from "./deadlines.ts";
import type { ResolveHostname } from "./dns-lookup.ts";
import {
  buildReply,
  type Exchange,
  emptyTimings,
  errorText,
  REPLY_LIMITS,
  type Reply,
  type ReplyLimits,
  readBody,
  readStatusLine,
  type Timings,
} from "./exchange.ts";
import { type ClientCertificate, createGuardedDial, type Dial } from "./guarded-dial.ts";
import { buildHeaders } from "./request-head.ts";
import { isExhaustion } from "./resource-exhaustion.ts";

export interface OutgoingRequest {
  /** Scheme, host and port. */
  origin: string;
  /** Path and query. */
  path: string;
  authorization: string | null;
  body: string;
  /** Alternating name and value. */
  signature?: readonly string[] | null;
  /** Of the attempt's span. */
  traceparent?: string | null;
  /** An output. */
  timings?: Timings;
  /** Opens its own connection. */
  trace?: AttemptTrace;
}

/** Posts exactly once. Never rejects: failures are part of the reply. */
export type Send = (request: OutgoingRequest) => Promise<Reply>;

export interface Sender {
  send: Send;
  /** Attempts in flight fail. */
  close(): void;
  /** `made`: since the start. */
  connections(): { open: number; idle: number; made: number };
}

export interface SenderOptions {
  allow: readonly AllowedAddress[];
  extraCa: string | null;
  clientCertificate?: ClientCertificate | null;
  monotonicMs(): number;
  limits?: ReplyLimits;
  resolve?: ResolveHostname;
}

/** A new connection costs far more CPU time than a request. */
const KEEP_ALIVE_MS = 45_000;
/** A moved address or an expired certificate is noticed. */
const MAX_CONNECTION_AGE_MS = 300_000;
const MAX_IDLE_CONNECTIONS = 1_024;
const HEADER_BYTES_MAX = 32_768;

/** One socket and one request at a time, so that every byte belongs to a known request. */
interface Connection {
  origin: string;
  client: Client;
  openedMs: number;
  exchange: Exchange | null;
  destroySocket(): void;
  handler: Dispatcher.DispatchHandler;
}

export function createSender(options: SenderOptions): Sender {
  const dial = createGuardedDial(options.allow, options.extraCa, options.resolve, options.clientCertificate);
  const limits = options.limits ?? REPLY_LIMITS;
  const open = new Set<Connection>();
  const idleConnections = new Map<string, Connection[]>();
  let idleCount = 0;
  let madeCount = 0;
  const replyDue = createDeadlines<Connection>(limits.replyMs, options.monotonicMs, (connection) => {
    if (connection.exchange !== null) timedOut(connection, connection.exchange);
  });
  const bodyDue = createDeadlines<Connection>(limits.bodyMs, options.monotonicMs, (connection) => {
    if (connection.exchange !== null) endWithout(connection, connection.exchange);
  });

  function takeIdleOrConnect(origin: string): Connection {
    const waiting = idleConnections.get(origin)?.pop();
    if (waiting === undefined) return connect(origin);
    idleCount--;
    return waiting;
  }

  function connect(origin: string): Connection {
    const connection: Connection = openConnection(origin, dial, options.monotonicMs(), {
      onBytes: (bytes) => {
        const { exchange } = connection;
        exchange?.trace?.onBytes(bytes);
        if (exchange === null || exchange.status !== 0) return;
        exchange.timings.firstByteMs ??= sinceStart(exchange);
        const problem = readStatusLine(exchange, bytes);
        if (problem !== null) return fail(connection, exchange, problem);
        // The parser has not seen these bytes yet.
        if (exchange.status !== 0) statusArrived(connection, exchange);
      },
      onDialed(socket) {
        const { exchange } = connection;
        if (exchange === null) return;
        exchange.trace?.watch(socket);
        const { timings } = exchange;
        socket.once("lookup", () => {
          timings.lookUpMs = sinceStart(exchange);
        });
        socket.once("connect", () => {
          timings.connectMs = sinceStart(exchange);
        });
        socket.once("secure", () => {
          timings.tlsMs = sinceStart(exchange);
        });
      },
      onClosed: () => {
        if (connection.exchange === null) retire(connection);
      },
    });
    connection.handler = handlerOf(connection);
    open.add(connection);
    madeCount++;
    return connection;
  }

  const sinceStart = ({ startedMs }: Exchange) => options.monotonicMs() - startedMs;

  function statusArrived(connection: Connection, exchange: Exchange) {
    // A stalled process may read late what arrived in time. It cannot know, so the clock decides.
    if (sinceStart(exchange) > limits.replyMs) return timedOut(connection, exchange);
    replyDue.remove(connection);
    bodyDue.add(connection);
  }

  const handlerOf = (connection: Connection): Dispatcher.DispatchHandler => ({
    onRequestStart() {},
    onResponseStart(_controller, status, headers) {
      const { exchange } = connection;
      if (exchange === null || status < 200) return;
      // The parser also accepts RTSP, HTTP/0.9 and HTTP/2.0.
      if (exchange.status === 0) return fail(connection, exchange, "the reply is not HTTP/1.1");
      const field = headers["retry-after"];
      if ((status === 429 || status === 503) && typeof field === "string") exchange.retryAfter = field;
    },
    onResponseData(_controller, bytes) {
      const { exchange } = connection;
      exchange?.trace?.onBody(bytes);
      if (exchange !== null && !readBody(exchange, bytes, limits)) endWithout(connection, exchange);
    },
    onResponseEnd() {
      const { exchange } = connection;
      if (exchange !== null) end(connection, exchange, buildReply(exchange), true);
    },
    onResponseError(_controller, error) {
      const { exchange } = connection;
      if (exchange === null) return;
      if (exchange.status !== 0) endWithout(connection, exchange);
      else if (isExhaustion(error)) runOut(connection, exchange, error);
      else fail(connection, exchange, errorText(error));
    },
  });

  const timedOut = (connection: Connection, exchange: Exchange) =>
    fail(connection, exchange, `no status line within ${limits.replyMs / 1_000} s`);
  const fail = (connection: Connection, exchange: Exchange, error: string) =>
    end(connection, exchange, { outcome: "failed", error }, false);

  /** The next attempt needs the idle connections' resources. */
  function runOut(connection: Connection, exchange: Exchange, error: Error) {
    end(connection, exchange, { outcome: "failed", error: errorText(error), isLocalFailure: true }, false);
    for (const each of [...idleConnections.values()].flat()) retire(each);
  }

  /** Does not wait for the reply's rest. */
  const endWithout = (connection: Connection, exchange: Exchange) =>
    end(connection, exchange, buildReply(exchange), false);

  function end(connection: Connection, exchange: Exchange, reply: Reply, reusable: boolean) {
    replyDue.remove(connection);
    bodyDue.remove(connection);
    connection.exchange = null;
    const isYoung = options.monotonicMs() - connection.openedMs < MAX_CONNECTION_AGE_MS;
    if (reusable && isYoung && idleCount < MAX_IDLE_CONNECTIONS && open.has(connection)) {
      idleCount++;
      const waiting = idleConnections.get(connection.origin);
      if (waiting) waiting.push(connection);
      else idleConnections.set(connection.origin, [connection]);
    } else retire(connection);
    exchange.resolve(reply);
  }

  function retire(connection: Connection) {
    if (!open.delete(connection)) return;
    const waiting = idleConnections.get(connection.origin) ?? [];
    const index = waiting.indexOf(connection);
    if (index >= 0) {
      waiting.splice(index, 1);
      idleCount--;
    }
    if (waiting.length === 0) idleConnections.delete(connection.origin);
    connection.client.destroy(null, () => {});
    connection.destroySocket();
  }

  return {
    send: (request) =>
      new Promise((resolve) => {
        const connection = request.trace ? connect(request.origin) : takeIdleOrConnect(request.origin);
        const exchange: Exchange = {
          startedMs: options.monotonicMs(),
          timings: request.timings ?? emptyTimings(),
          status: 0,
          retryAfter: null,
          head: "",
          interimBytes: 0,
          bodyBytes: 0,
          bodyChunks: [],
          trace: request.trace,
          resolve,
        };
        connection.exchange = exchange;
        replyDue.add(connection);
        connection.client.dispatch(
          { path: request.path, method: "POST", headers: buildHeaders(request), body: request.body },
          connection.handler,
        );
      }),
    close() {
      for (const connection of open) {
        if (connection.exchange)
          fail(connection, connection.exchange, "the attempt was interrupted because this process is stopping");
        else retire(connection);
      }
    },
    connections: () => ({ open: open.size, idle: idleCount, made: madeCount }),
  };
}

interface SocketListeners {
  onDialed(socket: TLSSocket): void;
  onBytes(bytes: Buffer): void;
  onClosed(): void;
}

function openConnection(origin: string, dial: Dial, openedMs: number, listeners: SocketListeners): Connection {
  let destroySocket = () => {};
  const client = new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    // Restarted by every byte, so the sender has its own deadlines.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: ({ hostname, port }, callback) => {
      let isReported = false;
      const socket = dial(hostname, port === "" ? 443 : Number(port), (error) => {
        if (isReported) return;
        isReported = true;
        if (error !== null) return callback(error, null);
        callback(null, socket);
        // After the parser's listener: sees the same bytes and does not start the flow.
        socket.on("data", listeners.onBytes);
      });
      socket.once("close", listeners.onClosed);
      listeners.onDialed(socket);
      destroySocket = () => socket.destroy();
    },
  });
  return { origin, client, openedMs, exchange: null, destroySocket: () => destroySocket(), handler: {} };
}
