import type { FastifyReply, FastifyRequest } from "fastify";
import { findValidSession } from "../auth/sessions.ts";
import type { Actor, Person } from "../domain/person.ts";
import { isAllowed, type Role, type RoleOperation } from "../domain/role.ts";
import { clientAddress, parseTrustedProxies } from "../http/client-address.ts";
import type { Database } from "../postgres/database.ts";
import { type Membership, membershipsOf } from "../tables/people.ts";
import type { ConsoleOptions } from "./console.ts";
import { PageError } from "./page-error.ts";

export const SESSION_COOKIE = "__Host-dunlin";

/** For the merchant whose pages are shown. */
export interface Visit {
  person: Person;
  merchantId: string;
  merchantName: string;
  role: Role;
  memberships: readonly Membership[];
  db: Database;
  token: string;
  /** Service time, and its speed. */
  clock: { now: Date; rate: number };
  /** Real time. */
  signedInAt: Date;
  actor: Actor;
  path: string;
  query: URLSearchParams;
  params: Record<string, string>;
  form: URLSearchParams;
  may(operation: RoleOperation): boolean;
  reply: FastifyReply;
}

/** null without a session. */
export async function findVisit(
  options: ConsoleOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Visit | null> {
  const { allTenantsDb, tenantDb, ports } = options;
  const token = cookieOf(request);
  const session = token === undefined ? null : await findValidSession(allTenantsDb, token, ports);
  if (token === undefined || session === null) return null;
  const { person } = session;
  const memberships = await membershipsOf(allTenantsDb, person.id);
  const membership = memberships.find(({ merchantId }) => merchantId === session.merchantId) ?? memberships[0];
  if (!membership)
    throw new PageError(403, `${person.email} is no longer a member of any merchant. Ask an owner for an invite.`);
  const { pathname, searchParams } = urlOf(request);
  const address = clientAddressOf(request, options);
  return {
    person,
    merchantId: membership.merchantId,
    merchantName: membership.name,
    role: membership.role,
    memberships,
    db: tenantDb.of(membership.merchantId),
    token,
    clock: { now: ports.now(), rate: ports.clockRate },
    signedInAt: session.createdAt,
    actor: { personId: person.id, name: person.email, address },
    path: pathname,
    query: searchParams,
    params: request.params as Record<string, string>,
    form: formOf(request),
    may: (operation) => isAllowed(membership.role, operation),
    reply,
  };
}

export const cookieOf = (request: FastifyRequest, name = SESSION_COOKIE) =>
  (request.headers.cookie ?? "")
    .split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);

/** A proxy that terminates TLS is trusted even if unlisted, but only for the last address, which it adds itself. */
export function clientAddressOf(
  { raw }: FastifyRequest,
  { behindProxy, trustedProxies }: Pick<ConsoleOptions, "behindProxy" | "trustedProxies">,
): string {
  const address = clientAddress(raw, trustedProxies, behindProxy);
  return address ?? clientAddress(raw, parseTrustedProxies(raw.socket.remoteAddress ?? ""), behindProxy) ?? "unknown";
}

export const urlOf = (request: FastifyRequest) => new URL(request.url, "https://console.invalid");
export const formOf = (request: FastifyRequest) =>
  request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
