import { createHash } from "node:crypto";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** What the attempts of a merchant send beside the body, in words for people. */
export interface RequestHead {
  merchantId: string;
  id: number;
  head: string;
}

/** The id of a head is its text's: who sends the same gives it the same id, and nobody needs to ask. 48 bits. */
export const createRequestHead = (merchantId: string, head: string): RequestHead => ({
  merchantId,
  id: createHash("sha256").update(head).digest().readUIntBE(0, 6),
  head,
});

const COLUMNS: readonly Column<RequestHead>[] = [
  ["merchant_id", "uuid", "merchantId"],
  ["id", "int8", "id"],
  ["head", "text", "head"],
];

const INSERT = prepared(
  "insert_request_heads",
  `insert into request_heads (merchant_id, id, head) select * from unnest(${arrayParameters(COLUMNS, 1)}) on conflict do nothing`,
);

/** Keep these, as far as they are not kept already. */
export async function insertRequestHeads(tx: Tx, heads: readonly RequestHead[]) {
  await tx.run(INSERT, columnValues(heads, COLUMNS));
}
