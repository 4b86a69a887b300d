/** Undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  // No SQLSTATE begins with E, unlike EPIPE.
  return typeof code === "string" && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined;
}

/**
 * Whether a statement failed because a row with this key exists. Citus names the key of a table's part, such as
 * invoices_pkey_102008, and only in the message.
 */
export const isDuplicateOf = (key: string, error: unknown): boolean =>
  sqlState(error) === "23505" && new RegExp(`\\b${key}(_\\d+)?\\b`).test((error as Error).message);

/** Whether the database was unreachable or overloaded, so that the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (isSilentOutage(error)) return true;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string") return /Connection terminated|not queryable/.test(String(error));
  if (
    /^(ECONNABORTED|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|EAI_AGAIN|ENOTFOUND|EHOSTDOWN|EHOSTUNREACH|ENETUNREACH)$/.test(
      code,
    )
  )
    return true;
  // Citus reports the end of its server, and of a server that it needs, as an internal error.
  if (code === "XX000")
    return /^(postmaster was shut down|failure on connection marked as essential)/.test((error as Error).message);
  return /^(08|25006|25P03|40001|40P01|53|55P03|57)/.test(code);
}

export const isLockTimeout = (error: unknown) => sqlState(error) === "55P03";

/** Whether the server did not answer in time, so that an immediate retry is useless. */
export function isSilentOutage(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code !== undefined) return code === "ETIMEDOUT";
  return /^(Query read timeout|timeout expired|timeout exceeded when trying|.*due to connection timeout)/.test(
    `${message}`,
  );
}

/**
 * Whether a failed COMMIT, or a failed statement outside a transaction, certainly left nothing behind. "Not queryable": it was
 * never sent.
 */
export const wasRolledBack = (error: unknown) =>
  /^(25006|25P03|40001|40P01|53)/.test(sqlState(error) ?? "") || /is not queryable/.test(String(error));

/** For logs. Excludes database errors' messages and details, because they quote values. */
export function errorFields(error: unknown) {
  const { name, code, message, stack, table, constraint } = (error ?? {}) as Partial<Error & ErrorPosition>;
  const fromDatabase = sqlState(error) !== undefined;
  return {
    errorName: name,
    errorCode: code,
    errorTable: fromDatabase ? table : undefined,
    errorConstraint: fromDatabase ? constraint : undefined,
    errorMessage: fromDatabase ? undefined : (message ?? String(error)).replace(/\d{4,}/g, "…"),
    errorStack: stack
      ?.split("\n")
      .filter((line) => /^\s+at /.test(line))
      .map((line) => line.trim()),
  };
}

interface ErrorPosition {
  code: string;
  table: string;
  constraint: string;
}
