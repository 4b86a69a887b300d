import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../http/errors.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import { type ConsoleOptions, sendHtml } from "./console.ts";
import { type Html, html } from "./html.ts";
import { PageError } from "./page-error.ts";
import { type Page, renderPage, renderSignedOutPage } from "./page-layout.ts";
import { withQuery } from "./page-query.ts";
import { findVisit, urlOf } from "./visit.ts";

export async function answerPageError(
  options: ConsoleOptions,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { status, message, field } = toPageRefusal(error, request);
  request.errorMessage = message;
  const title =
    status === 400 && request.method !== "GET" ? "Nothing was changed" : (TITLES_BY_STATUS[status] ?? "Request failed");
  const body = html`<p class="notice ${status >= 500 ? "bad" : "warn"}" role="alert">${message}</p>
<p class="soft">Request <code>${request.id}</code></p><p>${field !== undefined && linkWithoutParameter(field, request)}<a class="button" href="/overview">Go to the overview</a></p>`;
  const page: Page = { title, body };
  // Signed-in people see the page in its frame. A database outage hides who is signed in.
  const visit = status >= 500 ? null : await findVisit(options, request, reply).catch(() => null);
  reply.code(status);
  if (status === 503) reply.header("retry-after", "2");
  return sendHtml(reply, visit ? renderPage(page, visit, 0) : renderSignedOutPage(title, body));
}

/** null if the address lacks the parameter. */
function linkWithoutParameter(field: string, request: FastifyRequest): Html | null {
  const { pathname, searchParams } = urlOf(request);
  return searchParams.has(field)
    ? html`<a class="button" href="${withQuery(pathname, searchParams, { [field]: null })}">Without “${field}”</a> `
    : null;
}

const TITLES_BY_STATUS: Record<number, string> = {
  400: "Invalid address",
  403: "Not allowed",
  404: "Not found",
  409: "Not possible now",
  413: "Request too large",
  500: "Internal error",
  503: "Database unavailable",
};

interface PageRefusal {
  status: number;
  message: string;
  field?: string | undefined;
}

function toPageRefusal(error: unknown, request: FastifyRequest): PageRefusal {
  if (error instanceof PageError) return error;
  // The API has the same filters and messages.
  if (error instanceof ApiError)
    return {
      status: error.status,
      message: `The address is invalid: ${error.message}.`,
      field: error.problems[0]?.field,
    };
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  if (code?.startsWith("FST_") && statusCode && statusCode >= 400 && statusCode < 500)
    return { status: statusCode, message: "The request is invalid." };
  if (isOutage(error)) {
    request.log.error(errorFields(error), "database.unavailable");
    return {
      status: 503,
      message: "The database is not responding. Nothing was changed. Try again in a moment.",
    };
  }
  request.log.error(errorFields(error), "request.failed");
  return { status: 500, message: "Something went wrong. The log has the details under the request id below." };
}
