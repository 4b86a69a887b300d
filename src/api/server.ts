import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger as Log } from "pino";
import { listRecoveryActionsRoute } from "../actions-api/list-recovery-actions.ts";
import { analyticsRoute } from "../analytics/analytics-route.ts";
import { attentionRoute } from "../attention/attention-route.ts";
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
import { healthzRoute, readyzRoute } from "../http/health-routes.ts";
import { createInFlightRequests } from "../http/in-flight.ts";
import { createInvalidKeyThrottle } from "../http/invalid-key-throttle.ts";
import { createListener, type Listening, listen } from "../http/listener.ts";
import { networkRoute } from "../http/network-route.ts";
import { answerNotFound } from "../http/not-found.ts";
import { createRateLimit, type RateLimit } from "../http/rate-limit.ts";
import { readBody } from "../http/read-body.ts";
import { CALLER_REQUEST_ID, callerRequestId } from "../http/request-id.ts";
import { createRequestLog, isLogged, logEntryOf, malformedLogEntryOf, type RequestLog } from "../http/request-log.ts";
import { endRequestSpan, routeOf } from "../http/request-span.ts";
import { isSlowBodyAllowed } from "../http/slow-body.ts";
import { ingestInvoicesRoute } from "../ingest/ingest-invoices-route.ts";
import { ingestSubscriptionsRoute } from "../ingest/ingest-subscriptions-route.ts";
import { ingestTransactionsRoute } from "../ingest/ingest-transactions-route.ts";
import { explanationRoute } from "../invoices-api/explanation-route.ts";
import { invoiceRequestsRoutes } from "../invoices-api/invoice-requests-routes.ts";
import { invoiceRouteOf } from "../invoices-api/paths.ts";
import { errorFields } from "../postgres/database-errors.ts";
import { rulesRouteOf } from "../rules-api/paths.ts";
import { recoveryRulesRoutes } from "../rules-api/recovery-rules-routes.ts";
import { docsRoutes } from "./docs/docs-routes.ts";

export interface RunningApi {
  http: FastifyInstance;
  listen(on: { host: string; port: number }): Promise<{ port: number }>;
  /** Accepts no more requests, finishes those in flight, and flushes everything in memory. */
  close(): Promise<void>;
}

const KEYRING_FLUSH_MS = 10_000;
/** The longest time for which other processes miss unneeded prefetched tokens. */
const RATE_LIMIT_SETTLE_MS = 1_000;
const REQUEST_LOG_FLUSH_MS = 1_000;

export async function createApi(options: ApiOptions): Promise<RunningApi> {
  const { allTenantsDb, owner, ports, log } = options;
  const keyring = createKeyring(allTenantsDb, ports);
  const rateLimit = createRateLimit(allTenantsDb, ports);
  const callerChecks: CallerChecks = {
    keyring,
    rateLimit,
    invalidKeyThrottle: createInvalidKeyThrottle(ports.monotonicMs),
    inFlight: createInFlightRequests(),
    networkOf({ raw }) {
      const address = clientAddress(raw, options.trustedProxies, options.tls === "proxy");
      return address === null ? null : networkOf(address);
    },
  };
  let closing = false;
  const requestLog = createRequestLog(
    allTenantsDb,
    owner,
    ports,
    log,
    (count) => options.metrics.requestsUnlogged(count),
    () => options.metrics.unauthenticatedRequest(),
  );
  const http = createHttpServer(options, requestLog, () => closing);
  const api: Api = { ...options, http, requires: (permission) => requirePermission(permission, callerChecks) };
  for (const route of options.servesOperations === false ? UNAUTHENTICATED_ROUTES : ROUTES) route(api);
  if (options.pages) await http.register(options.pages.routes);
  await http.ready();

  const keyringTimer = setInterval(() => flushKeyring(keyring, log), KEYRING_FLUSH_MS);
  keyringTimer.unref();
  const rateLimitTimer = setInterval(() => settleRateLimit(rateLimit, log), RATE_LIMIT_SETTLE_MS);
  rateLimitTimer.unref();
  const requestLogTimer = setInterval(() => requestLog.flush(), REQUEST_LOG_FLUSH_MS);
  requestLogTimer.unref();
  let listening: Listening | undefined;
  return {
    http,
    async listen({ host, port }) {
      listening = await listen(http.server, host, port);
      return { port: listening.port };
    },
    async close() {
      closing = true;
      clearInterval(keyringTimer);
      clearInterval(rateLimitTimer);
      clearInterval(requestLogTimer);
      await listening?.close();
      await http.close();
      await flushKeyring(keyring, log);
      await rateLimit.close().catch(() => {}); // the rest is refilled within a second
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
  invoiceRequestsRoutes,
  explanationRoute,
  recoveryRulesRoutes,
  attentionRoute,
  analyticsRoute,
  ...UNAUTHENTICATED_ROUTES,
];

/** Debug level when they succeed, because they arrive every second. */
const PROBE_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

type FinishRequest = (request: FastifyRequest, reply: FastifyReply) => void;

function createHttpServer(options: ApiOptions, requestLog: RequestLog, isClosing: () => boolean): FastifyInstance {
  const { ports, log, tls, trustedProxies, connectionsPerAddress, metrics, pages } = options;
  const finish: FinishRequest = (request, reply) => finishRequest(options, requestLog, request, reply);
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
    routerOptions: { querystringParser: () => ({}), maxParamLength: PARAMETER_CHARS_MAX },
    clientErrorHandler(error, socket) {
      if (error.code === REQUEST_TIMEOUT_CODE && isSlowBodyAllowed(socket)) return;
      const requestId = `req_${ports.newId()}`;
      answerMalformed(error, socket, requestId, (status, message) =>
        requestLog.add(malformedLogEntryOf(requestId, status, message, ports.now())),
      );
    },
    frameworkErrors(_error, request, reply) {
      answerError(new ApiError(400, "the path is malformed"), request as FastifyRequest, reply as FastifyReply);
      finish(request as FastifyRequest, reply as FastifyReply); // Fastify runs no hooks for these errors
    },
  }) as unknown as FastifyInstance;
  for (const name of REQUEST_DECORATIONS) http.decorateRequest(name, null);
  http.removeAllContentTypeParsers();
  http.addContentTypeParser("application/json", (_request, payload, done) => readBody(payload, done));
  addHooks(http, options, finish, isClosing);
  http.setErrorHandler(answerError);
  http.setNotFoundHandler((request, reply) => answerUnknownRoute(http, request, reply, pages));
  return http;
}

