import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { isUnknownCurrency } from "../../domain/currency.ts";
import type { Permission } from "../../domain/permission.ts";
import type { Ingest } from "../../recovery/join-flushes.ts";
import { countTexts } from "../../store/packed.ts";
import { giveBack } from "../../store/spare-memory.ts";
import type { Api } from "../api.ts";
import { refuseOtherBodies } from "../framing.ts";
import { type RecordKind, readBatch } from "./batch.ts";
import { refuseImpossible } from "./refuse-impossible.ts";

/** What the three ingest operations have in common: an authenticated batch, read whole, stored whole or not at all. */
export function ingestBatchRoute<Row extends { currency: string }>(
  api: Api,
  path: string,
  permission: Permission,
  kind: RecordKind<Row>,
  ingest: Ingest<Row>,
) {
  const onRequest: onRequestHookHandler[] = [
    api.requires(permission),
    (request, _reply, done) => {
      refuseOtherBodies(request.raw);
      done();
    },
  ];
  api.http.post(
    path,
    { onRequest, config: { family: "ingest" } },
    async (request: FastifyRequest, _reply: FastifyReply) => {
      const { merchant } = request.caller!;
      const batch = readGivenBody(kind, request.body as Buffer | undefined);
      refuseImpossible(kind, batch, { now: api.ports.now(), skewMs: api.clockSkewMs });
      const received = batch.count;
      const unknown = [...countTexts(batch, "currency")].filter(([currency]) => isUnknownCurrency(currency));
      const { stored: changed, older } = await ingest(merchant, batch);
      request.records = received;
      request.stored = changed;
      request.older = older;
      if (unknown.length > 0) {
        const records = unknown.reduce((sum, [, count]) => sum + count, 0);
        const currencies = unknown.map(([currency]) => currency);
        request.log.warn({ merchantId: merchant.id, records, currencies }, "currency.unknown");
      }
      api.metrics.recordsIngested(kind.name, received, changed, older);
      if (changed > 0) api.onIngested();
      return { requestId: request.id };
    },
  );
}

/** As `readBatch`; nobody reads the body after this. */
function readGivenBody<Row>(kind: RecordKind<Row>, body: Buffer = Buffer.alloc(0)) {
  try {
    return readBatch(kind, body);
  } finally {
    giveBack(body);
  }
}
