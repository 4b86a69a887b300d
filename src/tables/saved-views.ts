import { prepared, type Tx } from "../postgres/database.ts";

/** A list's filters and order under a name. */
export interface SavedView {
  name: string;
  /** Without a question mark. */
  query: string;
}

const LIST = prepared(
  "saved_views",
  "select name, query from saved_views where merchant_id = $1 and person_id = $2 and path = $3 order by lower(name), name",
);

/** By name. */
export async function listSavedViews(tx: Tx, merchantId: string, personId: string, path: string) {
  return (await tx.run<SavedView>(LIST, [merchantId, personId, path])).rows;
}

const SAVE = prepared(
  "save_view",
  `insert into saved_views (merchant_id, person_id, path, name, query, created_at)
   select $1::uuid, $2::uuid, $3, $4, $5, $6::timestamptz
   where (select count(*) from saved_views where merchant_id = $1 and person_id = $2 and path = $3 and name <> $4) < $7
   on conflict (merchant_id, person_id, path, name) do update set query = excluded.query`,
);

/**
 * Replaces the view with the same name. False if the person has `max` other views of this list.
 *
 * @param path  of the list's page
 */
export async function saveView(
  tx: Tx,
  merchantId: string,
  personId: string,
  path: string,
  { name, query }: SavedView,
  now: Date,
  max: number,
) {
  return (await tx.run(SAVE, [merchantId, personId, path, name, query, now, max])).rowCount === 1;
}

const DELETE = prepared(
  "delete_view",
  "delete from saved_views where merchant_id = $1 and person_id = $2 and path = $3 and name = $4",
);

export async function deleteView(tx: Tx, merchantId: string, personId: string, path: string, name: string) {
  await tx.run(DELETE, [merchantId, personId, path, name]);
}
