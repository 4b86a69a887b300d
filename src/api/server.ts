import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger as Log } from "pino";
import { listRecoveryActionsRoute } from "../actions-api/list-recovery-actions.ts";
import { networkOf } from "../auth/client-network.ts";
import { createKeyring, type Keyring } from "../auth/keyring.ts";
import { answerError } from "../http/answer-error.ts";
import { answerMalformed, REQUEST_TIMEOUT_CODE } from "../http/answer-malformed.ts";
import type { Api, ApiOptions } from "../http/api.ts";
import { type CallerChecks, requirePermission } from "../http/caller.ts";
import { clientAddress } from "../http/client-address.ts";
import { limitConnections } from "../http/connection-limits.ts";
import { ApiError } from "../http/errors.ts";
import { refuseForwardedHttp } from "../http/forwarded-proto.ts";
import { BODY_BYTES_MAX, originFormOf, refuseAmbiguousFraming, refuseUnsupportedVersion } from "../http/framing.ts";
import { healthzRoute } from "../http/healthz.ts";
import { createInFlightRequests } from "../http/in-flight.ts";
import { createInvalidKeyThrottle } from "../http/invalid-key-throttle.ts";
import { createListener, type Listening, listen } from "../http/listener.ts";
import { networkRoute } from "../http/network-route.ts";
import { answerNotFound } from "../http/not-found.ts";
import { createRateLimit, type RateLimit } from "../http/rate-limit.ts";
import { readBody } from "../http/read-body.ts";
import { readyzRoute } from "../http/readyz.ts";
import { CALLER_REQUEST_ID, callerRequestId } from "../http/request-id.ts";
import { createRequestLog, isLogged, logEntryOf, malformedLogEntryOf, type RequestLog } from "../http/request-log.ts";
import { isSlowBodyAllowed } from "../http/slow-body.ts";
import { ingestInvoicesRoute } from "../ingest/ingest-invoices-route.ts";
import { ingestSubscriptionsRoute } from "../ingest/ingest-subscriptions-route.ts";
import { ingestTransactionsRoute } from "../ingest/ingest-transactions-route.ts";
import { errorFields } from "../postgres/database-errors.ts";
import { docsRoutes } from "./docs/docs-routes.ts";

export interface RunningApi {
  http: FastifyInstance;
  listen(on: { host: string; port: number }): Promise<{ port: number }>;
  /** Accept no more requests, finish those in flight, write what is still in memory. */
  close(): Promise<void>;
}

const KEYRING_FLUSH_MS = 10_000;
/** For so long others may miss what a process took ahead of its rate limits. */
const RATE_LIMIT_SETTLE_MS = 1_000;
/** A request is in the log within about so long. */
const REQUEST_LOG_FLUSH_MS = 1_000;

/** The inbound API, ready for `inject` and `listen`. */
export async function createApi(options: ApiOptions): Promise<RunningApi> {
  const { everyone, owner, ports, log } = options;
  const keyring = createKeyring(everyone, ports);
  const rateLimit = createRateLimit(everyone, ports);
  const door: CallerChecks = {
    keyring,
    rateLimit,
    strangers: createInvalidKeyThrottle(ports.monotonicMs),
    inFlight: createInFlightRequests(),
    networkOf({ raw }) {
      const address = clientAddress(raw, options.trustedProxies, options.tls === "proxy");
      return address === null ? null : networkOf(address);
    },
  };
  let closing = false;
  const requestLog = createRequestLog(
    everyone,
    owner,
    ports,
    log,
    (count) => options.metrics.requestsUnlogged(count),
    () => options.metrics.requestOfNobody(),
  );
  const http = createHttpServer(options, requestLog, () => closing);
  const api: Api = { ...options, http, requires: (permission) => requirePermission(permission, door) };
  for (const route of options.operations === false ? UNAUTHENTICATED_ROUTES : ROUTES) route(api);
  if (options.pages) await http.register(options.pages.routes);
  await http.ready();

  const flushing = setInterval(() => flushKeyring(keyring, log), KEYRING_FLUSH_MS);
  flushing.unref();
  const settling = setInterval(() => settleRateLimit(rateLimit, log), RATE_LIMIT_SETTLE_MS);
  settling.unref();
  const logging = setInterval(() => requestLog.flush(), REQUEST_LOG_FLUSH_MS);
  logging.unref();
  let listening: Listening | undefined;
  return {
    http,
    async listen({ host, port }) {
      listening = await listen(http.server, host, port);
      return { port: listening.port };
    },
    async close() {
      closing = true;
      clearInterval(flushing);
      clearInterval(settling);
      clearInterval(logging);
      await listening?.close();
      await http.close();
      await flushKeyring(keyring, log);
      await rateLimit.close().catch(() => {}); // what is not given back now flows in again within a second
      await requestLog.flush();
    },
  };
}

async function flushKeyring(keyring: Keyring, log: Log) {
  await keyring.flush().catch((error) => log.warn(errorFields(error), "api_keys.touch_failed"));
}

async function settleRateLimit(rateLimit: RateLimit, log: Log) {
  await rateLimit.settle().catch((error) => log.warn(errorFields(error), "rate_limit.settle_failed"));
}

