import type { FastifyReply, FastifyRequest } from "fastify";
import type { Pages } from "./api.ts";
import { ApiError } from "./errors.ts";

/** Nothing is at a path: browsers get a page that says so, where there are pages, and programs JSON. */
export function answerNotFound(pages: Pages | null | undefined, request: FastifyRequest, reply: FastifyReply) {
  if (pages && request.headers.accept?.startsWith("text/html")) return pages.nothing(request, reply);
  throw new ApiError(404, "there is nothing at this path");
}
