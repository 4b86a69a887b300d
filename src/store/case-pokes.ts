import { arrays, type Column, columnValues } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

/**
 * Statement text that makes the deciding loop look at the cases that `ids` selects (one column, no id twice).
 * `$1` is the merchant; `pokeId` a parameter with an id that is new for this statement, in the order of time.
 */
export const poke = (ids: string, pokeId: string) =>
  `insert into case_pokes (merchant_id, id, case_id) select $1::uuid, ${pokeId}::uuid, k.id from (${ids}) k (id)`;

/** A row of `case_pokes`. */
export interface Poke {
  id: string;
  caseId: string;
}

const COLUMNS: readonly Column<Poke>[] = [
  ["id", "uuid", "id"],
  ["case_id", "uuid", "caseId"],
];

const FIRST = prepared(
  "first_pokes",
  `select id, case_id as "caseId" from case_pokes where merchant_id = $1 order by id, case_id limit $2`,
);

/** Up to `limit` pokes of a merchant, oldest first. */
export async function firstPokes(tx: Tx, merchantId: string, limit: number) {
  return (await tx.run<Poke>(FIRST, [merchantId, limit])).rows;
}

const TAKE = prepared(
  "take_pokes",
  `delete from case_pokes p using unnest(${arrays(COLUMNS, 2)}) as t (id, case_id)
   where p.merchant_id = $1 and p.id = t.id and p.case_id = t.case_id`,
);

/** These pokes are heeded: facts that were written with them are visible to every later statement. */
export async function takePokes(tx: Tx, merchantId: string, pokes: readonly Poke[]) {
  await tx.run(TAKE, [merchantId, ...columnValues(pokes, COLUMNS)]);
}
