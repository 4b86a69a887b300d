import { type Address, connect, prepared } from "./database.ts";
import { isOutage, sqlState } from "./database-errors.ts";

const CONNECT_TIMEOUT_MS = 5_000;

const IS_STANDBY = prepared("reach_standby", "select pg_is_in_recovery() as standby");

/**
 * Checks whether the database accepts writes.
 *
 * @returns the reason why not, in one line without a password
 * @throws errors that do not pass by waiting, such as a wrong password
 */
export async function findDatabaseProblem(address: Address): Promise<string | null> {
  try {
    const connection = await connect(address, CONNECT_TIMEOUT_MS);
    try {
      const { standby } = (await connection.run<{ standby: boolean }>(IS_STANDBY)).rows[0]!;
      return standby ? "it is a standby, which accepts no writes" : null;
    } finally {
      await connection.close().catch(() => {});
    }
  } catch (error) {
    if (isOutage(error)) return (error as Error).message || String(error);
    throw error;
  }
}

/** For a refused address: why, and what to do. Null for other errors. */
export function describeRefusal(error: unknown): string | null {
  const { message = "", code } = error as { message?: string; code?: string };
  const reason = REFUSALS[sqlState(error) ?? ""];
  if (reason !== undefined) return `${reason} (${message})`;
  if (/client password must be a (non-empty )?string/.test(message))
    return "has no password, but the server requires one";
  if (/server does not support SSL/.test(message)) return `asks for TLS, which the server does not offer: ${message}`;
  const isCertificate = /^(CERT_|DEPTH_ZERO_SELF_SIGNED|ERR_TLS_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/.test(code ?? "");
  return isCertificate ? `names a server whose certificate is not trusted: ${message}` : null;
}

const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "has a user or password that the server does not accept",
  "28000": "has a user that is not allowed to connect",
  "3D000": "names a database that does not exist: create it",
  "42501": "has a user without the required privileges: make this user the owner of the database",
};
