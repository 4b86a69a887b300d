/** This process or its machine has no more of something: files, memory, buffers, or ports of its own. */
const EXHAUSTION_CODES = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL", "EAI_MEMORY"]);

/** Whether a request failed because we ran out of something, which says nothing about the endpoint. */
export function isExhaustion(error: unknown): boolean {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string" && EXHAUSTION_CODES.has(code)) return true;
  // Of a host with several addresses each was tried.
  if (Array.isArray(errors) && errors.some(isExhaustion)) return true;
  return cause !== undefined && cause !== error && isExhaustion(cause);
}
