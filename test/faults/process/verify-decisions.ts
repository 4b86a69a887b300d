import type { ReportProblem } from "../harness/problems.ts";
import type { StoredRows } from "../harness/stored-rows.ts";

/** Checks I3 and I7 of decisions: each has its event, and none follows the end of its case. */
export function verifyDecisions(rows: StoredRows, broken: ReportProblem) {
  const asks = new Map(rows.events.filter(({ type }) => type === "recovery_action").map((event) => [event.id, event]));
  const decided = rows.actions.filter(({ decidedAt }) => decidedAt !== null);
  for (const { id } of decided) if (!asks.delete(id)) broken("I3", `action ${id}: was decided and has no event`);
  for (const id of asks.keys()) broken("I3", `event ${id}: no decision made it`);
  for (const [caseId, own] of Map.groupBy(rows.events, (event) => event.caseId)) {
    const complete = own.find(({ type }) => type === "complete_dunning");
    const after = own.find(
      ({ type, createdAt }) => type === "recovery_action" && createdAt > (complete?.createdAt ?? Infinity),
    );
    if (after) broken("I7", `event ${after.id}: made after complete_dunning of case ${caseId}`);
  }
}
