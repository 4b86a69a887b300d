import { uuidv7 } from "../api/api.fixture.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { ActionStatus, ActionType, RecoveryAction } from "../domain/recovery-action.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { insertRecoveryActions } from "../tables/recovery-actions.ts";
import { saveCaseTraits } from "../tables/recovery-sums.ts";
import { logRequests } from "../tables/request-log.ts";

export interface StoredCase {
  id: string;
  invoiceId: string;
}

interface CaseFacts {
  currency?: string;
  amount?: number;
  endsAt?: Date;
  budget?: number;
  /** Requested retries. */
  retries?: number;
  /** Of these retries. */
  reasons?: readonly string[];
  arm?: string;
  customerId?: string;
  invoiceId?: string;
  endedAt?: Date;
  endReason?: string;
  recovered?: boolean;
  unpaidAt?: Date;
}

const NO_TRAITS = {
  ...{ declineGroup: null, declineCode: null, paymentMethod: null, cardCountry: null, cardIssuer: null },
  ...{ planId: null, amountBand: null, tries: [] },
};
const INSERT_INVOICE = prepared(
  "test_attention_invoice",
  `insert into invoices (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
   values ($1, $2, 'UNPAID', $3, $4, $5, $6, $6)`,
);
const INSERT_CASE = prepared(
  "test_attention_case",
  `insert into cases (merchant_id, id, invoice_id, customer_id, unpaid_at, window_ends_at, budget, opened_at, arm, amount, currency,
     ended_at, end_reason, recovered, paid_at)
   values ($1, $2, $3, $4, $5, $6, $7, $5, $8, $9, $10, $11, $12, $13, case when $12::text = 'paid' then $11::timestamptz end)`,
);
const INSERT_EVENT = prepared(
  "test_attention_event",
  `insert into events (merchant_id, id, case_id, invoice_id, type, body, created_at, exhausted_at)
   values ($1, $2, $3, $4, 'recovery_action', '{}', $5, $6)`,
);
const INSERT_DELIVERY = prepared(
  "test_attention_delivery",
  `insert into deliveries (merchant_id, event_id, attempts, attempts_max, due_at) values ($1, $2, $3, 7, $4)`,
);
const INSERT_ATTEMPT = prepared(
  "test_attention_attempt",
  `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, status)
   values ($1, $2, 1, 1, $3, $3, 5, $4)`,
);

/** Stores rows that need attention. */
export function createAttentionStore(db: Database, merchantId: string, now: Date) {
  let number = 0;
  const newId = () => uuidv7(now.getTime());
  const ago = (ms: number) => new Date(now.getTime() - ms);

  async function insertAction(
    { id: caseId, invoiceId }: StoredCase,
    type: ActionType,
    status: ActionStatus,
    at: Date,
    reasons: readonly string[] = [],
  ) {
    const action: RecoveryAction = {
      ...{ id: newId(), caseId, invoiceId, customerId: "cus", subscriptionId: null, transactionId: null },
      ...{ paymentMethodType: null, cardCountry: null, currency: "EUR", amountDue: null, type, status },
      ...{ integrationType: "CUSTOM", actionSuggestion: "UNSPECIFIED", idealRetryTime: at, reasons: [...reasons] },
      ...{ decidedAt: at, executedAt: null, attemptedAt: null, createdAt: at, updatedAt: at },
    };
    await insertRecoveryActions(db, merchantId, [action]);
  }

  async function openCase(facts: CaseFacts = {}): Promise<StoredCase> {
    const { currency = "EUR", amount = 1_000, budget = 8, arm = "dunlin", retries = 0, recovered = false } = facts;
    const { endedAt = null, endReason = null, unpaidAt = ago(DAY_MS) } = facts;
    const { endsAt = new Date(unpaidAt.getTime() + 28 * DAY_MS) } = facts;
    const [id, invoiceId] = [newId(), facts.invoiceId ?? `inv_${++number}`];
    const customerId = facts.customerId ?? `cus_${number}`;
    await db.run(INSERT_INVOICE, [merchantId, invoiceId, customerId, amount, currency, unpaidAt]);
    const money = [arm, amount, currency, endedAt, endReason, recovered];
    await db.run(INSERT_CASE, [merchantId, id, invoiceId, customerId, unpaidAt, endsAt, budget, ...money]);
    await saveCaseTraits(db, merchantId, [{ id, ...NO_TRAITS }]);
    for (let i = 0; i < retries; i++)
      await insertAction({ id, invoiceId }, "RETRY", "EXPIRED", ago(DAY_MS), facts.reasons);
    return { id, invoiceId };
  }

  return {
    openCase,
    async requestCardChange({ id, invoiceId }: StoredCase, at: Date, status: ActionStatus = "SENT") {
      await insertAction({ id, invoiceId }, "CARD_CHANGE", status, at);
    },
    /** Waits after one attempt with this status; null: not attempted yet. */
    async waitingEvent({ id, invoiceId }: StoredCase, status: number | null) {
      const eventId = newId();
      await db.run(INSERT_EVENT, [merchantId, eventId, id, invoiceId, ago(HOUR_MS), null]);
      await db.run(INSERT_DELIVERY, [merchantId, eventId, status === null ? 0 : 1, now]);
      if (status !== null) await db.run(INSERT_ATTEMPT, [merchantId, eventId, ago(HOUR_MS), status]);
    },
    async giveUpEvent({ id, invoiceId }: StoredCase, at: Date) {
      const eventId = newId();
      await db.run(INSERT_EVENT, [merchantId, eventId, id, invoiceId, at, at]);
      return eventId;
    },
    /** Logs an accepted batch at each time. */
    logPushes: (times: readonly Date[], stored: number | null = 1) =>
      logRequests(
        db,
        times.map((at) => ({
          ...{ merchantId, id: uuidv7(at.getTime()), at, callerRequestId: null, keyId: null, method: "POST" },
          ...{ route: "/ingest/v1/invoices", status: 200, durationUs: 1, records: 1, stored, older: 0, error: null },
        })),
      ),
  };
}
