import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Zone } from "../engine/local-time.ts";
import { RETRY_AT_ONCE_REASON } from "../engine/requests-by-hand.ts";
import type { PersonsRequest } from "../tables/audit-log.ts";
import { formatTime } from "./explain-retry-time.ts";
import type { ExplainedCase } from "./load-explained-case.ts";

/** Names an actor of the audit log within a sentence. */
export const nameActor = ({ actor }: Pick<PersonsRequest, "actor">): string =>
  actor === COMMAND_LINE_ACTOR.name ? `the ${actor}` : actor;

/** Describes a request of a person, a key or a command in one sentence. */
export function describePersonsRequest(request: PersonsRequest, zone: Zone): string {
  const { kind, until } = request;
  const actor = nameActor(request);
  if (kind === "stopped") return `Recovery was stopped by ${actor}.`;
  if (kind === "retried") return `A retry at once was requested by ${actor}.`;
  return `Retries were postponed${until === null ? "" : ` until ${formatTime(zone, until)}`} by ${actor}.`;
}

/** Says until when and by whom retries are postponed; null: they are not. */
export function describeCurrentPostponement({ case: recoveryCase, requests, now }: ExplainedCase, zone: Zone) {
  if (recoveryCase?.arm !== "dunlin" || recoveryCase.endedAt !== null) return null;
  const until = recoveryCase.postponedUntil;
  if (until === null || until <= now) return null;
  const request = requests.findLast((each) => each.until?.getTime() === until.getTime());
  return `Retries are postponed until ${formatTime(zone, until)}${request ? ` by ${nameActor(request)}` : ""}.`;
}

/** Returns the actor that stopped the case; undefined: it was not stopped, or the entry in the audit log is gone. */
export function findStopper({ case: recoveryCase, requests }: Pick<ExplainedCase, "case" | "requests">) {
  if (recoveryCase?.endReason !== "stopped_by_hand") return undefined;
  const request = requests.findLast(({ kind, at }) => kind === "stopped" && at >= recoveryCase.openedAt);
  return request && nameActor(request);
}

/** Whether a person, a key or a command requested the retry. */
export const isRequestedByHand = ({ type, reasons }: Pick<RecoveryAction, "type" | "reasons">) =>
  type === "RETRY" && reasons.includes(RETRY_AT_ONCE_REASON);

/** Completes "requested": by a person, a key or a command, or by Dunlin. */
export function describeRequester(
  action: Pick<RecoveryAction, "type" | "reasons" | "decidedAt">,
  requests: ExplainedCase["requests"],
): string {
  if (!isRequestedByHand(action)) return "by Dunlin";
  // The audit log is written just after the request.
  const by = requests.find(({ kind, at }) => kind === "retried" && action.decidedAt !== null && at >= action.decidedAt);
  return by ? `by hand, by ${nameActor(by)}` : "by hand";
}