const REQUEST_DECORATIONS = [
  "startedAt",
  "caller",
  "records",
  "stored",
  "older",
  "errorMessage",
  "callerRequestId",
  "page",
  "isFinished",
  "span",
];

/** In the metrics and both logs. */
function finishRequest(
  { ports, metrics }: ApiOptions,
  requestLog: RequestLog,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  request.isFinished = true;
  const { monotonicMs, now } = request.startedAt ?? { monotonicMs: ports.monotonicMs(), now: ports.now() };
  const ms = ports.monotonicMs() - monotonicMs;
  const route = routeOf(request);
  metrics.requestFinished(route, request.method, reply.statusCode, ms);
  endRequestSpan(request, reply.statusCode);
  if (isLogged(request, reply)) requestLog.add(logEntryOf(request, reply, route, ms, now));
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
      said: request.errorMessage ?? undefined,
    },
    "request.finished",
  );
}

/** No hook waits, so they use callbacks instead of promises. */
function addHooks(http: FastifyInstance, { ports, tls }: ApiOptions, finish: FinishRequest, isClosing: () => boolean) {
  http.addHook("onRequest", (request, reply, done) => {
    request.startedAt = { monotonicMs: ports.monotonicMs(), now: ports.now() };
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
  const finishDisconnected: FinishRequest = (request, reply) => {
    if (request.isFinished) return;
    request.errorMessage ??= "the client disconnected before the response";
    finish(request, reply);
  };
  http.addHook("onSend", (request, reply, payload, done) => {
    // Otherwise, closing would wait for kept-alive connections.
    if (isClosing()) reply.header("connection", "close");
    // If the client disconnects first, `onResponse` does not run.
    if (reply.raw.destroyed) finishDisconnected(request, reply);
    else reply.raw.once("close", () => finishDisconnected(request, reply));
    done(null, payload);
  });
  http.addHook("onResponse", (request, reply, done) => {
    finish(request, reply);
    done();
  });
}

/** An id in UTF-16, before it is checked. */
const PARAMETER_CHARS_MAX = 1_000;

const METHODS = ["GET", "HEAD", "POST", "PUT"] as const;

/** 404, or 405 with the supported methods. */
function answerUnknownRoute(
  http: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  pages: ApiOptions["pages"],
) {
  const path = request.url.split("?", 1)[0]!;
  const route = invoiceRouteOf(path) ?? rulesRouteOf(path) ?? path;
  const allowed = METHODS.filter((method) => http.hasRoute({ method, url: route }));
  if (allowed.length === 0) return answerNotFound(pages, request, reply);
  const allow = [...allowed, "OPTIONS"].join(", ");
  if (request.method === "OPTIONS") return reply.code(204).header("allow", allow).send();
  throw new ApiError(405, `this path supports ${allow} only`, { headers: { allow } });
}