const UNAUTHENTICATED_ROUTES = [healthzRoute, readyzRoute, networkRoute, docsRoutes];
const ROUTES = [
  ingestSubscriptionsRoute,
  ingestInvoicesRoute,
  ingestTransactionsRoute,
  listRecoveryActionsRoute,
  ...UNAUTHENTICATED_ROUTES,
];

/** Routes that only ask whether the service lives. */
const PROBE_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

function createHttpServer(
  { ports, log, tls, trustedProxies, connectionsPerAddress, metrics, pages }: ApiOptions,
  requestLog: RequestLog,
  isClosing: () => boolean,
): FastifyInstance {
  const http = Fastify({
    loggerInstance: log,
    requestIdHeader: false,
    logController: new Fastify.LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    genReqId: () => `req_${ports.newId()}`,
    bodyLimit: BODY_BYTES_MAX,
    serverFactory: (handler) =>
      limitConnections(createListener(tls, handler), {
        max: connectionsPerAddress,
        trustedProxies,
        proxied: tls === "proxy",
        log,
        onRefused: metrics.connectionRefused,
      }),
    return503OnClosing: false,
    rewriteUrl: (request) => originFormOf(request.url ?? "/"),
    routerOptions: { querystringParser: () => ({}) },
    clientErrorHandler(error, socket) {
      if (error.code === REQUEST_TIMEOUT_CODE && isSlowBodyAllowed(socket)) return;
      const requestId = `req_${ports.newId()}`;
      answerMalformed(error, socket, requestId, (status, message) =>
        requestLog.add(malformedLogEntryOf(requestId, status, message, ports.now())),
      );
    },
    frameworkErrors(_error, request, reply) {
      answerError(new ApiError(400, "the path can't be read"), request as FastifyRequest, reply as FastifyReply);
      finished(request as FastifyRequest, reply as FastifyReply); // no hook runs for these
    },
  }) as unknown as FastifyInstance;

  function finished(request: FastifyRequest, reply: FastifyReply) {
    request.isOver = true;
    const { monotonicMs, now } = request.began ?? { monotonicMs: ports.monotonicMs(), now: ports.now() };
    const ms = ports.monotonicMs() - monotonicMs;
    const route = request.routeOptions.url ?? "unknown";
    metrics.requestFinished(route, request.method, reply.statusCode, ms);
    if (isLogged(request, reply)) requestLog.add(logEntryOf(request, reply, route, ms, now));
    // A balancer asks each second, and its lines would hide all others.
    const level = PROBE_PATHS.has(route) && reply.statusCode < 500 ? "debug" : "info";
    request.log[level](
      {
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(ms * 100) / 100,
        merchantId: request.caller?.merchant.id,
        keyId: request.caller?.key.id,
        callerRequestId: request.callerRequestId ?? undefined,
        records: request.records ?? undefined,
        stored: request.stored ?? undefined,
        older: request.older || undefined,
        said: request.said ?? undefined,
      },
      "request.finished",
    );
  }
  function unheard(request: FastifyRequest, reply: FastifyReply) {
    if (request.isOver) return;
    request.said ??= "the caller was gone before it was answered";
    finished(request, reply);
  }
  for (const name of ["began", "caller", "records", "stored", "older", "said", "callerRequestId", "page", "isOver"])
    http.decorateRequest(name, null);
  http.removeAllContentTypeParsers();
  http.addContentTypeParser("application/json", (_request, payload, done) => readBody(payload, done));
  // None of these waits for anything, so none makes a promise.
  http.addHook("onRequest", (request, reply, done) => {
    request.began = { monotonicMs: ports.monotonicMs(), now: ports.now() };
    reply.header("x-request-id", request.id);
    request.callerRequestId = callerRequestId(request);
    if (request.callerRequestId !== null) reply.header(CALLER_REQUEST_ID, request.callerRequestId);
    refuseUnsupportedVersion(request.raw);
    refuseAmbiguousFraming(request.raw);
    if (tls === "proxy") refuseForwardedHttp(request.raw);
    done();
  });
  http.addHook("preParsing", (request, reply, payload, done) => {
    if (request.headers.expect !== undefined) reply.raw.writeContinue();
    done(null, payload);
  });
  http.addHook("onSend", (request, reply, payload, done) => {
    // A kept-alive connection must end with this answer, else closing waits for its client.
    if (isClosing()) reply.header("connection", "close");
    // Whoever asked may be gone, or go before the answer is sent: then nobody says that it was.
    if (reply.raw.destroyed) unheard(request, reply);
    else reply.raw.once("close", () => unheard(request, reply));
    done(null, payload);
  });
  http.addHook("onResponse", (request, reply, done) => {
    finished(request, reply);
    done();
  });
  http.setErrorHandler(answerError);
  http.setNotFoundHandler((request, reply) => answerUnknownRoute(http, request, reply, pages));
  return http;
}

const METHODS = ["GET", "HEAD", "POST"] as const;

/** 404, or 405 with the methods that the path knows. */
function answerUnknownRoute(
  http: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  pages: ApiOptions["pages"],
) {
  const path = request.url.split("?", 1)[0]!;
  const allowed = METHODS.filter((method) => http.findRoute({ method, url: path }) !== null);
  if (allowed.length === 0) return answerNotFound(pages, request, reply);
  const allow = [...allowed, "OPTIONS"].join(", ");
  if (request.method === "OPTIONS") return reply.code(204).header("allow", allow).send();
  throw new ApiError(405, `this path takes ${allow} only`, { headers: { allow } });
}
