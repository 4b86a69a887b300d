import type { FastifyReply, FastifyRequest } from "fastify";
import { beginSession, endSession, SESSION_LIFETIME_MS } from "../../auth/sessions.ts";
import type { Person } from "../../domain/person.ts";
import type { ConsoleOptions } from "../console.ts";
import { cookieOf, SESSION_COOKIE } from "../visit.ts";

/** Hidden from scripts, limited to TLS, not sent with other sites' forms, and not settable by neighboring hosts. */
export const formatCookie = (name: string, value: string, lifeMs: number) =>
  `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${lifeMs / 1000}`;

export async function startSession(
  { allTenantsDb, ports }: ConsoleOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  person: Person,
): Promise<void> {
  const token = await beginSession(allTenantsDb, person, cookieOf(request), ports);
  reply.header("set-cookie", formatCookie(SESSION_COOKIE, token, SESSION_LIFETIME_MS));
}

export async function clearSession({ allTenantsDb }: ConsoleOptions, request: FastifyRequest, reply: FastifyReply) {
  const token = cookieOf(request);
  if (token !== undefined) await endSession(allTenantsDb, token);
  reply.header("set-cookie", formatCookie(SESSION_COOKIE, "", 0));
}
