import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../http/errors.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import { type ConsoleOptions, sendHtml } from "./console.ts";
import { type Html, html } from "./html.ts";
import { PageError } from "./page-error.ts";
import { type Page, renderPage, renderSignedOutPage } from "./page-layout.ts";
import { withQuery } from "./page-query.ts";
import { findVisit, urlOf } from "./visit.ts";

/** Say in a page what went wrong. Nothing of the error itself is shown but what was written for people. */
export async function answerPageError(
  options: ConsoleOptions,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { status, message, field } = toPageRefusal(error, request);
  request.errorMessage = message;
  const title =
    status === 400 && request.method !== "GET"
      ? "Nothing was changed"
      : (TITLES_BY_STATUS[status] ?? "That did not work");
  const body = html`<p class="notice ${status >= 500 ? "bad" : "warn"}" role="alert">${message}</p>
<p class="soft">Request <code>${request.id}</code></p><p>${field !== undefined && linkWithoutParameter(field, request)}<a class="button" href="/overview">To the overview</a></p>`;
  const page: Page = { title, body };
  // Who is signed in stays in the frame; while the database is away nobody can be known.
  const visit = status >= 500 ? null : await findVisit(options, request, reply).catch(() => null);
  reply.code(status);
  if (status === 503) reply.header("retry-after", "2");
  return sendHtml(reply, visit ? renderPage(page, visit) : renderSignedOutPage(title, body));
}

/** A link to the rest of what was asked for; null where there is no such part in the address. */
function linkWithoutParameter(field: string, request: FastifyRequest): Html | null {
  const { pathname, searchParams } = urlOf(request);
  return searchParams.has(field)
    ? html`<a class="button" href="${withQuery(pathname, searchParams, { [field]: null })}">Without “${field}”</a> `
    : null;
}

const TITLES_BY_STATUS: Record<number, string> = {
  400: "This address can't be read",
  403: "Not allowed",
  404: "Nothing here",
  409: "Not as things stand",
  413: "Too much at once",
  500: "An error on our side",
  503: "The database is out of reach",
};

interface PageRefusal {
  status: number;
  message: string;
  field?: string | undefined;
}

function toPageRefusal(error: unknown, request: FastifyRequest): PageRefusal {
  if (error instanceof PageError) return error;
  // Filters are those of the API, and what is wrong with one is said in its words.
  if (error instanceof ApiError)
    return {
      status: error.status,
      message: `The address can't be read: ${error.message}.`,
      field: error.problems[0]?.field,
    };
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  if (code?.startsWith("FST_") && statusCode && statusCode >= 400 && statusCode < 500)
    return { status: statusCode, message: "The request can't be read." };
  if (isOutage(error)) {
    request.log.error(errorFields(error), "database.unavailable");
    return {
      status: 503,
      message: "The database does not answer right now. Nothing was changed; try again in a moment.",
    };
  }
  request.log.error(errorFields(error), "request.failed");
  return { status: 500, message: "Something failed that should not have. It was logged under the request below." };
}
