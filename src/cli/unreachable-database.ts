import type { Settings } from "../config/config.ts";
import { isOutage, sqlState } from "../postgres/database-errors.ts";

/** null for another error than an unreachable `DATABASE_URL`. */
export function describeUnreachableDatabase(
  error: unknown,
  { databaseUrl }: Pick<Settings, "databaseUrl">,
): string | null {
  if (!databaseUrl || !isOutage(error)) return null;
  const host = hostOf(databaseUrl);
  if (sqlState(error) === "53300")
    return `${host} has no connection left. Raise max_connections there, or run fewer processes.`;
  const why = (error as Error).message;
  const server = /^connection to the remote node (?:.*@)?(\S+)/.exec(why)?.[1];
  if (server !== undefined) return `${host} cannot reach ${server}, a server of its cluster. Start PostgreSQL there.`;
  return `cannot connect to ${host}: ${why}. Start PostgreSQL there, or set DATABASE_URL to where it runs.`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "its server";
}
