import assert from "node:assert/strict";
import { after, test } from "node:test";
import { prepared } from "../../src/postgres/database.ts";
import { eventually, runService } from "../contract/running-service.ts";
import { CITUS_SKIP } from "./citus-database.ts";

/** Real time that records are pushed before and after the move. */
const PUSH_MS = 2_000;

const PLACE = prepared(
  "test_place",
  `select s.shardid::text as shard, n.nodename as host, n.nodeport as port
   from pg_dist_placement p join pg_dist_shard s using (shardid) join pg_dist_node n using (groupid)
   where s.shardid = get_shard_id_for_distribution_column('merchants', $1::uuid)`,
);
const OTHER_SERVER = prepared(
  "test_other_server",
  "select nodename as host, nodeport as port from pg_dist_node where shouldhaveshards and nodeport <> $1 limit 1",
);
// Citus cannot move them by logical replication, because it may not write tables with row-level security. Writes wait meanwhile.
const MOVE = prepared(
  "test_move",
  "select citus_move_shard_placement($1::int8, $2, $3::int4, $4, $5::int4, shard_transfer_mode => 'block_writes')",
);
const COUNT = prepared("test_count", "select count(*)::int4 as n from invoices where merchant_id = $1");

test("a merchant moves to another server while its records come in, and no request fails", {
  skip: CITUS_SKIP,
}, async (t) => {
  const service = await runService();
  after(() => service.stop());
  const shop = await service.shop();
  // Without a limit on time, because a move takes as long as it takes.
  const owner = await service.store.owner.connect();
  t.after(() => owner.close());
  type Server = { host: string; port: number };
  const placeOf = async () => (await owner.run<Server & { shard: string }>(PLACE, [shop.id])).rows[0]!;
  let pushed = 0;
  let isPushing = true;
  const pushing = (async () => {
    while (isPushing) {
      await shop.push(
        "invoices",
        shop.invoice({ state: pushed % 20 === 0 ? "INVOICE_STATE_UNPAID" : "INVOICE_STATE_PAID" }),
      );
      pushed++;
    }
  })();
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await wait(PUSH_MS);
  const before = await placeOf();
  const target = (await owner.run<Server>(OTHER_SERVER, [before.port])).rows[0]!;
  const pushedBefore = pushed;
  const startedMs = performance.now();
  await owner.run(MOVE, [before.shard, before.host, before.port, target.host, target.port]);
  const movedMs = performance.now() - startedMs;
  const pushedMeanwhile = pushed - pushedBefore;
  await wait(PUSH_MS);
  isPushing = false;
  await pushing;
  const place = await placeOf();
  assert.equal(place.port, target.port);
  assert.ok(pushedMeanwhile > 0, "records were stored during the move");
  assert.equal((await service.store.db.run<{ n: number }>(COUNT, [shop.id])).rows[0]!.n, pushed);
  await eventually(
    async () => (await shop.actions()).length >= Math.min(100, Math.floor(pushed / 20)),
    "an action for each unpaid invoice",
  );
  t.diagnostic(`moved in ${Math.round(movedMs)} ms; ${pushed} records, ${pushedMeanwhile} of them during the move`);
});
