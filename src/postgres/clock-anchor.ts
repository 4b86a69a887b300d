import { prepared, type Tx } from "./database.ts";

/** Service time is `serviceAt + (real - realAt) * rate`. */
export interface ClockAnchor {
  realAt: Date;
  serviceAt: Date;
  rate: number;
}

const FIND = prepared(
  "find_clock_anchor",
  `select real_at as "realAt", service_at as "serviceAt", rate from clock_anchor where id = 1 for update`,
);

/** Null before the first start. Locks the anchor until the transaction ends. */
export async function findClockAnchor(tx: Tx) {
  return (await tx.run<ClockAnchor>(FIND)).rows[0] ?? null;
}

const SET = prepared(
  "set_clock_anchor",
  `insert into clock_anchor (id, real_at, service_at, rate) values (1, $1, $2, $3)
   on conflict (id) do update set real_at = excluded.real_at, service_at = excluded.service_at, rate = excluded.rate`,
);

export async function setClockAnchor(tx: Tx, anchor: ClockAnchor) {
  await tx.run(SET, [anchor.realAt, anchor.serviceAt, anchor.rate]);
}
