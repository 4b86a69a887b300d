import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger as Log } from "pino";
import type { OnWithdrawn } from "../domain/event.ts";
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
  /** For API keys and the request log. Everything else goes through `tenantDb`. */
  allTenantsDb: Database;
  tenantDb: TenantDatabase;
  owner: Database;
  ports: Ports;
  clockSkewMs: number;
  log: Log;
  ingest: { subscriptions: Ingest<Subscription>; invoices: Ingest<Invoice>; transactions: Ingest<Transaction> };
  /** Called after a commit that changed events. */
  recovery: { onEvents(merchantId: string): void; onWithdrawn: OnWithdrawn };
  /** Called after a commit that changed records, because cases may be due. */
  onIngested(): void;
  tls: Tls;
  connectionsPerAddress: number;
  trustedProxies: TrustedProxies;
  baseUrl: string;
  /** Keys of page tokens, the same in every replica. The first signs; all verify. */
  tokenKeys: readonly Buffer[];
  /** CIDR ranges of outgoing webhooks. */
  egressRanges: readonly string[];
  ready(): Promise<{ ok: boolean; problems: readonly string[] }>;
  metrics: ApiMetrics;
  /** Whether to serve operations that need an API key. Defaults to true. */
  servesOperations?: boolean;
  pages?: Pages | null;
}

export interface Pages {
  routes(http: FastifyInstance): Promise<void>;
  answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply;
}

export interface ApiMetrics {
  /** `route` is a pattern such as "/v1/recovery_actions", or "unknown"; never the path. */
  requestFinished(route: string, method: string, status: number, ms: number): void;
  recordsIngested(kind: string, received: number, changed: number, older: number): void;
  /** Requests that were dropped before they were logged. */
  requestsUnlogged(count: number): void;
  /** An unauthenticated request that is counted instead of logged. */
  unauthenticatedRequest(): void;
  connectionRefused(reason: "address" | "all"): void;
}

export interface Api extends ApiOptions {
  http: FastifyInstance;
  /** Returns a hook that admits keys with this permission. */
  requires(permission: Permission): ReturnType<typeof requirePermission>;
}
