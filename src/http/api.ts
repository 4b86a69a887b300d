import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger as Log } from "pino";
import type { Ingest } from "../domain/ingest.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Permission } from "../domain/permission.ts";
import type { Ports } from "../domain/ports.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { Database } from "../postgres/database.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import type { requirePermission } from "./caller.ts";
import type { TrustedProxies } from "./client-address.ts";
import type { Tls } from "./listener.ts";

export interface ApiOptions {
  /** For all merchants: keys, and the log of requests. What a request asks of its merchant goes through `walled`. */
  everyone: Database;
  walled: TenantDatabase;
  /** Makes and drops the partitions of the request log. */
  owner: Database;
  ports: Ports;
  /** How far the clocks of senders may be ahead of service time. */
  clockSkewMs: number;
  log: Log;
  ingest: { subscriptions: Ingest<Subscription>; invoices: Ingest<Invoice>; transactions: Ingest<Transaction> };
  /** Called after each commit that changed something: there may be something to decide. */
  onIngested(): void;
  tls: Tls;
  /** How many connections one address may have. */
  connectionsPerAddress: number;
  trustedProxies: TrustedProxies;
  /** The public URL of the API, without a slash at the end. */
  baseUrl: string;
  /** The keys of page tokens, the same in every replica: the first signs, each opens. */
  tokenKeys: readonly Buffer[];
  /** CIDR ranges that webhooks come from. */
  egressRanges: readonly string[];
  ready(): Promise<{ ok: boolean; problems: readonly string[] }>;
  metrics: ApiMetrics;
  /** False: this process answers no merchant's programs. */
  operations?: boolean;
  /** The pages for people on the same server. */
  pages?: Pages | null;
}

export interface Pages {
  routes(http: FastifyInstance): Promise<void>;
  /** Answers a browser that asks for what is not there. */
  nothing(request: FastifyRequest, reply: FastifyReply): FastifyReply;
}

export interface ApiMetrics {
  /** `route` is the pattern, never the path: "/v1/recovery_actions", or "unknown". */
  requestFinished(route: string, method: string, status: number, ms: number): void;
  recordsIngested(kind: string, received: number, changed: number, older: number): void;
  /** Requests that the request log has no row of. */
  requestsUnlogged(count: number): void;
  requestOfNobody(): void;
  /** A connection was closed: its address had its share, or there were too many of all addresses. */
  connectionRefused(reason: "address" | "all"): void;
}

/** The dependencies of the routes. */
export interface Api extends ApiOptions {
  http: FastifyInstance;
  /** A hook that lets in keys with this permission. */
  requires(permission: Permission): ReturnType<typeof requirePermission>;
}
