import type { FastifyReply, FastifyRequest } from "fastify";
import { errorFields, isOutage, sqlState } from "../postgres/database-errors.ts";
import { ApiError, errorBody, LIST_PATH, type OperationFamily } from "./errors.ts";
import { bodyTooLargeError } from "./framing.ts";

const UNAVAILABLE_RETRY_AFTER_SECONDS = "1";

/** Sends an error as `{code, message, details}`. Never repeats or logs values of the request. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const refusal = toApiError(error, request);
  request.errorMessage = refusal.message;
  // Fastify closes after a refused body. Reading the rest lets the client see the answer.
  reply.removeHeader("connection");
  reply.code(refusal.status).headers(refusal.headers).header("x-request-id", request.id);
  return reply.send(errorBody(familyOf(request), refusal.status, refusal.message, refusal.problems));
}

/** An unsupported method on the list's path has no route. */
const familyOf = ({ routeOptions, url }: FastifyRequest): OperationFamily =>
  (routeOptions.config as { family?: OperationFamily } | undefined)?.family ??
  (url.split("?", 1)[0] === LIST_PATH ? "list" : "other");

function toApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return bodyTooLargeError();
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH" || (request.raw.destroyed && !request.raw.complete))
    return new ApiError(400, "the body length does not match Content-Length");
  if (code?.startsWith("FST_") && statusCode && statusCode >= 400 && statusCode < 500)
    return new ApiError(statusCode, "the request is malformed");
  if (isOutage(error)) {
    request.log.error(errorFields(error), "database.unavailable");
    return unavailableError("the database is unavailable: send the same request again");
  }
  if (/^(22|23|54)/.test(sqlState(error) ?? "")) {
    // A bug of Dunlin's validation, but retrying the same data would not help.
    request.log.error(errorFields(error), "request.unstorable");
    return new ApiError(400, "the data cannot be stored");
  }
  request.log.error(errorFields(error), "request.failed");
  return new ApiError(500, "internal error: for details, search the log for the id in X-Request-Id");
}

export const unavailableError = (message: string) =>
  new ApiError(503, message, { headers: { "retry-after": UNAVAILABLE_RETRY_AFTER_SECONDS } });
