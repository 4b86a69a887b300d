import { prepared, type Tx } from "./database.ts";

/** About as many cases as a step takes: what is left of a row after a step is written anew. */
const ROW_SIZE = 100;

/**
 * Statement text that makes the deciding loop look at the cases that `ids` selects (one column, no id twice), and returns how many
 * there are in each row. They are looked at oldest first, whatever way PostgreSQL finds them. `$1` is the merchant; `pokeId` a parameter
 * with an id that is new for this statement, in the order of time.
 */
export const poke = (ids: string, pokeId: string) =>
  `insert into case_pokes (merchant_id, id, part, case_ids)
   select $1::uuid, ${pokeId}::uuid, k.part, array_agg(k.id order by k.id)
   from (select k.id, (row_number() over (order by k.id) - 1) / ${ROW_SIZE} as part from (${ids}) k (id)) k group by k.part
   returning cardinality(case_ids) as cases`;

/** A row of `case_pokes`. */
export interface Poke {
  id: string;
  part: number;
  caseIds: string[];
}

// As one text: the driver reads an array letter by letter, and a thousand ids are looked at for a hundred steps.
const FIRST = prepared(
  "first_pokes",
  `select id, part, array_to_string(case_ids, ' ') as "caseIds"
   from (
     select *, sum(cardinality(case_ids)) over (order by id, part rows unbounded preceding) - cardinality(case_ids) as before
     from (select id, part, case_ids from case_pokes where merchant_id = $1 order by id, part limit $2) p
   ) p
   where before < $3 order by id, part`,
);

/** The first pokes of a merchant, oldest first: at most `pokes`, and no more than it takes to hold `cases`. */
export async function firstPokes(tx: Tx, merchantId: string, pokes: number, cases: number) {
  const { rows } = await tx.run<Omit<Poke, "caseIds"> & { caseIds: string }>(FIRST, [merchantId, pokes, cases]);
  return rows.map((poke) => ({ ...poke, caseIds: poke.caseIds === "" ? [] : poke.caseIds.split(" ") }));
}

const TAKE = prepared(
  "take_pokes",
  `delete from case_pokes p using unnest($2::uuid[], $3::int4[]) as t (id, part)
   where p.merchant_id = $1 and p.id = t.id and p.part = t.part`,
);
const LEAVE = prepared(
  "leave_pokes",
  "update case_pokes set case_ids = $4 where merchant_id = $1 and id = $2 and part = $3",
);

/**
 * The pokes of these cases are heeded: facts that were written with them are visible to every later statement.
 *
 * @param pokes  as they were read; the merchant's clock is locked, so they are still the same
 */
export async function takePokes(tx: Tx, merchantId: string, pokes: readonly Poke[], isHeeded: (id: string) => boolean) {
  const left = pokes.map((poke) => ({ ...poke, caseIds: poke.caseIds.filter((id) => !isHeeded(id)) }));
  const done = left.filter(({ caseIds }) => caseIds.length === 0);
  if (done.length > 0) await tx.run(TAKE, [merchantId, done.map(({ id }) => id), done.map(({ part }) => part)]);
  for (const [index, { id, part, caseIds }] of left.entries())
    if (caseIds.length > 0 && caseIds.length < pokes[index]!.caseIds.length)
      await tx.run(LEAVE, [merchantId, id, part, caseIds]);
}
