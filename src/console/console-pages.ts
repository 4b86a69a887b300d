import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { countAttention } from "../attention/list-attention.ts";
import { CONTROL_CHARACTER } from "../domain/display-text.ts";
import { ROLE_OPERATIONS, type RoleOperation } from "../domain/role.ts";
import type { Pages } from "../http/api.ts";
import { answerPageError } from "./answer-page-error.ts";
import { assetRoutes } from "./assets/assets.ts";
import { connectionRoutes } from "./connection/connection-page.ts";
import { type Console, type ConsoleOptions, type PageHandler, redirectTo, sendHtml } from "./console.ts";
import { isCrossSite, safePath } from "./cross-site.ts";
import { deliveryListRoutes } from "./deliveries/delivery-list-page.ts";
import { deliveryDetailRoutes } from "./deliveries/delivery-page.ts";
import { replayRoutes } from "./deliveries/replay-pages.ts";
import { experimentListRoutes } from "./experiments/experiment-list-page.ts";
import { experimentDetailRoutes } from "./experiments/experiment-page.ts";
import { experimentStartRoutes } from "./experiments/start-experiment-page.ts";
import { backtestRoutes } from "./history/backtest-pages.ts";
import { importRoutes } from "./history/import-routes.ts";
import { requestRoutes } from "./history/request-log-page.ts";
import { shadowRoutes } from "./history/shadow-page.ts";
import { html } from "./html.ts";
import { apiKeyRoutes } from "./org/api-key-routes.ts";
import { auditRoutes } from "./org/audit-page.ts";
import { memberRoutes } from "./org/member-routes.ts";
import { notFoundError, PageError } from "./page-error.ts";
import { renderPage, renderSignedOutPage } from "./page-layout.ts";
import { accountRoutes } from "./people/account-page.ts";
import { joinRoutes } from "./people/join-pages.ts";
import { providerRoutes } from "./people/oidc-sign-in.ts";
import { signInRoutes } from "./people/sign-in-pages.ts";
import { actionRoutes } from "./recovery/actions-page.ts";
import { analyticsRoutes } from "./recovery/analytics-page.ts";
import { decisionRoutes } from "./recovery/decisions-csv.ts";
import { invoiceListRoutes } from "./recovery/invoice-list-page.ts";
import { invoiceRoutes } from "./recovery/invoice-page.ts";
import { invoiceRequestRoutes } from "./recovery/invoice-requests.ts";
import { overviewRoutes } from "./recovery/overview-page.ts";
import { declineCodeRoutes } from "./recovery/unknown-codes-page.ts";
import { savedViewRoutes } from "./saved-view-routes.ts";
import { searchRoutes } from "./search-page.ts";
import { notificationRoutes } from "./settings/notification-routes.ts";
import { recoveryRulesRoutes } from "./settings/recovery-rules-routes.ts";
import { recoveryRoutes } from "./settings/recovery-settings-page.ts";
import { webhookRoutes } from "./settings/webhook-settings-routes.ts";
import { findVisit } from "./visit.ts";

const FORM_BYTES_MAX = 64 * 1024;

/** Pages load nothing from other sites, run no inline code and refuse to be framed. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export const createConsolePages = (options: ConsoleOptions): Pages => ({
  routes: consoleRoutes(options),
  answerNotFound: (_request, reply) =>
    sendHtml(
      reply.code(404).headers(HEADERS),
      renderSignedOutPage(
        "Not found",
        html`<p>This page does not exist.</p><p><a class="button" href="/overview">Go to the overview</a></p>`,
      ),
    ),
});

function consoleRoutes(options: ConsoleOptions) {
  return async (http: FastifyInstance) => {
    const { origin } = new URL(options.authUrl);
    http.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: FORM_BYTES_MAX },
      (_request, body, done) => done(null, new URLSearchParams(body as string)),
    );
    http.addHook("onRequest", async (request, reply) => {
      reply.headers(HEADERS);
      request.page = { merchantId: null };
      if (request.method !== "GET" && request.method !== "HEAD" && isCrossSite(request.headers, origin))
        throw new PageError(403, "Another site sent this form, so nothing was changed.");
    });
    http.setErrorHandler((error, request, reply) => answerPageError(options, error, request, reply));

    const asVisit =
      (operation: RoleOperation | null, show: PageHandler) => async (request: FastifyRequest, reply: FastifyReply) => {
        const visit = await findVisit(options, request, reply);
        if (visit === null) return redirectToSignIn(request, reply);
        request.page = { merchantId: visit.merchantId };
        if (Object.values(visit.params).some((text) => CONTROL_CHARACTER.test(text))) throw notFoundError("page");
        if (operation !== null && !visit.may(operation))
          throw new PageError(
            403,
            `Your role (${visit.role}) does not allow this operation: ${ROLE_OPERATIONS[operation].toLowerCase()}.`,
          );
        const page = await show(visit);
        if (page === undefined || !("body" in page)) return reply;
        const { ports } = options;
        const attention = await countAttention(visit.db, visit.merchantId, ports.now(), ports.clockRate);
        return sendHtml(reply.code(page.status ?? 200), renderPage(page, visit, attention));
      };
    const console: Console = {
      ...options,
      http,
      origin,
      page: (path, operation, show) => void http.get(path, asVisit(operation, show)),
      post: (path, operation, change) => void http.post(path, asVisit(operation, change)),
      upload: (path, operation, change) =>
        void http.register(async (forms) => {
          forms.addContentTypeParser("multipart/form-data", (_request, _body, done) => done(null));
          forms.post(path, asVisit(operation, change));
        }),
    };
    for (const routes of ROUTES) routes(console);
  };
}

const ROUTES = [
  assetRoutes,
  signInRoutes,
  providerRoutes,
  joinRoutes,
  accountRoutes,
  overviewRoutes,
  analyticsRoutes,
  searchRoutes,
  savedViewRoutes,
  actionRoutes,
  invoiceListRoutes,
  invoiceRoutes,
  invoiceRequestRoutes,
  decisionRoutes,
  declineCodeRoutes,
  recoveryRoutes,
  recoveryRulesRoutes,
  notificationRoutes,
  experimentListRoutes,
  experimentStartRoutes,
  experimentDetailRoutes,
  deliveryListRoutes,
  replayRoutes,
  deliveryDetailRoutes,
  connectionRoutes,
  requestRoutes,
  importRoutes,
  backtestRoutes,
  shadowRoutes,
  webhookRoutes,
  apiKeyRoutes,
  memberRoutes,
  auditRoutes,
];

function redirectToSignIn(request: FastifyRequest, reply: FastifyReply) {
  const next = request.method === "GET" ? safePath(request.url, "https://console.invalid") : "/overview";
  return redirectTo(reply, next === "/overview" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(next)}`);
}
