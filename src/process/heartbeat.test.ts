import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { createTestDatabase } from "../../test/database.ts";
import { checkProcesses } from "../cli/doctor-processes.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { listProcesses, type ProcessRow, writeHeartbeat } from "../tables/processes.ts";
import { createRealPorts } from "./clock.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { createLoggedProblems, loggedProblemsHook } from "./logged-problems.ts";
import { createSilenceDetector } from "./silent-processes.ts";

const database = await createTestDatabase();
after(database.drop);
const { db } = database;
const ports = createRealPorts({ realAt: new Date(0), serviceAt: new Date(0), rate: 1 });
const ago = (seconds: number) => new Date(ports.realNow().getTime() - seconds * 1_000);

const processRow = (over: Partial<ProcessRow>): ProcessRow => ({
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

/** Starts a heartbeat, and waits for the first beat. */
async function startTestHeartbeat(tryFile = () => {}) {
  const loggedProblems = createLoggedProblems(ports.realNow);
  const log = pino({ level: "warn", hooks: { logMethod: loggedProblemsHook(loggedProblems) } }, { write() {} });
  const presence = startHeartbeat({
    db,
    ports,
    log,
    version: "1.0.0",
    roles: ["api"],
    loggedProblems,
    pid: 99,
    tryFile,
  });
  for (let looks = 0; presence.figures().processes.length === 0; looks++) {
    assert.ok(looks < 500);
    await sleep(10);
  }
  return { presence, loggedProblems };
}

test("a process is listed while it runs, and removed when it stops", async () => {
  const { presence } = await startTestHeartbeat();
  const [found] = await listProcesses(db);
  assert.deepEqual([found!.pid, found!.version, found!.roles], [99, "1.0.0", ["api"]]);
  assert.equal(presence.figures().isDatabaseUp, true);
  await presence.stop();
  assert.deepEqual(await listProcesses(db), []);
});

test("a process without file descriptors logs a warning", async () => {
  const { presence, loggedProblems } = await startTestHeartbeat(() => {
    throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
  });
  await presence.stop();
  assert.deepEqual(
    loggedProblems.all().map(({ name, why }) => [name, why]),
    [["process.exhausted", "EMFILE"]],
  );
});

test("the log, the metrics and `doctor` report a process that is silent for 20 seconds, for an hour", async (t) => {
  const others = [
    processRow({ seenAt: ago(19) }),
    processRow({ pid: 18, seenAt: ago(21) }),
    processRow({ pid: 19, seenAt: ago(3_700) }),
  ];
  for (const other of others) await writeHeartbeat(db, other);
  const { presence, loggedProblems } = await startTestHeartbeat();
  t.after(presence.stop);
  const warned = loggedProblems.all().map(({ name, count, why }) => [name, count, why]);
  assert.deepEqual(warned, [["process.silent", 1, "worker-1/18"]]);
  const metrics = createMetrics(db, ports);
  metrics.watchPresence(presence.figures, loggedProblems);
  const text = await metrics.registry.metrics();
  assert.match(text, /^dunlin_processes\{state="silent",version="1\.0\.0"\} 1$/m);
  assert.match(text, /^dunlin_warnings_total\{name="process\.silent"\} 1$/m);
  for (let looks = 0; (await listProcesses(db)).length > 3; looks++) {
    assert.ok(looks < 500);
    await sleep(10);
  }
  const says = (await checkProcesses(db, ports.realNow())).map((finding) => `${finding.verdict} ${finding.says}`);
  assert.equal(says.length, 3);
  assert.match(says[0]!, /^ok worker-1\/17 \(version 1\.0\.0: decide\) started 10 min ago$/);
  assert.match(says[1]!, /^warn worker-1\/18 \(version 1\.0\.0: decide\) was last seen 2\d s ago: it was killed/);
});

test("`doctor` lists the latest problems of each process, and different running versions", async () => {
  const loggedProblems = ["a", "b", "c", "d"].map((name) => ({
    name: `${name}.failed`,
    count: 2,
    last: ago(90).toISOString(),
    why: "no space",
  }));
  await writeHeartbeat(db, processRow({ pid: 21, version: "1.1.0", troubles: loggedProblems }));
  const found = await checkProcesses(db, ports.realNow());
  const says = found.map(({ says }) => says).join("\n");
  assert.match(says, /worker-1\/21 .*: a\.failed \(2 times, last 9\d s ago\): no space; b\.failed .*; 1 more/);
  assert.match(says, /^versions 1\.0\.0 and 1\.1\.0 are running at the same time\./m);
});

test("a heartbeat is written when a warning contains text that PostgreSQL refuses", async () => {
  const loggedProblems = createLoggedProblems(ports.realNow);
  loggedProblems.note("a.failed", "a zero byte: \0");
  loggedProblems.note("b.failed", `${"x".repeat(199)}😀 is cut in two`);
  const stored = loggedProblems.all().map((each) => ({ ...each, last: each.last.toISOString() }));
  await writeHeartbeat(db, processRow({ pid: 22, troubles: stored }));
  const found = (await listProcesses(db)).find(({ pid }) => pid === 22)!;
  assert.deepEqual(
    found.troubles.map(({ why }) => why.slice(0, 20)),
    ["a zero byte:  ", "x".repeat(20)],
  );
});

test("no process counts as silent right after a database outage", () => {
  let nowMs = 1_000_000;
  const silence = createSilenceDetector(() => nowMs);
  const at = (ms: number) => new Date(ms);
  const other = processRow({ seenAt: at(nowMs) });
  const look = () => silence.update([other], at(nowMs));
  assert.deepEqual(look(), { silenced: [], returned: [] });
  nowMs += 60_000; // neither of them reaches the database
  assert.equal(silence.isSilent(other), false);
  assert.deepEqual(look(), { silenced: [], returned: [] });
  for (let beats = 0; beats < 3; beats++) {
    nowMs += 5_000;
    assert.deepEqual(look(), { silenced: [], returned: [] });
  }
  nowMs += 5_000; // the other one is still silent 20 seconds later
  assert.deepEqual(look(), { silenced: [other], returned: [] });
  assert.equal(silence.isSilent(other), true);
  other.seenAt = at(nowMs);
  assert.deepEqual(look(), { silenced: [], returned: [other] });
  assert.equal(silence.isSilent(other), false);
});

test("the metrics of the process are shown while the database does not answer", async () => {
  const none = () => Promise.reject(new Error("away"));
  const away = createMetrics({ ...db, run: none, transaction: none }, ports);
  const figures = { isDatabaseUp: false, answerMs: 0, processes: [] };
  away.watchPresence(() => figures, createLoggedProblems(ports.realNow));
  const text = await away.registry.metrics();
  assert.match(text, /^dunlin_database_up 0$/m);
  assert.match(text, /^process_open_fds \d+$/m);
  assert.doesNotMatch(text, /^dunlin_deliveries_waiting /m);
});
