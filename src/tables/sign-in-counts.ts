import { prepared, type Tx } from "../postgres/database.ts";

const COUNT = prepared(
  "count_sign_in",
  `insert into sign_in_counts as c (subject, tries, since) values ($1, 1, $2)
   on conflict (subject) do update set
     tries = case when c.since <= $3 then 1 else c.tries + 1 end,
     since = case when c.since <= $3 then excluded.since else c.since end
   returning tries`,
);

const DELETE_OLD = prepared("delete_old_sign_in_counts", "delete from sign_in_counts where since <= $1");

/** Since `from`, including this one. Times are real. A first attempt deletes all subjects' outdated counts. */
export async function countSignInAttempt(tx: Tx, subject: string, realNow: Date, from: Date) {
  const { tries } = (await tx.run<{ tries: number }>(COUNT, [subject, realNow, from])).rows[0]!;
  if (tries === 1) await tx.run(DELETE_OLD, [from]);
  return tries;
}

const FORGET = prepared("forget_sign_ins", "delete from sign_in_counts where subject = $1");

export async function resetSignInAttempts(tx: Tx, subject: string) {
  await tx.run(FORGET, [subject]);
}
