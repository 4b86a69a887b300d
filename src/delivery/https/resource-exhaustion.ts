/** Shortages of files, memory, buffers or local ports. */
const EXHAUSTION_CODES = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL", "EAI_MEMORY"]);

/** A local shortage says nothing about the endpoint. */
export function isExhaustion(error: unknown): boolean {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string" && EXHAUSTION_CODES.has(code)) return true;
  // One for each of the host's addresses.
  if (Array.isArray(errors) && errors.some(isExhaustion)) return true;
  return cause !== undefined && cause !== error && isExhaustion(cause);
}
