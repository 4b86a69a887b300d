import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { isUnknownCurrency } from "../domain/currency.ts";
import type { Ingest } from "../domain/ingest.ts";
import type { Permission } from "../domain/permission.ts";
import type { Api } from "../http/api.ts";
import { refuseUnsupportedBody } from "../http/framing.ts";
import { requestTraceparent } from "../http/request-span.ts";
import type { ApiKey } from "../tables/api-keys.ts";
import { parseBatch, type RecordKind } from "./parse-batch.ts";
import { refuseImpossibleRecords } from "./refuse-impossible-records.ts";

const NO_BODY = Buffer.alloc(0);

/** @param addSource  notes on each record which key pushed it */
export function ingestBatchRoute<Row extends { currency: string }>(
  api: Api,
  path: string,
  permission: Permission,
  kind: RecordKind<Row>,
  ingest: Ingest<Row>,
  addSource: (record: Row, key: ApiKey) => void = () => {},
) {
  const onRequest: onRequestHookHandler[] = [
    api.requires(permission),
    (request, _reply, done) => {
      refuseUnsupportedBody(request.raw);
      done();
    },
  ];
  api.http.post(
    path,
    { onRequest, config: { family: "ingest" } },
    async (request: FastifyRequest, _reply: FastifyReply) => {
      const { merchant, key } = request.caller!;
      const batch = parseBatch(kind, (request.body as Buffer | undefined) ?? NO_BODY);
      refuseImpossibleRecords(kind.name, batch, { now: api.ports.now(), skewMs: api.clockSkewMs });
      for (const record of batch) addSource(record, key);
      const received = batch.length;
      const unknown = batch.filter(({ currency }) => isUnknownCurrency(currency));
      const { stored: changed, older } = await ingest(merchant, batch, requestTraceparent(request));
      request.records = received;
      request.stored = changed;
      request.older = older;
      if (unknown.length > 0) {
        const currencies = [...new Set(unknown.map(({ currency }) => currency))];
        request.log.warn({ merchantId: merchant.id, records: unknown.length, currencies }, "currency.unknown");
      }
      api.metrics.recordsIngested(kind.name, received, changed, older);
      if (changed > 0) api.onIngested();
      return { requestId: request.id };
    },
  );
}
