/** Shortages of this process or machine: files, memory, buffers, local ports. */
const EXHAUSTION_CODES = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL", "EAI_MEMORY"]);

/** Whether a request failed because of a local shortage, which says nothing about the endpoint. */
export function isExhaustion(error: unknown): boolean {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string" && EXHAUSTION_CODES.has(code)) return true;
  // A host with several addresses has one error for each.
  if (Array.isArray(errors) && errors.some(isExhaustion)) return true;
  return cause !== undefined && cause !== error && isExhaustion(cause);
}
