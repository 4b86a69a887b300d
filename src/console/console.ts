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
  /** For all merchants: people, their sessions and for whom they work. What a page asks of its merchant goes through `walled`. */
  allTenantsDb: Database;
  tenantDb: TenantDatabase;
  ports: Ports;
  /** Opens and closes the credentials at rest. */
  secretKeys: SecretKeys;
  passwords: Passwords;
  /** The identity provider that people may sign in with; null: none. */
  oidc: Oidc | null;
  /** Sends invites; null: their links are handed on by whoever makes them. */
  mailer: Mailer | null;
  /** The URL of the console for people, without a slash at the end. */
  authUrl: string;
  /** The URL of the API for programs. */
  baseUrl: string;
  /** PEM file of the authority to trust; null when every machine trusts the certificate. */
  caPath: string | null;
  /** How far the dates of what is imported may be ahead of service time. */
  clockSkewMs: number;
  /** A proxy ends TLS, and says in X-Forwarded-For who calls. */
  behindProxy: boolean;
  /** Those that are named. */
  trustedProxies: TrustedProxies;
  egressRanges: readonly string[];
  /** Private addresses that webhooks may be sent to. */
  allow: readonly AllowedAddress[];
  sendTestEvent: SendTestEvent;
  /** Events of this merchant are due, for the first time or again. */
  onEvents(merchantId: string): void;
  /** These events were taken back. */
  onWithdrawn: OnWithdrawn;
  /** Somebody asked for a job of this kind. */
  onJob(kind: JobKind): void;
}

/** The dependencies of the pages. */
export interface Console extends ConsoleOptions {
  http: FastifyInstance;
  origin: string;
  /** A page that shows something to members; `deed`: only to those who may. */
  page(path: string, deed: RoleOperation | null, show: PageHandler): void;
  /** A form that changes something. */
  post(path: string, deed: RoleOperation | null, change: PageHandler): void;
  /** A form with a file. Its body is not read yet: `withUpload` does, and nobody does for who is refused. */
  upload(path: string, deed: RoleOperation, change: PageHandler): void;
}

/** The answer to a visitor: a page, or an answer that was sent already. */
export type PageHandler = (visit: Visit) => Promise<Page | FastifyReply> | Page | FastifyReply;

export const sendHtml = (reply: FastifyReply, text: string) =>
  reply.header("content-type", "text/html; charset=utf-8").send(text);

/** After a change the browser reads a page anew, so that a reload repeats nothing. */
export const redirectTo = (reply: FastifyReply, path: string) => reply.redirect(path, 303);
