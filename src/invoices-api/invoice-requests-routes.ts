import type { FastifyRequest } from "fastify";
import type { Actor } from "../domain/person.ts";
import type { Api } from "../http/api.ts";
import { ApiError } from "../http/errors.ts";
import { refuseUnsupportedBody } from "../http/framing.ts";
import { requestTraceparent } from "../http/request-span.ts";
import { futureTimestamp, isIdentifier, optionalField, type RecordField, text } from "../ingest/record-fields.ts";
import {
  postponeRecovery,
  type RecoveryRequest,
  type RecoveryRequests,
  requestRetryNow,
  stopRecovery,
} from "../merchants/recovery-requests.ts";
import type { ApiKey } from "../tables/api-keys.ts";
import { type InvoiceRequestName, requestPath, requestRoute } from "./paths.ts";
import { readRequestBody } from "./request-body.ts";

interface ReasonBody {
  /** For the audit log. */
  reason?: string;
}
interface PostponeBody extends ReasonBody {
  until: Date;
}
export const REASON_FIELDS = { reason: optionalField(text) };
export const POSTPONE_FIELDS = { until: futureTimestamp, ...REASON_FIELDS };

/** A reply, a sentence that refuses the request, or null for an unknown invoice. */
type Answer = Record<string, unknown> | string | null;

/** Lets a merchant's program end an invoice's recovery, retry it now, or postpone its retries. */
export function invoiceRequestsRoutes(api: Api) {
  addRoute<ReasonBody>(api, "stop", REASON_FIELDS, async (service, merchantId, request) => {
    const stopped = await stopRecovery(service, merchantId, request);
    return isResult(stopped) ? { eventId: stopped.eventId ?? undefined } : stopped;
  });
  addRoute<ReasonBody>(api, "retryNow", REASON_FIELDS, async (service, merchantId, request) => {
    const requested = await requestRetryNow(service, merchantId, request);
    return isResult(requested) ? { recoveryActionId: requested.actionId } : requested;
  });
  addRoute<PostponeBody>(api, "postpone", POSTPONE_FIELDS, async (service, merchantId, { until, ...request }) => {
    const postponed = await postponeRecovery(service, merchantId, request, until);
    if (!isResult(postponed)) return postponed;
    api.onIngested();
    return { until: postponed.until.toISOString() };
  });
}

const isResult = <Result extends object>(answer: Result | string | null): answer is Result =>
  typeof answer === "object" && answer !== null;

function addRoute<Body extends object>(
  api: Api,
  name: InvoiceRequestName,
  fields: Readonly<Record<keyof Body & string, RecordField>>,
  act: (service: RecoveryRequests, merchantId: string, request: RecoveryRequest & Body) => Promise<Answer>,
) {
  const onRequest = [api.requires("manage:recovery"), refuseOtherBodies];
  const config = { family: "list", path: requestPath(name) };
  api.http.post(requestRoute(name), { onRequest, config }, async (request: FastifyRequest) => {
    const { merchant, key } = request.caller!;
    const invoiceId = checkedId((request.params as { invoiceId: string }).invoiceId);
    const body = readRequestBody<Body>(fields, request.body as Buffer | undefined);
    const [db, traceparent] = [api.tenantDb.of(merchant.id), requestTraceparent(request)];
    const service = { ...api.recovery, db, ports: api.ports, log: request.log, traceparent };
    const answer = await act(service, merchant.id, { invoiceId, actor: actorOf(key), ...body });
    if (answer === null) throw unknownInvoiceError();
    if (typeof answer === "string") throw new ApiError(409, answer);
    return { requestId: request.id, ...answer };
  });
}

/** No stored invoice has another id. */
export function checkedId(invoiceId: string): string {
  if (!isIdentifier(invoiceId)) throw unknownInvoiceError();
  return invoiceId;
}

export const unknownInvoiceError = () => new ApiError(404, "there is no such invoice");

/** In the audit log. */
const actorOf = ({ lastFour }: ApiKey): Actor => ({ personId: null, name: `API key …${lastFour}`, address: null });

function refuseOtherBodies({ raw }: FastifyRequest, _reply: unknown, done: () => void) {
  const { "content-type": type, "content-length": length, "transfer-encoding": encoding } = raw.headers;
  if (type !== undefined || Number(length ?? 0) > 0 || encoding !== undefined) refuseUnsupportedBody(raw);
  done();
}
