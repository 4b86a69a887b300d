import type { Attention } from "./attention-list.ts";
import type { ReadOptions } from "./recovery-actions.ts";
import type { Request } from "./request.ts";

export interface AttentionRequests {
  /** Returns everything that needs a person, the most urgent first. */
  list(options?: ReadOptions): Promise<Attention>;
}

export const createAttention = (request: Request): AttentionRequests => ({
  list: async ({ signal } = {}) => (await request("GET", "/v1/attention", undefined, signal)) as unknown as Attention,
});
