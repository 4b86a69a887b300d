import { type RunScoped, statement } from "./database.ts";
import type { ClaimedEvent, EventStore, WebhookEvent } from "./sdk.ts";

const SCOPE = "merchant_id = $1 and connection = $2";
const KEEP = statement(
  "keep_event",
  `insert into connector_events (merchant_id, connection, id, invoice_id, event, kept_at, due_at) values ($1, $2, $3, $4, $5, $6, $6)
   on conflict do nothing`,
);
const CLAIM = statement(
  "claim_events",
  `update connector_events set due_at = $5, tries = tries + 1
   where ${SCOPE} and id in (
     select id from connector_events where ${SCOPE} and due_at <= $3 order by due_at limit $4
     for update skip locked)
   returning event, tries`,
);
const END = statement(
  "end_event",
  `update connector_events set due_at = $5, problem = $6 where ${SCOPE} and id = $3 and tries = $4 and due_at is not null`,
);
const FAILED = "The last attempt to handle it failed.";

const RELEASE_CLAIMS = statement(
  "release_event_claims",
  `update connector_events set due_at = $3 where ${SCOPE} and due_at > $3 and problem is null and tries > 0`,
);

/** Makes events due that a process had claimed before it died. They may be handled twice. */
export async function releaseEventClaims(run: RunScoped, at: Date) {
  await run(RELEASE_CLAIMS, at);
}

/** Keeps Dunlin's webhooks until they are handled, each once. */
export function createEventInbox(run: RunScoped): EventStore {
  const end = ({ event, tries }: ClaimedEvent, dueAt: Date | null, problem: string | null) =>
    run(END, event.id, tries, dueAt, problem);
  /** Of events whose last attempt failed in this process. */
  const problems = new Map<string, string>();
  return {
    keep: async (event, at) =>
      (await run(KEEP, event.id, event.data.invoiceId, JSON.stringify(event), at)).rowCount === 1,
    claim: async (limit, at, until) =>
      (await run<{ event: WebhookEvent; tries: number }>(CLAIM, at, limit, until)).rows,
    // Everything that handlers do may be done twice, so the event ends after them.
    async finish(claimed, work) {
      try {
        await work(undefined);
      } catch (error) {
        problems.set(claimed.event.id, String(error));
        throw error;
      }
      await end(claimed, null, null);
    },
    async postpone(claimed, dueAt) {
      const problem = problems.get(claimed.event.id) ?? FAILED;
      problems.delete(claimed.event.id);
      await end(claimed, dueAt, problem);
    },
  };
}
