import type { FastifyInstance, FastifyReply } from "fastify";
import type { Mailer } from "../auth/mail.ts";
import type { Oidc } from "../auth/oidc.ts";
import type { Passwords } from "../auth/password.ts";
import type { AllowedAddress } from "../delivery/https/address-guard.ts";
import type { SendTestEvent } from "../delivery/test-event.ts";
import type { OnWithdrawn } from "../domain/event.ts";
import type { JobKind } from "../domain/job.ts";
import type { Ports } from "../domain/ports.ts";
import type { RoleOperation } from "../domain/role.ts";
import type { TrustedProxies } from "../http/client-address.ts";
import type { Database } from "../postgres/database.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import type { Page } from "./page-layout.ts";
import type { Visit } from "./visit.ts";

export interface ConsoleOptions {
  /** For people and sessions. All else uses `tenantDb`. */
  allTenantsDb: Database;
  tenantDb: TenantDatabase;
  ports: Ports;
  secretKeys: SecretKeys;
  passwords: Passwords;
  /** null allows only passwords. */
  oidc: Oidc | null;
  /** null if people share invite links themselves. */
  mailer: Mailer | null;
  /** Without a trailing slash. */
  authUrl: string;
  baseUrl: string;
  /** Certificate authority; null if publicly trusted. */
  caPath: string | null;
  clockSkewMs: number;
  /** A proxy terminates TLS and sets X-Forwarded-For. */
  behindProxy: boolean;
  trustedProxies: TrustedProxies;
  egressRanges: readonly string[];
  allow: readonly AllowedAddress[];
  sendTestEvent: SendTestEvent;
  /** Called when a merchant has due events. */
  onEvents(merchantId: string): void;
  onWithdrawn: OnWithdrawn;
  /** Called when a person's request queues cases. */
  onCases(): void;
  /** Called when a person starts a job. */
  onJob(kind: JobKind): void;
}

export interface Console extends ConsoleOptions {
  http: FastifyInstance;
  origin: string;
  /** With `operation`, only roles with that permission see the page. */
  page(path: string, operation: RoleOperation | null, show: PageHandler): void;
  post(path: string, operation: RoleOperation | null, change: PageHandler): void;
  /** For a form with a file. `withUpload` reads its body, and only if the role allows it. */
  upload(path: string, operation: RoleOperation, change: PageHandler): void;
}

export type PageHandler = (visit: Visit) => Promise<Page | FastifyReply> | Page | FastifyReply;

export const sendHtml = (reply: FastifyReply, text: string) =>
  reply.header("content-type", "text/html; charset=utf-8").send(text);

export const redirectTo = (reply: FastifyReply, path: string) => reply.redirect(path, 303);
