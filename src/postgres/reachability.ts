import { type Address, connect, prepared } from "./database.ts";
import { isOutage, sqlState } from "./database-errors.ts";

/** How long a server that does not answer holds up a look at it. */
const CONNECT_TIMEOUT_MS = 5_000;

const IS_STANDBY = prepared("reach_standby", "select pg_is_in_recovery() as standby");

/**
 * Looks whether the database takes writes.
 *
 * @returns why it does not, in one line without a password; null: it does
 * @throws what waiting does not mend, such as a wrong password
 */
export async function findDatabaseProblem(address: Address): Promise<string | null> {
  try {
    const connection = await connect(address, CONNECT_TIMEOUT_MS);
    try {
      const { standby } = (await connection.run<{ standby: boolean }>(IS_STANDBY)).rows[0]!;
      return standby ? "it is a standby, which takes no writes" : null;
    } finally {
      await connection.close().catch(() => {});
    }
  } catch (error) {
    if (isOutage(error)) return (error as Error).message || String(error);
    throw error;
  }
}

/** Returns what is wrong with the address of a database that refuses it, and how to mend it; null: it does not refuse it. */
export function describeRefusal(error: unknown): string | null {
  const { message = "", code } = error as { message?: string; code?: string };
  const says = REFUSALS[sqlState(error) ?? ""];
  if (says !== undefined) return `${says} (${message})`;
  if (/client password must be a (non-empty )?string/.test(message))
    return "names no password, and the server wants one";
  if (/server does not support SSL/.test(message)) return `asks for TLS, which the server does not offer: ${message}`;
  const isCertificate = /^(CERT_|DEPTH_ZERO_SELF_SIGNED|ERR_TLS_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/.test(code ?? "");
  return isCertificate ? `leads to a server whose certificate is not trusted: ${message}` : null;
}

const REFUSALS: Readonly<Record<string, string>> = {
  "28P01": "has a user or a password that the server does not accept",
  "28000": "has a user whom the server does not let in",
  "3D000": "names a database that does not exist: create it",
  "42501": "has a user who may not do what is needed: let the user own the database",
};
