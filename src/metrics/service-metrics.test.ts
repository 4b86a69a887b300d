import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { findFreePort } from "../../test/free-port.ts";
import { createSelfSignedCertificate } from "../../test/self-signed-certificate.ts";
import { prepared } from "../postgres/database.ts";
import { DAY, HOUR, MINUTE, openStage } from "../recovery/stage.fixture.ts";
import { postponeFailedCase } from "../tables/due-cases.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import { createMetrics, startMetricsServer } from "./metrics.ts";
import { createServiceFigures, readFreeBytes } from "./service-figures.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});
const { db, ports } = stage;

const createTestFigures = (certificates: Record<string, string> = {}) =>
  createServiceFigures({
    db,
    owner: db,
    ports,
    pools: { worker: () => db.figures!() },
    certificates,
    freeBytes: () => readFreeBytes(import.meta.dirname),
    clock: () => ({ offsetMs: 7_000, jumps: 2 }),
  });

/** Returns the values of a metric by their labels, in a process that just started. */
async function readMetric(name: string, certificates: Record<string, string> = {}) {
  const metrics = createMetrics(db, ports);
  metrics.watchService(createTestFigures(certificates));
  const text = await metrics.registry.metrics();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => [
      [...line.matchAll(/"([^"]*)"/g)].map(([, value]) => value).join(" "),
      Number(line.split(" ").at(-1)),
    ]),
  );
}
const readSingleValue = async (name: string) => (await readMetric(name))[""]!;

test("the oldest due case is shown by its age, and as 0 when none is due", async () => {
  assert.equal(await readSingleValue("dunlin_oldest_due_case_seconds"), 0);
  await stage.invoice();
  stage.wait(10 * MINUTE);
  assert.equal(await readSingleValue("dunlin_oldest_due_case_seconds"), 600);
  await stage.decide();
  assert.ok((await readSingleValue("dunlin_oldest_due_case_seconds")) < 1);
});

test("postponed cases are counted", async () => {
  const before = await readSingleValue("dunlin_cases_set_aside");
  await stage.invoice();
  await postponeFailedCase(db, merchantId, (await stage.caseIds())[0]!, stage.now());
  assert.equal((await readSingleValue("dunlin_cases_set_aside")) - before, 1);
});

test("outcomes that await training are shown by their age", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { id } = await stage.untilSent();
  stage.wait(HOUR);
  await stage.transaction({ state: "PAID", recoveryActionId: id });
  await stage.decide();
  stage.wait(2 * DAY);
  const lag = await readSingleValue("dunlin_learner_lag_seconds");
  assert.ok(lag >= 172_800 && lag < 180_000, `${lag}`);
  const actions = await readMetric("dunlin_actions");
  assert.equal(actions.succeeded, 1);
  const money = await readMetric("dunlin_money_minor_units");
  assert.ok(money["recovered EUR"]! >= 4_900, JSON.stringify(money));
});

test("lock waits and the longest open transaction are shown", async () => {
  assert.equal(await readSingleValue("dunlin_database_lock_waits"), 0);
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = db.transaction(async (tx) => {
    await advanceMerchantClock(tx, merchantId, stage.now());
    begun.resolve();
    await over.promise;
  });
  await begun.promise;
  const waiting = db.transaction((tx) => advanceMerchantClock(tx, merchantId, stage.now()));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await readSingleValue("dunlin_database_lock_waits"), 1);
  assert.ok((await readSingleValue("dunlin_database_longest_transaction_seconds")) > 0.2);
  const pool = await readMetric("dunlin_database_connections");
  assert.ok(pool["worker busy"]! >= 2, JSON.stringify(pool));
  over.resolve();
  await Promise.all([holding, waiting]);
});

test("`/readyz` shows the numbers of the metrics and the status of the API", async (t) => {
  const figures = createTestFigures({
    api: (await createSelfSignedCertificate(undefined, new Date(stage.now().getTime() + 20 * DAY))).cert,
  });
  const metrics = createMetrics(db, ports);
  metrics.watchService(figures);
  let isThere = true;
  const ready = async () => ({ ok: isThere, problems: isThere ? [] : ["the database does not answer"] });
  const port = await findFreePort();
  t.after(await startMetricsServer(metrics, figures, ready, "127.0.0.1", port));
  const ask = async (path: string) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: reply.status, text: await reply.text() };
  };
  const { status, text } = await ask("/readyz");
  const details = JSON.parse(text);
  assert.deepEqual([status, details.status, details.problems], [200, "ready", []]);
  const { text: scraped } = await ask("/metrics");
  const inMetrics = (series: string) =>
    Number(
      scraped
        .split("\n")
        .find((line) => line.startsWith(`${series} `))!
        .split(" ")[1],
    );
  assert.equal(details.deciding.oldestDueSeconds, inMetrics("dunlin_oldest_due_case_seconds"));
  assert.equal(details.deciding.setAside, inMetrics("dunlin_cases_set_aside"));
  assert.equal(details.learning.lagSeconds, inMetrics("dunlin_learner_lag_seconds"));
  assert.equal(details.database.lockWaits, inMetrics("dunlin_database_lock_waits"));
  assert.equal(details.certificates[0].days, inMetrics('dunlin_certificate_days{use="api"}'));
  assert.deepEqual(details.clock, { offsetSeconds: 7, jumps: 2 });
  assert.ok(details.disk.freeBytes > 0 && details.database.pools[0].pool === "worker");
  const sent = (details.actions as { status: string; actions: number }[]).find(({ status }) => status === "succeeded")!;
  assert.equal(sent.actions, inMetrics('dunlin_actions{status="succeeded"}'));
  isThere = false;
  const away = await ask("/readyz");
  assert.deepEqual([away.status, JSON.parse(away.text).status], [503, "not ready"]);
});

test("requests that wait for a connection are shown", async () => {
  const sleep = prepared("test_sleep", "select pg_sleep(0.5)");
  const all = Array.from({ length: 9 }, () => db.run(sleep));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const metrics = createMetrics(db, ports);
  metrics.watchService(createTestFigures());
  const gauge = metrics.registry.getSingleMetric("dunlin_database_connections")!;
  const { values } = await (
    gauge as unknown as { get(): Promise<{ values: { labels: { state: string }; value: number }[] }> }
  ).get();
  assert.equal(values.find(({ labels }) => labels.state === "waited_for")!.value, 4);
  await Promise.all(all);
});

test("the days left of a certificate and the free disk space are shown", async () => {
  const { cert } = await createSelfSignedCertificate(undefined, new Date(stage.now().getTime() + 20 * DAY));
  assert.ok(Math.abs((await readMetric("dunlin_certificate_days", { api: cert })).api! - 20) < 0.01);
  assert.ok((await readSingleValue("dunlin_disk_free_bytes")) > 1e6);
});
