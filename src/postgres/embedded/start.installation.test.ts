import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { exitWhenInterrupted, removeAtExit } from "../../../test/test-server.ts";
import { type Address, openDatabase, prepared } from "../database.ts";
import { killOrphanedBackends } from "./pid-file.ts";
import { type EmbeddedOptions, startEmbedded } from "./start.ts";

// If root runs the tests, the folder belongs to root with mode 0700, which is the harder case.
const folder = await mkdtemp(join(tmpdir(), "dunlin-embedded-"));
const dataDir = join(folder, "data");
removeAtExit(folder);
exitWhenInterrupted();

let messages: string[] = [];
const log = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) });
const start = (options: Partial<EmbeddedOptions> = {}) => {
  messages = [];
  return startEmbedded({ dataDir, log, ...options });
};

async function query(address: Address, sql: string): Promise<Record<string, unknown>[]> {
  const connection = await openDatabase(address, 1, () => {}).connect();
  return (await connection.run(prepared("", sql)).finally(() => connection.close())).rows;
}

const pidFile = join(dataDir, "cluster/postmaster.pid");
const serverPid = async () => Number((await readFile(pidFile, "utf8")).split("\n")[0]);
const isRunning = () =>
  stat(pidFile).then(
    () => true,
    () => false,
  );

/** A separate process that starts the server, reports it, and waits to be killed. */
async function startParentProcess(through: string[] = []): Promise<ChildProcess> {
  const code = `
    import { startEmbedded } from ${JSON.stringify(join(import.meta.dirname, "start.ts"))};
    import pino from "pino";
    await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log: pino({ level: "silent" }) });
    process.stdout.write("started");`;
  const [command, ...words] = [...through, process.execPath, "--input-type=module", "-e", code];
  const child = spawn(command!, words, {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout!, "data");
  return child;
}

test("an empty folder becomes a durable server with a socket that only its user can access", async () => {
  await mkdir(dataDir);
  // Left behind by a start that was killed.
  await mkdir(join(dataDir, "cluster.new-4194305-abc/base"), { recursive: true });
  const { address, adopted, stop } = await start();
  assert.equal(adopted, false);
  assert.deepEqual(messages, ["database.initialized", "database.started"]);
  assert.ok("socketDir" in address);
  assert.equal((await stat(address.socketDir)).mode & 0o777, 0o700);
  const settings = await query(
    address,
    `select current_setting('listen_addresses') as listen, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit, current_setting('server_encoding') as encoding,
       datlocprovider as provider, datlocale as locale from pg_database where datname = current_database()`,
  );
  const durable = { listen: "", fsync: "on", commit: "on", encoding: "UTF8", provider: "b", locale: "C.UTF-8" };
  assert.deepEqual(settings, [durable]);
  await query(address, "create table kept (n int4); insert into kept values (1)");
  await stop();
  assert.equal(await isRunning(), false);
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.includes(".new-")),
    [],
  );
});

test("a stopped server restarts in less than a second with its data", async () => {
  const startedAt = performance.now();
  const { address, stop } = await start();
  assert.deepEqual(await query(address, "select n from kept"), [{ n: 1 }]);
  assert.ok(performance.now() - startedAt < 1_000);
  await stop();
});

test("a server whose starter was killed is adopted with every commit, and is restarted when it is killed too", async () => {
  const child = await startParentProcess();
  child.kill("SIGKILL");
  await once(child, "exit");
  const pid = await serverPid();
  const { address, adopted, stop } = await start();
  assert.equal(adopted, true);
  assert.deepEqual(messages, ["database.adopted"]);
  await query(address, "insert into kept values (2)");

  process.kill(pid, "SIGKILL");
  while (!messages.includes("database.restarted")) await sleep(20);
  assert.notEqual(await serverPid(), pid);
  assert.deepEqual(await query(address, "select n from kept order by n"), [{ n: 1 }, { n: 2 }]);

  // Once more, now that the server is our child process.
  const second = await serverPid();
  messages = [];
  process.kill(second, "SIGKILL");
  while (!messages.includes("database.restarted")) await sleep(20);
  assert.deepEqual(await query(address, "select count(*)::int4 as n from kept"), [{ n: 2 }]);
  await stop();
  assert.equal(await isRunning(), false);
});

