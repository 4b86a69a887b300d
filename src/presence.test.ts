import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { testDatabase } from "../test/database.ts";
import { processFindings } from "./cli/process-findings.ts";
import { realPorts } from "./clock.ts";
import { createMetrics } from "./metrics.ts";
import { startPresence } from "./presence.ts";
import { beatProcess, listProcesses, type ProcessRow } from "./store/processes.ts";
import { createTroubles, troublesHook } from "./troubles.ts";

const database = await testDatabase();
after(database.drop);
const { db } = database;
const ports = realPorts({ realAt: new Date(0), serviceAt: new Date(0), rate: 1 });
const ago = (seconds: number) => new Date(ports.realNow().getTime() - seconds * 1_000);

const row = (over: Partial<ProcessRow>): ProcessRow => ({
  id: ports.newId(),
  host: "worker-1",
  pid: 17,
  version: "1.0.0",
  roles: ["decide"],
  startedAt: ago(600),
  seenAt: ago(0),
  troubles: [],
  ...over,
});

/** A process that has said of itself that it is there. */
async function begun() {
  const troubles = createTroubles(ports.realNow);
  const log = pino({ level: "warn", hooks: { logMethod: troublesHook(troubles) } }, { write() {} });
  const presence = startPresence({ db, ports, log, version: "1.0.0", roles: ["api"], troubles, pid: 99 });
  for (let looks = 0; presence.figures().processes.length === 0; looks++) {
    assert.ok(looks < 500);
    await sleep(10);
  }
  return { presence, troubles };
}

test("a process is listed while it runs, and not after it has stopped", async () => {
  const { presence } = await begun();
  const [found] = await listProcesses(db);
  assert.deepEqual([found!.pid, found!.version, found!.roles], [99, "1.0.0", ["api"]]);
  assert.equal(presence.figures().isDatabaseUp, true);
  await presence.stop();
  assert.deepEqual(await listProcesses(db), []);
});

test("the log, the metrics and the doctor warn of a process that is silent for 20 seconds, for an hour", async (t) => {
  const others = [row({ seenAt: ago(19) }), row({ pid: 18, seenAt: ago(21) }), row({ pid: 19, seenAt: ago(3_700) })];
  for (const other of others) await beatProcess(db, other);
  const { presence, troubles } = await begun();
  t.after(presence.stop);
  const warned = troubles.all().map(({ name, count, why }) => [name, count, why]);
  assert.deepEqual(warned, [["process.silent", 1, "worker-1/18"]]);
  const metrics = createMetrics(db, ports);
  metrics.watchPresence(presence.figures, troubles);
  const text = await metrics.registry.metrics();
  assert.match(text, /^dunlin_processes\{state="silent",version="1\.0\.0"\} 1$/m);
  assert.match(text, /^dunlin_warnings_total\{name="process\.silent"\} 1$/m);
  for (let looks = 0; (await listProcesses(db)).length > 3; looks++) {
    assert.ok(looks < 500);
    await sleep(10);
  }
  const says = (await processFindings(db, ports.realNow())).map((finding) => `${finding.verdict} ${finding.says}`);
  assert.equal(says.length, 3);
  assert.match(says[0]!, /^ok worker-1\/17 \(version 1\.0\.0: decide\) started 10 min ago$/);
  assert.match(says[1]!, /^warn worker-1\/18 \(version 1\.0\.0: decide\) was last seen 2\d s ago: it was killed/);
});

test("the doctor names the latest troubles of each process, and versions that run at once", async () => {
  const troubles = ["a", "b", "c", "d"].map((name) => ({
    name: `${name}.failed`,
    count: 2,
    last: ago(90).toISOString(),
    why: "no space",
  }));
  await beatProcess(db, row({ pid: 21, version: "1.1.0", troubles }));
  const found = await processFindings(db, ports.realNow());
  const says = found.map(({ says }) => says).join("\n");
  assert.match(says, /worker-1\/21 .*: a\.failed \(2 times, last 9\d s ago\): no space; b\.failed .*; 1 more/);
  assert.match(says, /^1\.0\.0 and 1\.1\.0 run at once\./m);
});

test("the metrics of the process are shown while the database does not answer", async () => {
  const none = () => Promise.reject(new Error("away"));
  const away = createMetrics({ ...db, run: none, transaction: none }, ports);
  const figures = { isDatabaseUp: false, answerMs: 0, processes: [] };
  away.watchPresence(() => figures, createTroubles(ports.realNow));
  const text = await away.registry.metrics();
  assert.match(text, /^dunlin_database_up 0$/m);
  assert.match(text, /^process_open_fds \d+$/m);
  assert.doesNotMatch(text, /^dunlin_deliveries_waiting /m);
});
