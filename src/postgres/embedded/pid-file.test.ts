import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { removeAtExit } from "../../../test/test-server.ts";
import { isServer, killOrphanedBackends } from "./pid-file.ts";

const folder = await realpath(await mkdtemp(join(tmpdir(), "dunlin-pid-file-")));
removeAtExit(folder);
const cluster = join(folder, "cluster");
const another = join(folder, "another");
const program = join(folder, "postgres");
await Promise.all([mkdir(cluster), mkdir(another), symlink("/bin/sh", program)]);
const started: ChildProcess[] = [];
after(() => {
  for (const each of started) each.kill("SIGKILL");
});

const WAITING_SCRIPT = "echo runs; read end";

/** A process whose working directory is the folder, until it is killed. */
async function startProcessIn(cwd: string, command: string, words = ["-c", WAITING_SCRIPT]) {
  const child = spawn(command, words, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  started.push(child);
  await once(child.stdout!, "data");
  return child;
}

const isLinux = process.platform === "linux";
const mayMount = isLinux && spawnSync("unshare", ["-Urm", "true"]).status === 0;

test("only backends of a dead server are killed, not other processes in its folder or servers of other folders", {
  skip: !isLinux,
}, async () => {
  const remains = await startProcessIn(cluster, program);
  const others = [await startProcessIn(cluster, "/bin/sh"), await startProcessIn(another, program)];
  // The server of another container, whose folder has the same path.
  const mounted = `mount --bind "$0" "$1" && cd "$1" && exec "$2" -c "$3" "$2" -D "$1"`;
  const words = ["-Urm", "sh", "-c", mounted, another, cluster, program, WAITING_SCRIPT];
  if (mayMount) others.push(await startProcessIn(folder, "unshare", words));
  assert.deepEqual(
    [remains, ...others].map(({ pid }) => isServer(pid!, cluster)),
    [true, ...others.map(() => false)],
  );
  const ended = once(remains, "exit");
  await killOrphanedBackends(cluster);
  assert.deepEqual(await ended, [null, "SIGKILL"]);
  assert.deepEqual(
    others.map(({ pid }) => process.kill(pid!, 0)),
    others.map(() => true),
  );
  assert.equal(isServer(remains.pid!, cluster), false);
});
