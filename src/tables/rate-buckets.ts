import { type Column, columnValues } from "../postgres/batch-sql.ts";
import { type Database, prepared } from "../postgres/database.ts";

/** Negative amounts are returned to the bucket. */
export interface TokenRequest {
  merchantId: string;
  keyId: string;
  perSecond: number;
  burst: number;
  requested: number;
}

export interface TokenGrant {
  keyId: string;
  granted: number;
  /** Tokens left for all processes. */
  remaining: number;
}

const COLUMNS: readonly Column<TokenRequest>[] = [
  ["merchant_id", "uuid", "merchantId"],
  ["key_id", "uuid", "keyId"],
  ["per_second", "int8", "perSecond"],
  ["burst", "int8", "burst"],
  ["asked", "int8", "requested"],
];

// A clock slightly behind refills nothing; one set back by more starts over.
const REFILLED = `least(excluded.burst, b.left_over
       + greatest(0, extract(epoch from excluded.at - b.at)::float8) * excluded.per_second)`;

const TAKE_TOKENS = prepared(
  "take_from_rate_buckets",
  `insert into rate_buckets as b (merchant_id, key_id, per_second, burst, left_over, asked, granted, at)
   select merchant_id, key_id, per_second, burst, least(burst, burst - least(asked, burst)), asked, least(asked, burst), $1
   from unnest($2::uuid[], $3::uuid[], $4::int8[], $5::int8[], $6::int8[]) as a (merchant_id, key_id, per_second, burst, asked)
   on conflict (merchant_id, key_id) do update set
     per_second = excluded.per_second,
     burst = excluded.burst,
     asked = excluded.asked,
     granted = least(excluded.asked, floor(${REFILLED})::int8),
     left_over = least(excluded.burst, ${REFILLED} - least(excluded.asked, floor(${REFILLED})::int8)),
     at = case when b.at > excluded.at + interval '10 seconds' then excluded.at else greatest(b.at, excluded.at) end
   returning key_id as "keyId", granted, left_over as "remaining"`,
);

/** @param requests  sorted by merchant and key, so that processes lock in one order */
export async function takeTokens(db: Database, requests: readonly TokenRequest[], realNow: Date) {
  return (await db.run<TokenGrant>(TAKE_TOKENS, [realNow, ...columnValues(requests, COLUMNS)])).rows;
}
