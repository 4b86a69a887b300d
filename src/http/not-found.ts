import type { FastifyReply, FastifyRequest } from "fastify";
import type { Pages } from "./api.ts";
import { ApiError } from "./errors.ts";

/** Answers a request for an unknown path: browsers get a page of the console, if it runs. */
export function answerNotFound(pages: Pages | null | undefined, request: FastifyRequest, reply: FastifyReply) {
  if (pages && request.headers.accept?.startsWith("text/html")) return pages.answerNotFound(request, reply);
  throw new ApiError(404, "this path does not exist");
}
