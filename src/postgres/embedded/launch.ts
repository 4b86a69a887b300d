import { type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { chmod, chown, readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { copyNative, findNativeFolder, linkLibraries } from "./binaries.ts";
import type { ServerFolder } from "./server-folder.ts";

/** How PostgreSQL's programs are run: from where, through what, as whom. They refuse to run as root. */
export interface LaunchMethod {
  native: string;
  /** Words in front of the program: nothing, or `unshare …`. */
  commandPrefix: string[];
  /** Whom to become; undefined: stay. */
  account: Account | undefined;
}

interface Account {
  uid: number;
  gid: number;
}

// Nothing of our own environment: PGPORT, PGDATA and the like would change what the programs do.
const ENVIRONMENT = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };

/**
 * Chooses a way to run the programs that works here. An ordinary user just runs them. Root becomes the owner of the data
 * folder, or nobody; where that account can't reach the files, root poses as nobody in a user namespace of its own;
 * and where those are forbidden (Docker), the programs are copied into the data folder.
 */
export async function chooseLaunchMethod(folder: ServerFolder): Promise<LaunchMethod> {
  const copied = () => copyNative(findNativeFolder(), join(folder.root, "programs"));
  const native = (await linkLibraries(findNativeFolder())) ? findNativeFolder() : await copied();
  const stay: LaunchMethod = { native, commandPrefix: [], account: undefined };
  const nobody = (await findAccount("nobody")) ?? { uid: 65534, gid: 65534 };
  const pose = ["unshare", "-U", `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`];
  const posing: LaunchMethod = { ...stay, commandPrefix: pose };
  if (process.getuid?.() !== 0) return hasUserName() || !canRunPrograms(posing) ? stay : posing;

  const made = await stat(folder.cluster).catch(() => undefined);
  const { uid: owner } = made ?? (await stat(folder.root));
  if (made && owner === 0) {
    if (canRunPrograms(posing)) return posing;
    throw new Error(
      `${folder.cluster} was made in a user namespace, which this system forbids: give it to user nobody`,
    );
  }
  // initdb wants a user with a name; once the data are made, the number will do.
  const named = owner === 0 ? undefined : await findAccount(owner);
  const account = named ?? (made ? { uid: made.uid, gid: made.gid } : nobody);
  const blocked = await findInaccessibleFolder(folder, account);
  if (!blocked && canRunPrograms({ ...stay, account })) return { ...stay, account };
  if (owner === 0 && canRunPrograms(posing)) return posing;
  if (!blocked) return { ...stay, native: await copied(), account };
  throw new Error(
    `PostgreSQL does not run as root, and user ${account.uid} can't enter ${blocked}: move the data folder, or start as an ordinary user`,
  );
}

/** Starts a program of PostgreSQL. */
export function launchProgram(by: LaunchMethod, program: "postgres" | "initdb", args: string[], options: SpawnOptions) {
  const [command, ...rest] = [...by.commandPrefix, join(by.native, "bin", program), ...args];
  return spawn(command!, rest, { ...options, ...by.account, env: ENVIRONMENT });
}

/** Makes `path` belong to the account the server runs as. */
export async function giveOwnership(by: LaunchMethod, path: string): Promise<void> {
  if (by.account) await chown(path, by.account.uid, by.account.gid);
}

/** Proves that the program, its interpreter and its libraries can be reached. */
function canRunPrograms(by: LaunchMethod): boolean {
  const [command, ...rest] = [...by.commandPrefix, join(by.native, "bin", "postgres"), "--version"];
  return spawnSync(command!, rest, { ...by.account, env: ENVIRONMENT, stdio: "ignore" }).status === 0;
}

/** initdb wants to know its user by name; in a container a bare number is common. */
function hasUserName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    return false;
  }
}

async function findAccount(who: number | "nobody"): Promise<Account | undefined> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n").map((line) => line.split(":"));
  const line = lines.find(([name, , uid]) => (who === "nobody" ? name === who : uid === String(who)));
  return line && { uid: Number(line[2]), gid: Number(line[3]) };
}

/** The folder on the way to the data that this account may not enter. The data folder itself is ours: it is opened for passing through. */
async function findInaccessibleFolder(folder: ServerFolder, account: Account): Promise<string | undefined> {
  const own = await stat(folder.root);
  if (own.uid === 0) await chmod(folder.root, (own.mode & 0o7777) | 0o011);
  for (let path = folder.root; ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return path;
    if (path === dirname(path)) return undefined;
  }
}
