import type { FastifyReply, FastifyRequest } from "fastify";
import { isUnknownCurrency } from "../../domain/currency.ts";
import type { Permission } from "../../domain/permission.ts";
import type { Ingest } from "../../recovery/join-flushes.ts";
import type { Api } from "../api.ts";
import { refuseOtherBodies } from "../framing.ts";
import { type RecordKind, readBatch } from "./batch.ts";

/** What the three ingest operations have in common: an authenticated batch, read whole, stored whole or not at all. */
export function ingestBatchRoute<Row extends { currency: string }>(
  api: Api,
  path: string,
  permission: Permission,
  kind: RecordKind<Row>,
  ingest: Ingest<Row>,
) {
  const onRequest = [api.requires(permission), async (request: FastifyRequest) => refuseOtherBodies(request.raw)];
  api.http.post(
    path,
    { onRequest, config: { family: "ingest" } },
    async (request: FastifyRequest, _reply: FastifyReply) => {
      const { merchant } = request.caller!;
      const records = readBatch(kind, (request.body as Buffer | undefined) ?? Buffer.alloc(0));
      request.records = records.length;
      const changed = await ingest(merchant, records);
      const unknown = records.filter(({ currency }) => isUnknownCurrency(currency));
      if (unknown.length > 0) {
        const currencies = [...new Set(unknown.map(({ currency }) => currency))];
        request.log.warn({ merchantId: merchant.id, records: unknown.length, currencies }, "currency.unknown");
      }
      request.log.info({ merchantId: merchant.id, received: records.length, changed }, `${kind.name}.ingested`);
      api.metrics.recordsIngested(kind.name, records.length, changed);
      if (changed > 0) api.onIngested();
      return { requestId: request.id };
    },
  );
}
