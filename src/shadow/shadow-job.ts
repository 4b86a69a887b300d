import type { Job } from "../domain/job.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Database } from "../postgres/database.ts";
import { insertJob } from "../tables/job-queue.ts";
import { computeShadowFigures, type ShadowFigures } from "./shadow-figures.ts";

/** `cases`: compared so far. */
export type ShadowJob = Job<unknown, { cases?: number }, object>;

/** Unless one is running. */
export async function requestShadowReport(db: Database, merchantId: string, actor: Actor, ports: Ports) {
  const job = { merchantId, id: ports.newId(), kind: "shadow", askedAt: ports.now(), actor } as const;
  await insertJob(db, { ...job, input: {}, progress: {} }, ports.realNow());
}

export const createShadowHandler =
  (ports: Ports): JobHandler =>
  async ({ job, db, extendLease, signal }) => {
    const leaseLost = new Error("another process has it by now");
    try {
      const figures = await computeShadowFigures(db, job.merchantId, new Date(0), ports.now(), async (cases) => {
        if (signal.aborted || !(await extendLease({ cases }))) throw leaseLost;
      });
      return { result: { ...figures, money: [...figures.money] } };
    } catch (error) {
      if (error === leaseLost) return null;
      throw error;
    }
  };

/** With dates and maps; null while the job runs. */
export function parseShadowResult({ result }: ShadowJob): ShadowFigures | null {
  if (result === null) return null;
  const figures = result as Omit<ShadowFigures, "money"> & {
    money: [string, { cases: number; due: number; paid: number }][];
  };
  const date = (at: Date | null) => at && new Date(at);
  const { since, young, money, planned } = figures;
  return {
    ...figures,
    // Results before 0.2.0 lack this count.
    planned: { ...planned, others: planned.others ?? 0 },
    since: date(since),
    young: { ...young, firstAt: date(young.firstAt), lastAt: date(young.lastAt) },
    money: new Map(money),
  };
}
