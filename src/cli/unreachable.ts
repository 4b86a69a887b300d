import type { Settings } from "../config.ts";
import { isOutage } from "../store/database.ts";

/** What is said when the database of `DATABASE_URL` cannot be reached, and how to mend it; null when the trouble is another one. */
export function unreachable(error: unknown, { databaseUrl }: Pick<Settings, "databaseUrl">): string | null {
  if (!databaseUrl || !isOutage(error)) return null;
  const why = (error as Error).message;
  return `cannot connect to ${hostOf(databaseUrl)}: ${why}. Start PostgreSQL there, or set DATABASE_URL to where it runs.`;
}

/** Where the database is, without the password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "its server";
}
