import { createHash } from "node:crypto";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** Request line and headers, for people. */
export interface RequestHead {
  merchantId: string;
  id: number;
  head: string;
}

/** Equal heads need no lookup: 48 bits of the text's hash. */
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

export async function insertRequestHeads(tx: Tx, heads: readonly RequestHead[]) {
  await tx.run(INSERT, columnValues(heads, COLUMNS));
}
