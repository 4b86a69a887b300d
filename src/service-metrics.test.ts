import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { selfSigned } from "../test/certificate.ts";
import { createMetrics } from "./metrics.ts";
import { DAY, HOUR, MINUTE, openStage } from "./recovery/stage.fixture.ts";
import { prepared } from "./store/database.ts";
import { setCaseAside } from "./store/due-cases.ts";
import { advanceMerchantClock } from "./store/merchant-clocks.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});
const { db, ports } = stage;

/** A metric of a process that has just started: its values by their labels. */
async function shown(name: string, certificates: Record<string, string> = {}) {
  const metrics = createMetrics(db, ports);
  const pools = { worker: () => db.figures!() };
  metrics.watchService({ db, owner: db, ports, pools, certificates, dataDir: import.meta.dirname });
  const text = await metrics.registry.metrics();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => [
      [...line.matchAll(/"([^"]*)"/g)].map(([, value]) => value).join(" "),
      Number(line.split(" ").at(-1)),
    ]),
  );
}
const value = async (name: string) => (await shown(name))[""]!;

test("the case that waits longest is shown, and none when none waits", async () => {
  assert.equal(await value("dunlin_oldest_due_case_seconds"), 0);
  await stage.invoice();
  stage.wait(10 * MINUTE);
  assert.equal(await value("dunlin_oldest_due_case_seconds"), 600);
  await stage.decide();
  assert.ok((await value("dunlin_oldest_due_case_seconds")) < 1);
});

test("cases whose step failed are counted", async () => {
  const before = await value("dunlin_cases_set_aside");
  await stage.invoice();
  await setCaseAside(db, merchantId, (await stage.caseIds())[0]!, stage.now());
  assert.equal((await value("dunlin_cases_set_aside")) - before, 1);
});

test("outcomes that nobody learned are shown by their age", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { id } = await stage.untilSent();
  stage.wait(HOUR);
  await stage.transaction({ state: "PAID", recoveryActionId: id });
  await stage.decide();
  stage.wait(2 * DAY);
  const lag = await value("dunlin_learner_lag_seconds");
  assert.ok(lag >= 172_800 && lag < 180_000, `${lag}`);
  const actions = await shown("dunlin_actions");
  assert.equal(actions.succeeded, 1);
  const money = await shown("dunlin_money_minor_units");
  assert.ok(money["recovered EUR"]! >= 4_900, JSON.stringify(money));
});

test("a session that waits for a lock, and for how long a transaction has been open, are shown", async () => {
  assert.equal(await value("dunlin_database_lock_waits"), 0);
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = db.transaction(async (tx) => {
    await advanceMerchantClock(tx, merchantId, stage.now());
    begun.resolve();
    await over.promise;
  });
  await begun.promise;
  const waiting = db.transaction((tx) => advanceMerchantClock(tx, merchantId, stage.now()));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await value("dunlin_database_lock_waits"), 1);
  assert.ok((await value("dunlin_database_longest_transaction_seconds")) > 0.2);
  const pool = await shown("dunlin_database_connections");
  assert.ok(pool["worker busy"]! >= 2, JSON.stringify(pool));
  over.resolve();
  await Promise.all([holding, waiting]);
});

test("connections that are waited for are shown", async () => {
  const sleep = prepared("test_sleep", "select pg_sleep(0.5)");
  const all = Array.from({ length: 9 }, () => db.run(sleep));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const metrics = createMetrics(db, ports);
  metrics.watchService({
    db,
    owner: db,
    ports,
    pools: { worker: () => db.figures!() },
    certificates: {},
    dataDir: ".",
  });
  const gauge = metrics.registry.getSingleMetric("dunlin_database_connections")!;
  const { values } = await (
    gauge as unknown as { get(): Promise<{ values: { labels: { state: string }; value: number }[] }> }
  ).get();
  assert.equal(values.find(({ labels }) => labels.state === "waited_for")!.value, 4);
  await Promise.all(all);
});

test("days of a certificate, and what is free on the disk, are shown", async () => {
  const { cert } = await selfSigned(undefined, new Date(stage.now().getTime() + 20 * DAY));
  assert.ok(Math.abs((await shown("dunlin_certificate_days", { api: cert })).api! - 20) < 0.01);
  assert.ok((await value("dunlin_disk_free_bytes")) > 1e6);
});