// As in Docker, where root may not inspect processes of other users.
const canInspectOtherUsers = process.platform !== "linux" || process.getuid?.() !== 0;
test("root finds its server when it may not inspect processes of other users", {
  skip: canInspectOtherUsers,
}, async () => {
  for (let n = 0; n < 2; n++) {
    const child = await startParentProcess(["setpriv", "--bounding-set", "-sys_ptrace"]);
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const { adopted, stop } = await start();
  assert.equal(adopted, true);
  await stop();
});

test("a server starts when a backend of its killed predecessor is still running", async () => {
  const { address, stop } = await start();
  const connection = await openDatabase(address, 1, () => {}).connect();
  const backend = (await connection.run<{ pid: number }>(prepared("", "select pg_backend_pid() as pid"))).rows[0]!.pid;
  // Like a backend that waits for a lock of a killed backend.
  const aMinute =
    "do $$ declare at timestamptz := clock_timestamp(); begin while clock_timestamp() < at + '1 minute' loop end loop; end $$";
  connection.run(prepared("", aMinute)).catch(() => {});
  await sleep(50);
  process.kill(await serverPid(), "SIGKILL");
  while (!messages.includes("database.restarted")) await sleep(20);
  assert.throws(() => process.kill(backend, 0), /ESRCH/);
  assert.equal((await query(address, "select n from kept")).length, 2);
  await stop();
});

test("a running server is not mistaken for remains of a killed one", async () => {
  const { stop } = await start();
  const pid = await serverPid();
  await killOrphanedBackends(join(dataDir, "cluster"));
  await sleep(100);
  const lives = messages.includes("database.lost") ? null : await serverPid();
  await stop();
  assert.equal(lives, pid);
});

test("the server survives a crash of a backend, which closes its connections", async () => {
  const { address, stop } = await start();
  const pid = await serverPid();
  const connection = await openDatabase(address, 1, () => {}).connect();
  const backend = (await connection.run<{ pid: number }>(prepared("", "select pg_backend_pid() as pid"))).rows[0]!.pid;
  process.kill(backend, "SIGKILL");
  while (!messages.includes("database.reconnected")) await sleep(20);
  assert.equal(await serverPid(), pid);
  assert.equal((await query(address, "select n from kept")).length, 2);
  await stop();
});

test("a second service on the same folder is refused, but a command is not", async () => {
  const child = await startParentProcess();
  await assert.rejects(start(), /another service runs on .*data folder of its own/);
  const command = await start({ mode: "borrow" });
  assert.equal(command.adopted, true);
  await command.stop();
  assert.deepEqual(messages, ["database.adopted", "database.left"]);
  assert.equal(await isRunning(), true);
  child.kill("SIGKILL");
  await once(child, "exit");
});

test("the server stops with its last user, whoever started it", async () => {
  const service = await start();
  const command = await start({ mode: "borrow" });
  await service.stop();
  assert.equal((await query(command.address, "select n from kept")).length, 2);
  await command.stop();
  assert.equal(await isRunning(), false);

  const alone = await start({ mode: "borrow" });
  assert.equal(alone.adopted, false);
  await alone.stop();
  assert.equal(await isRunning(), false);
});

test("the server starts despite leftover locks with the pid of another running process", async () => {
  const socketDir = join(dataDir, "socket");
  const lines = [process.ppid, join(dataDir, "cluster"), 1, 5432, socketDir, "", "", "ready   "].join("\n");
  await writeFile(pidFile, lines);
  await writeFile(join(socketDir, ".s.PGSQL.5432.lock"), lines);
  const { adopted, stop } = await start();
  assert.equal(adopted, false);
  await stop();
});

test("a server that cannot start is reported at once with PostgreSQL's reason", async () => {
  await assert.rejects(start({ settings: { max_connections: "0" } }), /does not start: FATAL: .*max_connections/);
});

test("two processes that start at once in an empty folder with a very long path share one server", async () => {
  const deep = join(folder, ...Array.from({ length: 8 }, () => "a-folder-with-a-long-name"));
  const both = await Promise.all([start({ dataDir: deep }), start({ dataDir: deep, mode: "borrow" })]);
  const address = both[0].address;
  assert.ok("socketDir" in address && address.socketDir.length < 90);
  assert.deepEqual(both[1].address, address);
  for (const { stop } of both) await stop();
  await rm(address.socketDir, { recursive: true });
});
