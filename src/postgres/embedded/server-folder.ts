import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, realpath, rename, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Absolute paths without symbolic links. */
export interface ServerFolder {
  root: string;
  cluster: string;
  socketDir: string;
  log: string;
}

export async function openServerFolder(dataDir: string): Promise<ServerFolder> {
  await mkdir(dataDir, { recursive: true });
  const root = await realpath(dataDir);
  return { root, cluster: join(root, "cluster"), socketDir: await socketDirOf(root), log: join(root, "postgres.log") };
}

// The limit is 107 bytes on Linux and 103 on macOS, and PostgreSQL appends "/.s.PGSQL.5432".
const SOCKET_DIR_BYTES = 88;

/** In the data folder or, if that path is too long, in the system's temporary folder. */
async function socketDirOf(root: string): Promise<string> {
  const inside = join(root, "socket");
  // A comma or quote would split PostgreSQL's list.
  if (Buffer.byteLength(inside) <= SOCKET_DIR_BYTES && !/[",']/.test(inside)) return inside;
  const hash = createHash("sha256").update(root).digest("hex").slice(0, 16);
  return join(await realpath(tmpdir()), `dunlin-${hash}`);
}

const MAX_LOG_BYTES = 10_000_000;

/** A large log is moved aside first. */
export async function openServerLog(folder: ServerFolder): Promise<FileHandle> {
  if ((await serverLogBytes(folder)) > MAX_LOG_BYTES) await rename(folder.log, `${folder.log}.1`);
  return open(folder.log, "a", 0o600);
}

export async function serverLogBytes(folder: ServerFolder): Promise<number> {
  const found = await stat(folder.log).catch(() => undefined);
  return found?.size ?? 0;
}
