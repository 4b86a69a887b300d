// Trace contexts of requests that queued a case (decision record 60). Rows are only added, so that a request waits for no step. A
// case that is not scheduled keeps none, because nothing would delete them.
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** An invoice's or a subscription's id, and the context of the request that changed it. */
export interface TracedRecord {
  id: string;
  traceparent: string;
}

const addSql = (caseIds: string) =>
  `insert into case_traces (merchant_id, case_id, traceparent, at)
   select distinct $1::uuid, affected.id, pushed.traceparent, $4::timestamptz
   from unnest($2::text[], $3::text[]) as pushed (id, traceparent)
   cross join lateral (${caseIds} offset 0) affected
   where exists (select from due_cases where merchant_id = $1 and case_id = affected.id)
   on conflict do nothing`;

const ADD_BY_INVOICE = prepared(
  "trace_cases_by_invoice",
  addSql("select id from cases where merchant_id = $1 and invoice_id = pushed.id"),
);
const ADD_BY_SUBSCRIPTION = prepared(
  "trace_cases_by_subscription",
  addSql("select id from cases where merchant_id = $1 and subscription_id = pushed.id and ended_at is null"),
);

const addParameters = (merchantId: string, records: readonly TracedRecord[], now: Date) => [
  merchantId,
  records.map(({ id }) => id),
  records.map(({ traceparent }) => traceparent),
  now,
];

/** Call it after the cases were opened. */
export async function traceCasesOfInvoices(tx: Tx, merchantId: string, invoices: readonly TracedRecord[], now: Date) {
  await tx.run(ADD_BY_INVOICE, addParameters(merchantId, invoices, now));
}

export async function traceCasesOfSubscriptions(
  tx: Tx,
  merchantId: string,
  subscriptions: readonly TracedRecord[],
  now: Date,
) {
  await tx.run(ADD_BY_SUBSCRIPTION, addParameters(merchantId, subscriptions, now));
}

const READ = prepared(
  "traces_of_cases",
  `select case_id as "caseId", traceparent from case_traces
   where merchant_id = $1 and case_id = any($2::uuid[]) order by at, traceparent`,
);

/** By case, oldest first. */
export async function tracesOfCases(
  tx: Tx,
  merchantId: string,
  caseIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await tx.run<{ caseId: string; traceparent: string }>(READ, [
    merchantId,
    encodeTextArray(caseIds, "uuid"),
  ]);
  const traces = new Map<string, string[]>();
  for (const { caseId, traceparent } of rows) {
    const known = traces.get(caseId);
    if (known) known.push(traceparent);
    else traces.set(caseId, [traceparent]);
  }
  return traces;
}

const DELETE = prepared(
  "delete_case_traces",
  `delete from case_traces stored using unnest($2::uuid[], $3::text[]) as old (case_id, traceparent)
   where stored.merchant_id = $1 and stored.case_id = old.case_id and stored.traceparent = old.traceparent`,
);

/** Those that `tracesOfCases` read. The caller has locked the cases. */
export async function deleteCaseTraces(
  tx: Tx,
  merchantId: string,
  traces: readonly { caseId: string; traceparent: string }[],
) {
  await tx.run(DELETE, [merchantId, traces.map(({ caseId }) => caseId), traces.map(({ traceparent }) => traceparent)]);
}
