import { prepared, type Tx } from "./database.ts";

const COUNT = prepared(
  "count_sign_in",
  `insert into sign_in_counts as c (subject, tries, since) values ($1, 1, $2)
   on conflict (subject) do update set
     tries = case when c.since <= $3 then 1 else c.tries + 1 end,
     since = case when c.since <= $3 then excluded.since else c.since end
   returning tries`,
);

/** Count one more try of a subject, and return how many there were since `from` at most. All moments are real time. */
export async function countSignIn(tx: Tx, subject: string, realNow: Date, from: Date) {
  return (await tx.run<{ tries: number }>(COUNT, [subject, realNow, from])).rows[0]!.tries;
}

const FORGET = prepared("forget_sign_ins", "delete from sign_in_counts where subject = $1 or since <= $2");

/** Forget the tries of a subject, and all that began before `until`. */
export async function forgetSignIns(tx: Tx, subject: string, until: Date) {
  await tx.run(FORGET, [subject, until]);
}
