import { type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { chmod, chown, readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { copyNative, findNativeFolder, linkLibraries } from "./binaries.ts";
import type { ServerFolder } from "./server-folder.ts";

/** PostgreSQL's programs refuse to run as root. */
export interface LaunchMethod {
  native: string;
  /** Empty, or `unshare …`. */
  commandPrefix: string[];
  /** Undefined keeps the current account. */
  account: Account | undefined;
}

interface Account {
  uid: number;
  gid: number;
}

// Excludes PGPORT, PGDATA and others, which would change the programs' behavior.
const ENVIRONMENT = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };

/**
 * Chooses a way to run the programs:
 * - An ordinary user runs them directly.
 * - Root switches to the data folder's owner, or to nobody.
 * - If that account cannot read the files, root maps itself to nobody in a user namespace.
 * - If namespaces are forbidden (Docker), the programs are copied into the data folder.
 */
export async function chooseLaunchMethod(folder: ServerFolder): Promise<LaunchMethod> {
  const copied = () => copyNative(findNativeFolder(), join(folder.root, "programs"));
  const native = (await linkLibraries(findNativeFolder())) ? findNativeFolder() : await copied();
  const asCurrentUser: LaunchMethod = { native, commandPrefix: [], account: undefined };
  const nobody = (await findAccount("nobody")) ?? { uid: 65534, gid: 65534 };
  const unshare = ["unshare", "-U", `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`];
  const asNobody: LaunchMethod = { ...asCurrentUser, commandPrefix: unshare };
  if (process.getuid?.() !== 0) return hasUserName() || !canRunPrograms(asNobody) ? asCurrentUser : asNobody;

  const existing = await stat(folder.cluster).catch(() => undefined);
  const { uid: owner } = existing ?? (await stat(folder.root));
  if (existing && owner === 0) {
    if (canRunPrograms(asNobody)) return asNobody;
    throw new Error(
      `${folder.cluster} was created in a user namespace, which this system forbids: change its owner to nobody`,
    );
  }
  // initdb requires a user name; later, a user id is enough.
  const namedAccount = owner === 0 ? undefined : await findAccount(owner);
  const account = namedAccount ?? (existing ? { uid: existing.uid, gid: existing.gid } : nobody);
  const blocked = await findInaccessibleFolder(folder, account);
  if (!blocked && canRunPrograms({ ...asCurrentUser, account })) return { ...asCurrentUser, account };
  if (owner === 0 && canRunPrograms(asNobody)) return asNobody;
  if (!blocked) return { ...asCurrentUser, native: await copied(), account };
  throw new Error(
    `PostgreSQL does not run as root, and user ${account.uid} cannot access ${blocked}: move the data folder, or start as an ordinary user`,
  );
}

export function launchProgram(
  launchMethod: LaunchMethod,
  program: "postgres" | "initdb",
  args: string[],
  options: SpawnOptions,
) {
  const [command, ...rest] = [...launchMethod.commandPrefix, join(launchMethod.native, "bin", program), ...args];
  return spawn(command!, rest, { ...options, ...launchMethod.account, env: ENVIRONMENT });
}

export async function giveOwnership(launchMethod: LaunchMethod, path: string): Promise<void> {
  if (launchMethod.account) await chown(path, launchMethod.account.uid, launchMethod.account.gid);
}

function canRunPrograms(launchMethod: LaunchMethod): boolean {
  const [command, ...rest] = [...launchMethod.commandPrefix, join(launchMethod.native, "bin", "postgres"), "--version"];
  return spawnSync(command!, rest, { ...launchMethod.account, env: ENVIRONMENT, stdio: "ignore" }).status === 0;
}

/** initdb requires one, and containers often lack it. */
function hasUserName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    return false;
  }
}

async function findAccount(user: number | "nobody"): Promise<Account | undefined> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n").map((line) => line.split(":"));
  const line = lines.find(([name, , uid]) => (user === "nobody" ? name === user : uid === String(user)));
  return line && { uid: Number(line[2]), gid: Number(line[3]) };
}

/** Makes the data folder itself passable. */
async function findInaccessibleFolder(folder: ServerFolder, account: Account): Promise<string | undefined> {
  const root = await stat(folder.root);
  if (root.uid === 0) await chmod(folder.root, (root.mode & 0o7777) | 0o011);
  for (let path = folder.root; ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return path;
    if (path === dirname(path)) return undefined;
  }
}
