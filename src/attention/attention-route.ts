import type { FastifyRequest } from "fastify";
import type { Api } from "../http/api.ts";
import type { AttentionItem } from "./attention-item.ts";
import { listAttention } from "./list-attention.ts";

export const ATTENTION_PATH = "/v1/attention";

/** Lists everything that needs a person. */
export function attentionRoute(api: Api) {
  const onRequest = api.requires("read:attention");
  const config = { family: "list", path: ATTENTION_PATH };
  api.http.get(ATTENTION_PATH, { onRequest, config }, async (request: FastifyRequest) => {
    const { id } = request.caller!.merchant;
    const items = await listAttention(api.tenantDb.of(id), id, api.ports.now(), api.ports.clockRate);
    return { items: items.map(toJson) };
  });
}

/** Null fields are omitted, as in all replies. */
const toJson = ({ count, since, ...item }: AttentionItem) => ({
  ...item,
  count: count ?? undefined,
  since: since?.toISOString(),
});
