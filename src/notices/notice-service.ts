import type { Logger as Log } from "pino";
import type { Mailer } from "../auth/mail.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import type { PostChat } from "./chat.ts";

/** The parts that find, write and send notices. */
export interface NoticeService {
  /** For due times and people. Everything else uses `tenantDb`. */
  db: Database;
  tenantDb: TenantDatabase;
  ports: Ports;
  log: Log;
  /** Null without a mail server: no mails are written. */
  mailer: Mailer | null;
  postChat: PostChat;
  /** Address of the console, without a trailing slash. */
  consoleUrl: string;
}
